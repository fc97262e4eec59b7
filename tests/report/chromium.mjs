// The browser, for tests and benches.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

function executable() {
  const places = process.env.CHROMIUM ? [process.env.CHROMIUM] : ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/snap/bin/chromium"];
  const found = places.find((path) => existsSync(path));
  if (!found) throw new Error(`No Chromium at ${places.join(", ")}: install the package chromium, or set CHROMIUM=path`);
  return found;
}

export function launch() {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath: executable(), args });
}
