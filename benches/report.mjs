// How long the report of a large session takes: to make the page, and to open it in Chromium until
// the list of entries stands there.
//
//     pi-extension/node_modules/.bin/node benches/report.mjs     on a session of 100 MB (MEGABYTES=n, RUNS=5)
//
// Needs a release build (or PI_STET_BIN), and what tests/report needs.

import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../tests/report/chromium.mjs";
import { writeLongSession } from "../tests/report/long-session.mjs";
import { BINARY, folder } from "../tests/report/session.mjs";

const megabytes = Number(process.env.MEGABYTES ?? 100);
const runs = Number(process.env.RUNS ?? 5);
const here = folder();
const [session, page] = [join(here, "session.jsonl"), join(here, "report.html")];
const entries = writeLongSession(session, { megabytes, binary: BINARY });

const browser = await launch();
/** The new window is opened before the clock starts: a person has one. */
async function opened() {
  const tab = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  const start = performance.now();
  await tab.goto(pathToFileURL(page).href);
  await tab.waitForSelector(".row");
  const took = performance.now() - start;
  await tab.context().close();
  return took;
}
function made() {
  const start = performance.now();
  execFileSync(BINARY, ["report", session, "-o", page], { stdio: "ignore" });
  return performance.now() - start;
}

const times = [];
for (let run = 0; run <= runs; run += 1) times.push([made(), await opened()]);
// The first run fills the caches.
const both = times.slice(1);
const median = (of) => both.map(of).sort((a, b) => a - b)[Math.floor(both.length / 2)];
const ms = (n) => `${n.toFixed(0)} ms`;
console.log(`${megabytes} MB, ${entries} entries, page of ${(statSync(page).size / 1e6).toFixed(1)} MB; median of ${runs}, load ${loadavg()[0].toFixed(1)}`);
console.log(`made ${ms(median(([one]) => one))}, opened ${ms(median(([, two]) => two))}, together ${ms(median(([one, two]) => one + two))} (best ${ms(Math.min(...both.map(([one, two]) => one + two)))})`);
await browser.close();
