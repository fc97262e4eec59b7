// Where the binary is. Existence checks only; whether it runs shows when it does.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";

const NAME = process.platform === "win32" ? "pi-stet.exe" : "pi-stet";
const PACKAGE_DIR = resolve(import.meta.dirname, "..");
const CHECKOUT_DIR = resolve(PACKAGE_DIR, "..");

export type BinaryLookup = { path: string } | { missing: string; mend: string };

export function findBinary(env: NodeJS.ProcessEnv): BinaryLookup {
  const named = env.PI_STET_BIN;
  // A wrong PI_STET_BIN must not quietly fall back to some other binary.
  if (named) {
    const path = resolve(named);
    if (existsSync(path)) return { path };
    return { missing: `PI_STET_BIN names ${path}, which does not exist`, mend: "unset PI_STET_BIN" };
  }
  const path = candidates(env).find(isExecutable);
  if (path) return { path };
  const cargoToml = join(CHECKOUT_DIR, "Cargo.toml");
  if (existsSync(cargoToml)) {
    return {
      missing: "its binary has not been built",
      mend: `cargo build --release --manifest-path ${quoted(cargoToml)}`,
    };
  }
  return { missing: `there is no ${NAME} beside the extension or on PATH`, mend: "cargo install pi-stet" };
}

/** A path as a person can paste it into a shell. */
export function quoted(path: string): string {
  if (/^[\w@%+=:,./\\-]+$/.test(path)) return path;
  return process.platform === "win32" ? `"${path}"` : `'${path.replaceAll("'", "'\\''")}'`;
}

function* places(env: NodeJS.ProcessEnv): Generator<string> {
  const platformPackage = `pi-stet-${process.platform}-${process.arch}`;
  yield join(PACKAGE_DIR, "node_modules", platformPackage, "bin");
  yield join(CHECKOUT_DIR, platformPackage, "bin");
  yield join(PACKAGE_DIR, "bin");
  yield join(CHECKOUT_DIR, "target", "release");
  // A relative folder on PATH is one of the project's, and what it holds is nobody's choice.
  for (const dir of (env.PATH ?? "").split(delimiter)) if (isAbsolute(dir)) yield dir;
}

function candidates(env: NodeJS.ProcessEnv): string[] {
  return [...places(env)].map((dir) => join(dir, NAME));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
