// How long a shopper waits for the form, beside a bare page: `npm run speed [-- RUNS]`. Prints what stands in docs/PERFORMANCE.md. Loopback only.

import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { executablePath, FLAGS } from "./browser.mjs";
import { Mock } from "./mock-server.mjs";

const MOST_RUNS = 200;
const runs = Number(process.argv[2] ?? 40);
if (!Number.isInteger(runs) || runs < 1 || runs > MOST_RUNS) throw new Error(`runs: a number from 1 to ${MOST_RUNS}`);

/** The floor: a page that makes a frame of another origin with four fields in it, and nothing else. */
const FIELDS = "<!doctype html><title>Fields</title><form><input><input><input><input><button>Pay</button></form>";

/** Runs in the page, at once. Resolves once what `begin` makes has been drawn, with the time and by how much the layout has shifted. */
function measure({ kind, id, bare }) {
  let shift = 0;
  new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => (shift += value))).observe({ type: "layout-shift", buffered: true });
  const begun = performance.now();
  const target = document.querySelector("#pay");
  return new Promise((resolve) => {
    const end = () => {
      const ready = performance.now() - begun;
      // Once more, so that a shift that is still to come is seen.
      setTimeout(() => resolve({ ready, skeleton: window.skeleton, shift, begun: performance.timeOrigin + begun }), 300);
    };
    if (kind === "bare") {
      const frame = document.createElement("iframe");
      frame.onload = () => requestAnimationFrame(() => requestAnimationFrame(end));
      frame.src = bare;
      target.append(frame);
    } else {
      window.dropin.init({ target: "#pay", id, onSuccess: () => {}, onReady: () => requestAnimationFrame(() => requestAnimationFrame(end)) });
    }
    requestAnimationFrame(() => (window.skeleton = performance.now() - begun));
  });
}

/** Runs in each document before its own scripts: when the form's button says what is paid. */
function watchAmount() {
  if (!location.pathname.endsWith("/frame.html")) return;
  new MutationObserver((_, observer) => {
    if (!document.querySelector("form .pay:enabled")?.textContent) return;
    window.amountAt = performance.timeOrigin + performance.now();
    observer.disconnect();
  }).observe(document, { subtree: true, childList: true, attributeFilter: ["disabled"] });
}

const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

const mock = await new Mock().start();
const listen = (server) => new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`)));
const others = [createServer((request, response) => mock.servePage(request, response)), createServer((_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end(FIELDS))];
// Of one site with the asset origin: the frame is then in the page's process, and slowed down with it.
const [shop, bare] = await Promise.all(others.map(listen));
mock.shopUrl = shop;
const browser = await chromium.launch({ executablePath, args: FLAGS });

async function one(kind, slowdown, context) {
  const page = await context.newPage();
  await page.addInitScript(watchAmount);
  await page.goto(`${shop}/`);
  if (slowdown > 1) await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  const seen = await page.evaluate(measure, { kind, id: mock.session(), bare });
  const form = page.frames().find((frame) => frame.url().includes("/frame.html"));
  if (form) {
    await form.waitForFunction(() => window.amountAt);
    seen.amount = (await form.evaluate(() => window.amountAt)) - seen.begun;
  }
  await page.close();
  return seen;
}

try {
  console.log(`${runs} runs each; ms from init to the form drawn, p50 and p95; to the first frame and the amount, p50; the highest layout shift`);
  for (const slowdown of [1, 4]) {
    for (const kind of ["bare", "first visit", "next page"]) {
      const kept = kind === "next page" ? await browser.newContext({ viewport: { width: 1280, height: 900 } }) : null;
      if (kept) await one(kind, 1, kept);
      const all = [];
      for (let run = 0; run < runs; run += 1) {
        const context = kept ?? (await browser.newContext({ viewport: { width: 1280, height: 900 } }));
        all.push(await one(kind, slowdown, context));
        if (!kept) await context.close();
      }
      await kept?.close();
      const sorted = (name) => all.map((seen) => seen[name]).sort((a, b) => a - b);
      const [ready, skeleton, amount] = [sorted("ready"), sorted("skeleton"), sorted("amount")];
      const figures = [at(ready, 0.5), at(ready, 0.95), at(skeleton, 0.5), at(amount, 0.5)].map((ms) => ms?.toFixed(0) ?? "-");
      console.log(`CPU / ${slowdown} | ${kind} | p50 ${figures[0]} | p95 ${figures[1]} | first frame ${figures[2]} | amount ${figures[3]} | shift ${sorted("shift").at(-1)}`);
    }
  }
} finally {
  await browser.close();
  mock.stop();
  for (const server of others) {
    server.closeAllConnections();
    server.close();
  }
}
