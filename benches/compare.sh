#!/usr/bin/env bash
# Whole processes and Pi itself, on the same files in one run, as ratios: prints tables in Markdown.
#   MEGABYTES=100  size of the large sessions      RUNS=11  runs of each command and compaction
#   EXTENSIONS=A=npm:PACKAGE,B=PATH   other extensions to measure inside the same Pi
# Installs the yardsticks (ripgrep, jq) where they are missing, and Pi.
set -euo pipefail
cd "$(dirname "$0")/.."

need() { # COMMAND, DEBIAN PACKAGE, CRATE (if there is one)
  command -v "$1" >/dev/null && return
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get install -y -q "$2" >/dev/null || { apt-get update -q && apt-get install -y -q "$2"; } >/dev/null
  elif [ -n "${3:-}" ]; then
    cargo install --locked "$3"
  else
    echo "benches/compare.sh needs $1: install it and try again" >&2
    exit 1
  fi
}
need rg ripgrep ripgrep
need jq jq
cargo build --release --locked
# `cargo bench` links the binary anew, with what tests want of its dependencies. What is measured is
# what people get.
PI_STET_BIN="$PWD/target/tmp/released/pi-stet"
install -D target/release/pi-stet "$PI_STET_BIN"
export PI_STET_BIN
export RUNS="${RUNS:-11}"
cargo bench --locked --quiet --bench compare
echo
npm ci --prefix pi-extension --no-audit --no-fund --loglevel=error >/dev/null
pi-extension/node_modules/.bin/node benches/in-pi.mjs
