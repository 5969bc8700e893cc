// Runs one scenario: its input comes on standard input as JSON, what it saw goes to standard output as JSON.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import * as merchantPages from "./scenarios.mjs";
import * as adminPanel from "./admin.mjs";
import * as languages from "./languages.mjs";
import * as demoShop from "./shop.mjs";

const scenarios = { ...merchantPages, ...languages, ...demoShop, ...adminPanel };

const FLAGS = [
  "--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

/** Chromium without a window of its own: the same engine, sooner there. */
const SHELL = "/usr/bin/chromium-headless-shell";

const executablePath = process.env.CHROME_PATH ?? (existsSync(SHELL) ? SHELL : "/usr/bin/chromium");

async function standardInput() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

const scenario = scenarios[process.argv[2]];
if (!scenario) throw new Error(`no scenario ${process.argv[2]}; there are ${Object.keys(scenarios).join(", ")}`);
const input = await standardInput();
const browser = await chromium.launch({ executablePath, args: FLAGS });
try {
  process.stdout.write(JSON.stringify(await scenario(browser, input)));
} finally {
  await browser.close();
}
