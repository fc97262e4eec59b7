// A Chromium for the tests, and a page that tells whatever it should not have done.

import assert from "node:assert/strict";
import { after } from "node:test";
import { pathToFileURL } from "node:url";
import { launch } from "./chromium.mjs";

let browser;
after(() => browser?.close());

/** Opens a page; `options` are those of a context, and `hash`. `trouble()` is all that went wrong. */
export async function open(file, { hash = "", ...options } = {}) {
  browser ??= await launch();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, timezoneId: "UTC", ...options });
  const page = await context.newPage();
  const trouble = [];
  page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
  page.on("console", (message) => trouble.push(`console: ${message.text()}`));
  page.on("dialog", (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("popup", () => trouble.push("a window opened"));
  page.on("request", (request) => request.url().startsWith("file:") || trouble.push(`request: ${request.url()}`));
  await page.addInitScript(() => {
    window.violations = [];
    addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective}: ${event.sample}`));
  });
  await page.goto(pathToFileURL(file).href + hash);
  page.trouble = async () => [...trouble, ...(await page.evaluate(() => window.violations))];
  return page;
}

/** Nothing went wrong on the page. */
export async function quiet(page) {
  assert.deepEqual(await page.trouble(), []);
}

/** The width that the page takes beyond its window. */
export const sideways = (page) => page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth);
