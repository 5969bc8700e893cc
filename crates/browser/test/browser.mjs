// The browser that is tested with, and how it is started.

import { existsSync } from "node:fs";

export const FLAGS = [
  "--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
  // Takes back Playwright's own list, which turns off what gives embedded pages storage of their own in a real browser.
  "--disable-features=Translate,MediaRouter,OptimizationHints",
];

/** Chromium without a window of its own: the same engine, and a page in it costs half the time. */
const SHELL = "/usr/bin/chromium-headless-shell";

export const executablePath = process.env.CHROME_PATH ?? (existsSync(SHELL) ? SHELL : "/usr/bin/chromium");
