// A session of 100 MB and more than 20,000 entries. How long it takes is measured elsewhere
// (benches/report.mjs); here it has to work.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { before, test } from "node:test";
import { open, quiet, sideways } from "./browser.mjs";
import { writeLongSession } from "./long-session.mjs";
import { BINARY, folder } from "./session.mjs";

const here = folder();
const path = join(here, "long.html");
let entries;
before(() => {
  const file = join(here, "long.jsonl");
  entries = writeLongSession(file, { megabytes: 100, compactions: 8, binary: BINARY });
  execFileSync(BINARY, ["report", file, "-o", path], { stdio: "ignore" });
});

test("only the rows in view are there, and each can be reached", async () => {
  const page = await open(path);
  assert.ok(entries > 20_000, `${entries} entries`);
  const rows = () => page.locator(".row").count();
  assert.ok((await rows()) > 5 && (await rows()) < 80, `${await rows()} rows`);
  await page.locator("#list").focus();
  await page.keyboard.press("End");
  const last = page.locator('.row[aria-selected="true"]');
  const count = Number((await page.textContent("#count")).replace(/\D/g, ""));
  assert.equal(await last.getAttribute("aria-posinset"), String(count));
  assert.ok((await rows()) < 80);
  await page.keyboard.press("PageUp");
  await page.keyboard.press("Home");
  assert.equal(await last.getAttribute("aria-posinset"), "1");
  await page.evaluate(() => (document.getElementById("list").scrollTop = 600_000));
  await page.locator('.row[aria-posinset="11550"]').waitFor();
  assert.ok((await sideways(page)) <= 0);
  await quiet(page);
});

test("search looks at all of them", async () => {
  const page = await open(path);
  const wanted = await page.evaluate(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const on = data.branch.flatMap(([first, count]) => Array.from({ length: count }, (_, at) => first + at));
    return on.filter((at) => data.entries[at].texts?.some((text) => text.text.includes("must not change this"))).length;
  });
  assert.ok(wanted > 0);
  await page.fill("#query", "must not change this");
  await page.locator("#count", { hasText: `${wanted.toLocaleString("en-GB")} of ` }).waitFor();
  await quiet(page);
});

test("the checkpoint of eight compactions is there to its last line", async () => {
  const page = await open(path);
  await page.locator("#compaction-8 button", { hasText: "Read the checkpoint" }).click();
  const lines = page.locator("#reader .line");
  const whole = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).compactions.reduce((total, compaction) => total + compaction.lines.length, 0));
  assert.ok(whole > 5000, `${whole} lines`);
  const some = await lines.count();
  assert.ok(some < 2000, `${some} lines at once`);
  // Whoever scrolls gets more.
  await page.evaluate(() => document.querySelector("#reader .more").scrollIntoView());
  await page.waitForFunction((before) => document.querySelectorAll("#reader .line").length > before, some);
  await quiet(page);
});
