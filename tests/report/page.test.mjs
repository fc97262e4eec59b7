// What a person sees and does on the page.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { open, quiet, sideways } from "./browser.mjs";
import { BINARY, Session, folder, rich } from "./session.mjs";

const here = folder();
let path;
let ids;
before(() => {
  const [session, names] = rich(join(here, "rich.jsonl"));
  ids = names;
  path = session.report();
});
const reader = (page) => page.locator("#reader");
const count = (page) => page.textContent("#count");
/** Waits until the list was filtered anew. */
const counted = (page, text) => page.locator("#count", { hasText: text }).waitFor();

test("the head says what the session is and the charts have their tables", async () => {
  const page = await open(path);
  assert.equal(await page.title(), "rich · context map");
  assert.equal(await page.textContent("h1"), "rich");
  assert.match(await page.textContent("#facts"), /27 entries on this branch · .* · 3 compactions · 1 other branch · the context holds about [\d,]+ tokens$/);
  const shown = await page.evaluate(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const last = document.querySelector("#history-table tr:last-child td:last-child").textContent;
    return [last, document.querySelector("#now tr.sum td").textContent, data.now.reduce((a, b) => a + b).toLocaleString("en-GB")];
  });
  assert.equal(shown[0], shown[2]);
  assert.equal(shown[1], shown[2]);
  assert.equal(await page.locator(".card").count(), 3);
  for (const picture of await page.locator("[role=img]").all()) assert.match(await picture.getAttribute("aria-label"), /\d/);
  await quiet(page);
});

test("a click shows an entry, its address leads back to it, and its call leads to its result", async () => {
  const page = await open(path);
  await page.locator(`.row:has-text("I’ll start with the documentation")`).click();
  assert.match(await reader(page).textContent(), /Units first, then the code\./);
  assert.match(page.url(), new RegExp(`#entry-${ids.look}$`));
  await page.locator(`#reader h4 a[href="#entry-${ids.failing}"]`).click();
  assert.match(await reader(page).textContent(), /not ok 1 - wind chill/);
  await page.goBack();
  await page.locator("#reader", { hasText: "Units first" }).waitFor();
  const again = await open(path, { hash: `#entry-${ids.failing}` });
  assert.match(await reader(again).textContent(), /Tool result of bash, error.*Compaction 1 took it out of the context/);
  assert.equal(await again.locator(`.row[aria-selected="true"]`).getAttribute("id"), "row-4");
  await quiet(again);
});

test("search finds texts, marks them, and says when there is nothing", async () => {
  const page = await open(path);
  await page.fill("#query", "FORMULA");
  await counted(page, "of 27");
  const rows = await page.locator(".row").allTextContents();
  assert.equal(await count(page), `${rows.length} of 27 entries; cut texts were searched up to their cut`);
  assert.ok(rows.length >= 3, rows.join("\n"));
  for (const row of await page.locator(".row mark").allTextContents()) assert.equal(row.toLowerCase(), "formula");
  await page.locator(".row").first().click();
  assert.ok((await page.locator("#reader mark").count()) > 0);
  await page.fill("#query", "nowhere to be found");
  await counted(page, "0 of 27");
  assert.match(await page.textContent("#rows"), /No entry fits\..*pi-stet grep/);
  await page.fill("#query", "");
  await counted(page, /^27 entries$/);
  await page.selectOption("#kind", "user");
  await counted(page, "5 of 27 entries");
  await page.selectOption("#kind", "");
  await page.selectOption("#scope", "s1");
  await counted(page, "2 entries");
  assert.match(await page.textContent("#rows"), /Fahrenheit/);
  await quiet(page);
});

test("the list says what became of each entry", async () => {
  const page = await open(path);
  const told = async (id) => {
    await page.evaluate((hash) => (location.hash = hash), `#entry-${id}`);
    await page.locator(`#reader a[href="#entry-${id}"]`).first().waitFor();
    return page.textContent("#reader .meta");
  };
  assert.match(await told(ids.thanks), /In the context now\./);
  assert.match(await told(ids.ask), /Compaction 1 took it out.*stands in the checkpoint word for word/);
  assert.match(await told(ids.look), /Compaction 1 took it out.*It is in the session\./);
  assert.match(await told(ids.first), /Compaction 2 replaced it\./);
  await page.locator("#compaction-1 button", { hasText: "List what it took out" }).click();
  await counted(page, "of 27");
  assert.equal(await page.inputValue("#fate"), "out1");
  assert.equal(await page.locator(`.row:has-text("not ok 1")`).count(), 1);
  await quiet(page);
});

test("the checkpoint is read line by line, each with its entry; what the cap took is struck", async () => {
  const page = await open(path);
  await page.locator("#compaction-3 button", { hasText: "Read the checkpoint" }).click();
  const lines = page.locator("#reader .line");
  assert.equal(await lines.count(), 17);
  assert.equal(await page.locator("#reader .line.gone").count(), 13);
  const first = lines.first();
  assert.match(await first.textContent(), /\[User\]: The wind chill is wrong\./);
  // The size guard keeps the beginning of a long request and says where the rest is.
  assert.match(await reader(page).textContent(), /more characters, entry e0000011\]/);
  await first.locator("a").click();
  assert.match(page.url(), new RegExp(`#entry-${ids.ask}$`));
  assert.match(await reader(page).textContent(), /No new dependencies\./);
  await page.goBack();
  await page.locator("#reader summary", { hasText: "docs/units.md" }).waitFor();
  await page.locator("#reader p.meta a", { hasText: ids.units }).click();
  assert.match(await reader(page).textContent(), /Everything is kept in °C/);
  await page.evaluate((hash) => (location.hash = hash), `#entry-${ids.second}`);
  await page.locator("#reader h4", { hasText: "The model’s own checkpoint" }).waitFor();
  await page.locator("#reader pre a", { hasText: ids.ask }).first().click();
  assert.match(await reader(page).textContent(), /The wind chill is wrong\./);
  await quiet(page);
});

test("everything can be done with the keyboard", async () => {
  const page = await open(path);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the entries");
  await page.keyboard.press("Enter");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "query");
  await page.keyboard.type("changelog");
  await counted(page, "of 27");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.id), "list");
  const chosen = () => page.evaluate(() => document.getElementById(document.getElementById("list").getAttribute("aria-activedescendant"))?.textContent);
  const first = await chosen();
  await page.keyboard.press("ArrowDown");
  assert.notEqual(await chosen(), first);
  await page.keyboard.press("Home");
  assert.equal(await chosen(), first);
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "reader");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.id), "list");
  // The picture is a slider that says where it stands; Enter reads that entry.
  const slider = page.locator("[role=slider]");
  await slider.focus();
  await page.keyboard.press("Home");
  assert.match(await slider.getAttribute("aria-valuetext"), /^After entry 1 of 27/);
  await page.keyboard.press("ArrowRight");
  assert.match(await slider.getAttribute("aria-valuetext"), /^After entry 2 of 27/);
  await page.keyboard.press("Enter");
  assert.match(page.url(), new RegExp(`#entry-${ids.ask}$`));
  // A compaction's mark leads to what is said about it.
  await page.locator(".flag").nth(1).focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "compaction-2");
  // Whatever can be reached shows that it is.
  await page.locator("#query").focus();
  await page.keyboard.press("Tab");
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
  await quiet(page);
});

test("on a phone nothing is wider than the screen, and an entry takes all of it", async () => {
  for (const width of [375, 320]) {
    const page = await open(path, { viewport: { width, height: 720 }, hasTouch: true, isMobile: true });
    for (const summary of await page.locator("main summary").all()) await summary.click();
    assert.ok((await sideways(page)) <= 0, `${await sideways(page)} pixels too wide at ${width}`);
    await page.locator(`.row:has-text("The wind chill is wrong")`).tap();
    const box = await reader(page).boundingBox();
    assert.deepEqual([box.x, box.y, box.width, box.height], [0, 0, width, 720]);
    assert.ok((await sideways(page)) <= 0);
    await page.locator("#reader .close").tap();
    assert.equal(await reader(page).isVisible(), false);
    await page.locator("#compaction-3 button", { hasText: "Read the checkpoint" }).tap();
    assert.equal(await reader(page).isVisible(), true);
    await page.goBack();
    await page.locator("#reader").waitFor({ state: "hidden" });
    const small = await page.evaluate(() => [...document.querySelectorAll("button, select, input")].filter((node) => node.offsetParent && !node.classList.contains("text") && node.getBoundingClientRect().height < 24).map((node) => node.outerHTML));
    assert.deepEqual(small, [], "too small for a finger");
    await quiet(page);
  }
});

/** The contrast of two colours as WCAG reckons it. */
function contrast(one, other) {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
}

test("light and dark follow the system until a person chooses, and both can be read", async () => {
  for (const scheme of ["light", "dark"]) {
    const page = await open(path, { colorScheme: scheme });
    const colours = () =>
      page.evaluate(() => {
        const probe = document.body.appendChild(document.createElement("i"));
        const read = (name) => {
          probe.style.color = `var(--${name})`;
          return [name, getComputedStyle(probe).color];
        };
        const all = Object.fromEntries(["paper", "sheet", "ink", "soft", "link", "red", "edge", "hit", ...Array.from({ length: 8 }, (_, n) => `k${n}`)].map(read));
        probe.remove();
        return all;
      });
    const c = await colours();
    const isDark = (colour) => contrast(colour, "rgb(0, 0, 0)") < 4;
    assert.equal(isDark(c.paper), scheme === "dark");
    for (const ground of ["paper", "sheet"]) {
      for (const text of ["ink", "soft", "link", "red"]) assert.ok(contrast(c[text], c[ground]) >= 4.5, `${text} on ${ground} in ${scheme}: ${contrast(c[text], c[ground])}`);
      for (const shape of ["edge", ...Array.from({ length: 8 }, (_, n) => `k${n}`)]) assert.ok(contrast(c[shape], c[ground]) >= 3, `${shape} on ${ground} in ${scheme}: ${contrast(c[shape], c[ground])}`);
    }
    assert.ok(contrast(c.ink, c.hit) >= 4.5, `a mark in ${scheme}`);
    const other = scheme === "light" ? "dark" : "light";
    await page.locator(`.theme [data-theme="${other}"]`).click();
    assert.equal(isDark((await colours()).paper), other === "dark");
    assert.equal(await page.locator(`.theme [aria-pressed="true"]`).textContent(), other === "dark" ? "Dark" : "Light");
    await page.reload();
    assert.equal(isDark((await colours()).paper), other === "dark", "the choice stays");
    await page.locator(`.theme [data-theme=""]`).click();
    assert.equal(isDark((await colours()).paper), scheme === "dark");
    await quiet(page);
  }
});

test("nothing moves for people who asked for that", async () => {
  const still = await open(path, { reducedMotion: "reduce" });
  assert.equal(await still.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), "auto");
  const moving = await open(path, { reducedMotion: "no-preference" });
  assert.equal(await moving.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), "smooth");
});

test("a cut output names its size, and the command beside it prints the whole", async () => {
  const s = new Session(join(here, "it's a long one.jsonl"));
  s.user("Print it.");
  s.assistant("", { calls: [["bash", { command: "seq" }]] });
  const end = "the last line of all";
  const whole = `${"0123456789\n".repeat(12_000)}${end}`;
  const id = s.result(whole);
  const page = await open(s.report(), { hash: `#entry-${id}` });
  assert.match(await page.textContent("#reader .more"), /Cut: 100,000 of 132,020 characters are here\./);
  assert.ok(!(await page.textContent("#reader pre")).includes(end));
  const command = await page.textContent("#reader .more code");
  const environment = { ...process.env, PATH: `${dirname(BINARY)}:${process.env.PATH}` };
  // It comes in pages; the last one has the end.
  const pages = /page 1 of (\d+)/.exec(execFileSync("sh", ["-c", command], { env: environment, encoding: "utf8" }))[1];
  assert.ok(execFileSync("sh", ["-c", `${command} --page ${pages}`], { env: environment, encoding: "utf8" }).includes(end));
  await quiet(page);
});

test("an entry of another branch says how to print it", async () => {
  const page = await open(path);
  await page.selectOption("#scope", "s1");
  await page.locator(".row").first().click();
  assert.match(await page.textContent("#reader .meta"), /On another branch: not in this context\./);
  await quiet(page);
});

test("sessions of every kind open: empty, damaged, old, uncompacted", async () => {
  const write = (name, lines) => {
    const file = join(here, name);
    writeFileSync(file, `${lines.join("\n")}\n`);
    execFileSync(BINARY, ["report", file, "-o", `${file}.html`], { stdio: "ignore" });
    return open(`${file}.html`);
  };
  const header = JSON.stringify({ type: "session", version: 3, id: "s", timestamp: "2026-01-05T09:00:00.000Z", cwd: "/home/dev/app" });
  const message = (id, parentId, text) => JSON.stringify({ type: "message", id, parentId, timestamp: "2026-01-05T09:00:00.000Z", message: { role: "user", content: text } });
  const empty = await write("empty.jsonl", [header]);
  assert.match(await empty.textContent("#history"), /The branch has no entries\./);
  await quiet(empty);
  const damaged = await write("damaged.jsonl", [header, message("a", null, "whole"), "{\"type\":\"message\",\"torn", message("b", "gone", "orphan")]);
  assert.match(await damaged.textContent("#notes"), /1 damaged line in the file.*The branch is not whole: the branch ends at entry b/s);
  await quiet(damaged);
  const old = await write("old.jsonl", [JSON.stringify({ type: "session", id: "v1", cwd: "/" }), JSON.stringify({ type: "message", message: { role: "user", content: "of the first format" } })]);
  assert.match(await old.textContent("#rows"), /of the first format/);
  assert.match(await old.textContent("#cards"), /This branch was not compacted yet\./);
  await quiet(old);
});
