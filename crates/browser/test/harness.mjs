// Starts the mock and a browser for one test file, opens shop pages with a drop-in on them, and finds its parts. The browser is Chromium, unless
// DROPIN_ENGINE names another: firefox or webkit.

import { after, before } from "node:test";
import { chromium } from "playwright-core";
import { executablePath, FLAGS } from "./browser.mjs";
import { Driven } from "./driven.mjs";
import { ENGINE } from "./lacks.mjs";
import { Mock } from "./mock-server.mjs";

export const CARD = { number: "4242424242424242", expiry: "1230", code: "123", name: "Ada Lovelace" };

export { ENGINE, lacks, NARROWEST } from "./lacks.mjs";

export const world = { mock: null, browser: null };

/** Call once per test file. A missing browser fails the run: these tests are the proof. */
export function useWorld() {
  before(async () => {
    world.mock = await new Mock().start();
    world.browser = ENGINE === "chromium" ? await chromium.launch({ executablePath, args: FLAGS }) : await Driven.launch(ENGINE);
  });
  after(async () => {
    await world.browser?.close();
    world.mock?.stop();
  });
}

/**
 * A page of the shop with a drop-in. What its callbacks hear is in `shop.heard`; everything that crosses from the frame
 * is recorded by the frame itself and read with `portMessages`.
 */
export async function openShop({ path = "/", session, options = {}, context: kept, viewport, colorScheme, prepare, wait = true, lang } = {}) {
  const context = kept ?? (await world.browser.newContext({ viewport: viewport ?? { width: 1280, height: 900 }, colorScheme, locale: "en-US" }));
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.addInitScript(() => {
    window.windowMessages = [];
    window.addEventListener("message", (event) => window.windowMessages.push(event.data));
    const send = MessagePort.prototype.postMessage;
    window.portMessages = [];
    MessagePort.prototype.postMessage = function (message, ...rest) {
      window.portMessages.push(JSON.stringify(message));
      return send.call(this, message, ...rest);
    };
  });
  const shop = { page, context, problems, session };
  shop.go = async () => {
    await page.goto(`${world.mock.shopUrl}${path}${lang ? `?lang=${lang}` : ""}`);
    if (prepare) await page.evaluate(prepare);
    await shop.init();
  };
  shop.init = async () => {
    await page.evaluate(
      ({ id, options }) => {
        window.heard = [];
        window.events = [];
        const begun = performance.now();
        window.instance = window.dropin.init({
          target: "#pay", id, ...options,
          onSuccess: (...given) => {
            window.paid = given;
            window.heard.push(["success"]);
          },
          onFailure: (error) => {
            window.failedAfter = performance.now() - begun;
            window.heard.push(["failure", error.errorCode, error.errorMessage]);
          },
          onReady: () => window.events.push(["ready"]),
          onChange: (change) => window.events.push(["change", change]),
          onSubmitEnabledChange: (state) => window.heard.push(["enabled", state]),
          onContinue: () => window.heard.push(["continue"]),
        });
      },
      { id: session, options },
    );
  };
  await shop.go();
  shop.frame = page.frameLocator("#pay .body iframe");
  shop.field = (name) => shop.frame.locator(`#${name}`);
  shop.button = () => shop.frame.locator("form .pay");
  shop.heard = () => page.evaluate(() => window.heard);
  /** What `onReady` and `onChange` were told. */
  shop.events = () => page.evaluate(() => window.events);
  shop.ends = async () => (await shop.heard()).filter(([kind]) => kind !== "enabled");
  /** The heading, the panel and the button of a method other than the card. */
  shop.method = (id) => page.locator(`#pay #${id}`);
  shop.panel = (id) => page.locator(`#pay #${id}-panel`);
  shop.payBy = (id) => shop.panel(id).locator(".pay");
  /** Opens a method and presses its button once it works: after a failure it rests for a moment. */
  shop.payWith = async (id) => {
    await shop.method(id).click();
    await until(async () => (await shop.payBy(id).getAttribute("aria-disabled")) === null, `the button of ${id} to be ready`);
    await shop.payBy(id).click();
  };
  shop.dialog = page.locator("#pay dialog");
  shop.bank = page.frameLocator("#pay dialog iframe").frameLocator("iframe");
  /** What was announced last, by the frame and by the shell. */
  shop.said = async () => `${await shop.frame.locator("#live").textContent()} ${await page.locator("#pay [role=status]").textContent()}`;
  /** What `onSuccess` was given. */
  shop.paid = () => page.evaluate(() => window.paid);
  shop.goOn = page.locator("#pay .status .pay");
  shop.another = page.locator("#pay .status").getByRole("button", { name: "Pay another way" });
  shop.enabled = async () => (await shop.heard()).filter(([kind]) => kind === "enabled").map(([, state]) => state);
  shop.orders = () => world.mock.calls("POST", `${session}/submit`).map(({ body }) => JSON.parse(body));
  /** The document of the form; elsewhere than in Chromium what it is asked answers `null` once there is none. */
  shop.frameOf = () => (ENGINE === "chromium" ? page.frames().find((frame) => frame.url().includes("/frame.html")) : shop.frame);
  if (wait) await shop.field("number").waitFor();
  // The form is there before what masks and pays; most tests are about both.
  if (wait === true) await shop.frame.locator("#code[aria-describedby]").waitFor({ state: "attached" });
  return shop;
}

export async function fill(shop, card = {}) {
  for (const [name, value] of Object.entries({ ...CARD, ...card })) await shop.field(name).fill(value);
}

export async function endPanel(shop, kind) {
  const panel = shop.page.locator(`#pay .end.${kind}`);
  await panel.waitFor();
  return panel;
}

/** The message about a payment under way, by its title. */
export function status(shop, title) {
  return shop.page.locator("#pay .status .title", { hasText: title });
}

/** Waits until `condition` (here, not in the page) holds. */
export async function until(condition, what) {
  const end = Date.now() + 15_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited 15 s for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
