// Runs scenarios in one Chromium, each in contexts of its own, until standard input ends. A line of it is {id, scenario, input}; the answer is a
// line {id, seen}, or {id, error} where the scenario failed.

import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
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

const browser = await chromium.launch({ executablePath, args: FLAGS });

async function run({ scenario, input }) {
  if (!scenarios[scenario]) throw new Error(`no scenario ${scenario}; there are ${Object.keys(scenarios).join(", ")}`);
  const contexts = [];
  const newContext = async (options) => {
    const context = await browser.newContext(options);
    contexts.push(context);
    return context;
  };
  try {
    return await scenarios[scenario]({ newContext }, input);
  } finally {
    await Promise.all(contexts.map((context) => context.close()));
  }
}

// What a scenario began and no longer waits for ends with its contexts.
process.on("unhandledRejection", (reason) => console.error(`nobody waits for it any more: ${reason}`));

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...wanted } = JSON.parse(line);
  run(wanted)
    .then((seen) => ({ id, seen }), (error) => ({ id, error: String(error?.stack ?? error) }))
    .then((answer) => process.stdout.write(`${JSON.stringify(answer)}\n`));
}
await browser.close();
process.exit(0);
