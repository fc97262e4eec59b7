// Whatever stands in a session, nothing of it runs, and nothing of it is markup.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { open, quiet } from "./browser.mjs";
import { Session, folder } from "./session.mjs";

const ATTACKS = [
  "<script>window.hacked = 1; alert(1)</script>",
  "</script><script>window.hacked = 2</script>",
  "<!--<script>window.hacked = 3</script>",
  "<img src=x onerror=\"window.hacked = 4\">",
  "<svg onload=window.hacked=5><animate onbegin=window.hacked=6>",
  "<a href=\"javascript:window.hacked=7\">click</a>",
  "\"}]}</script><script>window.hacked=8</script>",
  "\u2028window.hacked=9\u2029",
  "'-alert(1)-'\\\"; window.hacked = 10; //",
  "<iframe srcdoc=\"<script>parent.hacked=11</script>\"></iframe><base href=\"http://example.invalid/\">",
  "<style>@import 'http://example.invalid/x.css'; * { background: url(http://example.invalid/y) }</style>",
  "<meta http-equiv=refresh content=\"0;url=http://example.invalid/\"><form action=http://example.invalid/><button>",
  "{{script}} {{data}} ${window.hacked=12} <%= 1 %>",
  "javascript:window.hacked=13",
];
const attack = ATTACKS.join("\n");

/** A session with an attack wherever there is text. */
function hostile(file) {
  const s = new Session(file);
  s.lines[0] = JSON.stringify({ type: "session", version: 3, id: attack, timestamp: attack, cwd: attack, parentSession: attack });
  s.system(attack);
  const ask = s.user(attack);
  s.assistant(attack, { thinking: attack, stopReason: "error", calls: [[attack, { [attack]: attack }], ["bash", { command: attack }], ["read", { path: attack }]] });
  s.result(attack, true);
  s.result(attack);
  s.result(attack);
  s.bash(attack, attack);
  s.entry("custom_message", { customType: attack, content: attack, display: true });
  s.entry("custom", { customType: attack, data: attack });
  s.entry("branch_summary", { fromId: attack, summary: attack });
  s.entry("label", { targetId: ask, label: `keep: ${attack}` });
  s.entry(attack, { [attack]: attack });
  // An id can be anything too, and a time.
  for (const id of [ATTACKS[3], "javascript:alert(1)", "__proto__", "entries", "a b\"c'd"]) {
    s.lines.push(JSON.stringify({ type: "message", id, parentId: s.leaf, timestamp: "<b>never</b>", message: { role: "user", content: attack } }));
    s.leaf = id;
  }
  const kept = s.user("kept");
  s.compact(kept);
  s.user(attack);
  s.entry("compaction", { summary: attack, firstKeptEntryId: s.leaf, tokensBefore: 10, details: { kind: attack } });
  s.user(attack);
  const last = s.user("last");
  s.compact(last, "--cap", "1500c");
  s.lines.push("{\"type\":\"message\",\"torn </script><script>window.hacked=14</script>");
  return s;
}

test("nothing of a hostile session runs, whatever of it is looked at", async () => {
  const s = hostile(join(folder(), "<img src=x onerror=alert(1)>.jsonl"));
  const page = await open(s.report());
  const count = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).entries.length);
  assert.ok(count > 20, `${count} entries`);
  await page.locator("#list").focus();
  await page.keyboard.press("Home");
  for (let n = 0; n < count; n += 1) {
    assert.notEqual(await page.textContent("#reader"), "");
    for (const summary of await page.locator("#reader summary").all()) await summary.click();
    await page.locator("#list").focus();
    await page.keyboard.press("ArrowDown");
  }
  await page.fill("#query", "window.hacked");
  await page.locator("#count", { hasText: " of " }).waitFor();
  for (const summary of await page.locator("summary:visible").all()) await summary.click();
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("main :is(script, img, iframe, style, meta, base, form:not(#filter), animate)").count(), 0);
  // Every address leads to an entry of the page.
  const addresses = await page.evaluate(() => [...document.querySelectorAll("a")].map((a) => a.getAttribute("href")));
  assert.deepEqual(addresses.filter((address) => !/^#(list|entry-[\w.~%!'()*-]+)$/.test(address)), []);
  await quiet(page);
});

test("the text of an attack is shown as it is", async () => {
  const s = new Session(join(folder(), "shown.jsonl"));
  s.user(attack);
  const page = await open(s.report(), { hash: "#entry-e0000001" });
  const shown = attack.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  assert.equal(await page.textContent("#reader .prose"), shown);
  await quiet(page);
});

test("the policy holds even if a script of the page went wrong", async () => {
  const s = new Session(join(folder(), "policy.jsonl"));
  s.user("hello");
  const page = await open(s.report());
  const tried = await page.evaluate(() => {
    const ways = {
      markup: () => (document.getElementById("reader").innerHTML = "<b>markup</b>"),
      handler: () => document.body.setAttribute("onclick", "window.hacked = 1"),
      script: () => document.body.append(Object.assign(document.createElement("script"), { textContent: "window.hacked = 2" })),
    };
    return Object.entries(ways).map(([name, way]) => {
      try {
        way();
        return `${name}: taken`;
      } catch (error) {
        return `${name}: ${error.name}`;
      }
    });
  });
  assert.deepEqual(tried.filter((line) => line.endsWith("taken")), []);
  // A server that nobody reaches.
  let reached = 0;
  const server = createServer((_, response) => {
    reached += 1;
    response.end();
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  await page.evaluate((address) => {
    document.body.append(Object.assign(document.createElement("img"), { src: `${address}image` }));
    fetch(`${address}fetched`).catch(() => {});
    navigator.sendBeacon(`${address}beacon`);
  }, `http://127.0.0.1:${server.address().port}/`);
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  const trouble = await page.trouble();
  server.close();
  assert.equal(reached, 0);
  for (const directive of ["img-src", "connect-src", "require-trusted-types-for"]) {
    assert.ok(trouble.some((what) => what.startsWith(`${directive}:`)), `${directive} in ${trouble.join("\n")}`);
  }
});

test("a page that was cut off in the middle runs nothing of its data", async () => {
  const s = new Session(join(folder(), "cut.jsonl"));
  s.user(attack.repeat(20));
  const whole = readFileSync(s.report());
  const cut = join(folder(), "cut.html");
  writeFileSync(cut, whole.subarray(0, whole.indexOf("window.hacked") + 4000));
  const page = await open(cut);
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.deepEqual((await page.trouble()).filter((what) => !what.startsWith("error:")), []);
});
