// Pictures of the drop-in to look at: `npm run pictures -- FOLDER`. Every width, scheme and way of seeing, in the states that shoppers meet; nothing of them is compared, since fonts
// differ from machine to machine. `npm run pictures -- --accept [NAME...]` takes those anew, or all, that pictures.test.mjs compares.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { executablePath, FLAGS } from "./browser.mjs";
import { endPanel, fill, openShop, until, world } from "./harness.mjs";
import { CASES, FOLDER, PICTURE_FLAGS, take } from "./kept-pictures.mjs";
import { Mock, savedCard } from "./mock-server.mjs";

const [folder, ...names] = process.argv.slice(2);
const unknown = names.filter((name) => !Object.hasOwn(CASES, name));
if (folder === undefined || (folder !== "--accept" && names.length > 0)) throw new Error("usage: npm run pictures -- FOLDER, or npm run pictures -- --accept [NAME...]");
if (unknown.length > 0) throw new Error(`no such picture: ${unknown}. There are ${Object.keys(CASES).join(", ")}`);
const WIDTHS = [320, 390, 768, 1280];
const LOOKS = { light: {}, dark: { dark: true }, forced: { context: { forcedColors: "active" } }, "forced-dark": { context: { forcedColors: "active", colorScheme: "dark" } }, still: { context: { reducedMotion: "reduce" } }, zoom: { zoom: 2 } };

/** Each brings a shop into a state. */
const STATES = {
  form: async () => {},
  errors: async (shop) => {
    await shop.field("number").fill("4242424242424241");
    await shop.button().click();
    await shop.frame.locator(".error:visible").first().waitFor();
  },
  declined: async (shop) => {
    await fill(shop, { number: "4000000000000002" });
    await shop.button().click();
    await shop.frame.locator(".notice p").waitFor();
  },
  method: async (shop) => shop.method("ideal").click(),
  busy: async (shop) => {
    world.mock.entry(shop.session).slow = true;
    await fill(shop);
    await shop.button().click();
    await until(() => world.mock.entry(shop.session).payments === 1, "the payment");
  },
  done: async (shop) => {
    await fill(shop);
    await shop.button().click();
    await (await endPanel(shop, "done")).locator(".badge").waitFor();
  },
};

async function accept() {
  mkdirSync(FOLDER, { recursive: true });
  for (const name of names.length > 0 ? names : Object.keys(CASES)) writeFileSync(join(FOLDER, `${name}.png`), await take(CASES[name]));
}

async function takeAll() {
  mkdirSync(folder, { recursive: true });
  for (const [look, { dark = false, zoom = 1, context = {} }] of Object.entries(LOOKS)) {
    for (const width of WIDTHS) {
      // Zoomed by the browser, a page has so much less room.
      const kept = await world.browser.newContext({ viewport: { width: Math.round(width / zoom), height: Math.round(900 / zoom) }, deviceScaleFactor: zoom, locale: "en-US", ...context });
      for (const [state, bring] of Object.entries(STATES)) {
        const shop = await openShop({ session: world.mock.session({ others: true, SavedCards: state === "form" && width === 390 ? [savedCard("4242"), savedCard("0005", { PaymentMethod: "AMEX", Scheme: "AMEX" })] : undefined }), context: kept, wait: false, prepare: dark ? () => document.body.classList.add("dark") : undefined });
        await until(async () => (await shop.events()).some(([kind]) => kind === "ready"), "the drop-in");
        await bring(shop);
        await shop.page.waitForTimeout(350);
        await shop.page.screenshot({ path: join(folder, `${look}-${width}-${state}.png`), fullPage: true });
        await shop.page.close();
      }
      await kept.close();
    }
  }
}

world.mock = await new Mock().start();
world.browser = await chromium.launch({ executablePath, args: folder === "--accept" ? PICTURE_FLAGS : FLAGS });
try {
  await (folder === "--accept" ? accept() : takeAll());
} finally {
  await world.browser.close();
  world.mock.stop();
}
