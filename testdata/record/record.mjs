// Records the sessions of testdata/sessions with real Pi. Run by hand when a
// session is added or Pi's file format changes:
//
//   pi-extension/node_modules/.bin/node testdata/record/record.mjs [NAME …]
//
// Each file in scripts/ is one conversation. Its default export returns
// { NAME: { text, about, leaves? } } for the files it made.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const SCRIPTS = join(HERE, "scripts");
const SESSIONS = join(HERE, "..", "sessions");
const INDEX = join(SESSIONS, "sessions.json");

const all = readdirSync(SCRIPTS).map((name) => name.replace(/\.mjs$/, ""));
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`no such script: ${unknown.join(", ")}; there are ${all.join(", ")}`);
  process.exit(2);
}

function readIndex() {
  try {
    return JSON.parse(readFileSync(INDEX, "utf8"));
  } catch {
    return {};
  }
}

const index = readIndex();
for (const name of wanted.length > 0 ? wanted : all) {
  const { default: record } = await import(join(SCRIPTS, `${name}.mjs`));
  for (const [file, { text, ...facts }] of Object.entries(await record())) {
    writeFileSync(join(SESSIONS, file), text);
    const entries = text.split("\n").filter((line) => line !== "").length - 1;
    index[file] = { ...facts, entries };
    console.log(`${file}: ${entries} entries, ${Math.round(text.length / 1024)} KB`);
  }
}
const sorted = Object.fromEntries(Object.entries(index).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(INDEX, `${JSON.stringify(sorted, null, 2)}\n`);
