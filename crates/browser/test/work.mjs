// What the form costs a browser's main thread, in ms of processor time, which other work on the machine changes little: `npm run work -- RUNS SLOWDOWN [FOLDER...]`.
// Each folder is a checkout of crates/browser, this one when none is named; they take turns, with a first visit each. Loopback only.

import { createServer } from "node:http";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { executablePath, FLAGS } from "./browser.mjs";

const MOST_RUNS = 100;
const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const [runs = 10, slowdown = 1] = process.argv.slice(2, 4).map(Number);
if (!(runs >= 1 && runs <= MOST_RUNS && slowdown >= 1 && slowdown <= 20)) throw new Error(`npm run work -- RUNS SLOWDOWN [FOLDER...]: 1 to ${MOST_RUNS} runs, slowed down 1 to 20 times`);
const folders = process.argv.length > 4 ? process.argv.slice(4).map((one) => resolve(one)) : [here];

/** Runs in the page. Two frames after `onReady` the form is drawn; what follows is waited for, so that the next run begins in peace. */
function measure(id) {
  performance.mark("form-init");
  return new Promise((done) => {
    const end = () => {
      performance.mark("form-drawn");
      setTimeout(done, 400);
    };
    const onReady = () => {
      performance.mark("form-ready");
      requestAnimationFrame(() => requestAnimationFrame(end));
    };
    window.dropin.init({ target: "#pay", id, onSuccess: () => {}, onReady });
  });
}

const browser = await chromium.launch({ executablePath, args: FLAGS });

/** One side of the comparison: a mock with the bundle of that folder, and a shop of one site with it. */
async function side(folder) {
  const { Mock } = await import(join(folder, "test/mock-server.mjs"));
  const mock = await new Mock().start();
  const shop = createServer((request, response) => mock.servePage(request, response));
  mock.shopUrl = await new Promise((done) => shop.listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${shop.address().port}`)));
  return { folder, mock, shop, all: [] };
}

async function one({ mock }) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(`${mock.shopUrl}/`);
  await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  await browser.startTracing(page, { categories: ["blink.user_timing"] });
  await page.evaluate(measure, mock.session());
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  await context.close();
  const [init, ready, drawn] = ["form-init", "form-ready", "form-drawn"].map((name) => traceEvents.find((event) => event.name === name));
  return { ready: (ready.tts - init.tts) / 1000, drawn: (drawn.tts - init.tts) / 1000, wall: (drawn.ts - init.ts) / 1000 };
}

const sides = await Promise.all(folders.map(side));
try {
  for (let run = 0; run < runs; run += 1) for (const each of sides) each.all.push(await one(each));
  for (const { folder, all } of sides) {
    const median = (name) => all.map((seen) => seen[name]).sort((a, b) => a - b)[Math.floor(all.length / 2)].toFixed(0);
    console.log(`${folder}: ${median("ready")} ms to onReady, ${median("drawn")} ms to the form drawn; ${median("wall")} ms on the clock`);
  }
} finally {
  await browser.close();
  for (const { mock, shop } of sides) {
    mock.stop();
    shop.closeAllConnections();
    shop.close();
  }
}
