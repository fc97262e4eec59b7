#!/usr/bin/env python3
"""Writes seeds for every target into fuzz/seeds/TARGET, from testdata/ and protocol/examples/."""
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
dice = random.Random(1)


def seed(target, name, data):
    folder = HERE / "seeds" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def bytes_of(count):
    return bytes(dice.randrange(256) for _ in range(count))


for file in sorted((ROOT / "protocol/examples").glob("*.envelope.json")):
    # By reference the answer would depend on the machine.
    data = file.read_bytes()
    if b'"file"' not in data and len(data) < 16_000:
        seed("envelope", file.stem, data)

for file in sorted((ROOT / "testdata/sessions").glob("*.jsonl")):
    lines = [line for line in file.read_bytes().split(b"\n") if 0 < len(line) < 4_000]
    for at in range(0, len(lines), 12):
        part = b"\n".join(lines[at : at + 12]) + b"\n"
        name = f"{file.stem}-{at}"
        seed("session", name, part)
        seed("json", name, lines[at])
        # The first bytes are choices: settings, cuts, patterns.
        seed("hook", name, bytes_of(7) + b"\x00\x00" + part)
        seed("paging", name, b"\x00\x01\x00\x01\x0e" + part)
        seed("regex", name, b"\x00\x02\x22\x23" + part)

for target in ["hook", "paging", "regex", "paths", "checkpoint_file"]:
    for number in range(40):
        seed(target, f"dice-{number}", bytes_of(8 << number % 7))

for name, text in {
    "ours": '<!-- stet:checkpoint {"v":1,"author":"model","at":"2026-01-05T09:00:00.000Z","covered":"e0000002","session":"s","cwd":"/home/dev/app"} -->\n## Goal\nship\n\n<!-- stet:activity {"author":"harness"} -->\n## Recent activity\n[USER e0000001] x\n',
    "older": "## GOAL\na\n\n## Recent activity [harness-recorded, turn 3, T]\n[USER] x\n",
}.items():
    # Odd: a file of anybody's. Its text is one run of bytes after another.
    runs = b"".join(b"\x01" + bytes([8 * len(part)]) + part for part in
                    (text.encode()[at : at + 31] for at in range(0, len(text), 31)))
    seed("checkpoint_file", name, b"\x01\x00\x00" + runs)
