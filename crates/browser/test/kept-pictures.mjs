// Pictures of the drop-in that are kept in test/pictures and compared (pictures.test.mjs): what each is of, how it is taken, and how far two may differ.

import { fileURLToPath } from "node:url";
import { FLAGS } from "./browser.mjs";
import { boxFont } from "./box-font.mjs";
import { endPanel, fill, openShop, status, until, world } from "./harness.mjs";
import { CHALLENGED, savedCard } from "./mock-server.mjs";

export const FOLDER = fileURLToPath(new URL("pictures/", import.meta.url));
/** Keep the machine's settings out of the pictures. */
export const PICTURE_FLAGS = [...FLAGS, "--disable-lcd-text", "--font-render-hinting=none", "--force-color-profile=srgb", "--force-device-scale-factor=1"];

/** Of a channel's 255 steps, by more than so many may this part of all pixels differ: corners and curves are drawn by each version of a browser in its own way. */
export const TOLERANCES = [{ steps: 48, part: 0.0003 }, { steps: 12, part: 0.005 }];

/** By the keyboard: what the pointer has pressed may stay hovered over, in each browser for its own time. */
const press = (shop) => shop.button().press("Enter");

const errors = async (shop) => {
  await shop.field("number").fill("4242424242424241");
  await press(shop);
  await shop.frame.locator(".error:visible").nth(3).waitFor();
};
const payBy = (number) => async (shop) => {
  await fill(shop, { number });
  await press(shop);
};
const shops = { others: true, Sandbox: true };

/** By the picture's name: the Session, how the shop is seen, and what brings it into its state. */
export const CASES = {
  desk: { session: shops, width: 900 },
  narrow: { session: shops, width: 320 },
  errors: { session: {}, bring: errors },
  "errors-dark": { session: shops, dark: true, bring: errors },
  arabic: { session: shops, locale: "ar_EG" },
  declined: {
    session: {},
    bring: async (shop) => {
      await payBy("4000000000000002")(shop);
      await shop.frame.locator(".notice p").waitFor();
      await until(async () => (await shop.button().getAttribute("aria-disabled")) === null, "the button");
    },
  },
  busy: {
    session: { slow: true },
    bring: async (shop) => {
      await payBy("4242424242424242")(shop);
      await until(() => world.mock.entry(shop.session).payments === 1, "the payment");
    },
  },
  method: { session: shops, bring: (shop) => shop.method("ideal").click() },
  wallets: { session: { ...shops, wallet: "google" }, bring: (shop) => shop.page.locator("#pay .wallet .googlepay:visible").waitFor() },
  saved: {
    session: { ...shops, AllowsContract: "UNSCHEDULED", SavedCards: [savedCard("4242"), savedCard("0005", { PaymentMethod: "AMEX", Scheme: "AMEX" })] },
    bring: async (shop) => {
      await shop.frame.locator(".accordion .begin").first().click();
      await shop.frame.locator(".question .yes").first().waitFor();
    },
  },
  away: {
    session: { State: "REDIRECTED" },
    prepare: (id) => world.mock.finish(id, { State: "REDIRECTED", AttemptId: "1", RedirectUrl: world.mock.bankPage(id) }),
    bring: (shop) => shop.goOn.waitFor(),
  },
  processing: { session: { State: "PROCESSING" }, bring: (shop) => status(shop, "").waitFor() },
  done: { session: shops, bring: async (shop) => (await payBy("4242424242424242")(shop), (await endPanel(shop, "done")).locator(".badge").waitFor()) },
  failed: { session: { ...shops, tries: 1 }, bring: async (shop) => (await payBy("4000000000000002")(shop), (await endPanel(shop, "fail")).locator(".badge").waitFor()) },
  transfer: {
    session: shops,
    bring: async (shop) => {
      await shop.payWith("banktransfer");
      await (await endPanel(shop, "done")).locator(".badge").waitFor();
    },
  },
};

/** Has all of a document drawn in boxes: what is there, and what is still to come. */
function boxes(font) {
  const face = new FontFace("Box", Uint8Array.from(atob(font), (one) => one.charCodeAt(0)), { weight: "100 900" });
  document.fonts.add(face);
  const sheet = new CSSStyleSheet();
  // Widths without rounding, and lines without a version's own idea of where they end best.
  const precise = "text-rendering: geometricPrecision !important; text-wrap: wrap !important;";
  sheet.replaceSync(`*, ::before, ::after { font-family: Box !important; caret-color: transparent !important; ${precise} }`);
  const roots = [document, ...[...document.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ?? [])];
  for (const root of roots) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  return face.load().then(() => document.fonts.status);
}

const FONT = boxFont().toString("base64");

/** Runs in a frame: what was changed is drawn. A frame that nobody sees draws nothing. */
const drawn = () => Promise.race([new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))), new Promise((resolve) => setTimeout(resolve, 200))]);
const MOST_LOOKS = 100;

/** Waits until every frame is drawn and nothing grows any more: the frame tells its height, and the shell follows. */
async function waitUntilStable(page) {
  let [same, before] = [0, ""];
  for (let look = 0; same < 3; look += 1) {
    if (look === MOST_LOOKS) throw new Error(`the drop-in does not come to rest: ${before}`);
    for (const frame of page.frames()) await frame.evaluate(drawn);
    const now = JSON.stringify(await Promise.all(page.frames().map((frame) => frame.evaluate(() => [document.documentElement.scrollHeight, innerHeight, document.querySelector("#pay")?.getBoundingClientRect().height]))));
    same = now === before ? same + 1 : 0;
    before = now;
    await page.waitForTimeout(40);
  }
}

/** The picture of a case, as a PNG. */
export async function take({ session, width = 390, dark = false, locale, context = {}, prepare, bring }) {
  const kept = await world.browser.newContext({ viewport: { width, height: 1200 }, deviceScaleFactor: 1, locale: "en-US", reducedMotion: "reduce", ...context });
  await kept.addInitScript(() => {
    window.ApplePaySession = class {
      static canMakePayments = () => true;
    };
    window.google = { payments: { api: { PaymentsClient: class {
      isReadyToPay = async () => ({ result: true });
    } } } };
  });
  try {
    const id = world.mock.session(session);
    prepare?.(id);
    const shop = await openShop({ session: id, context: kept, wait: false, options: locale ? { locale } : {}, prepare: dark ? () => document.body.classList.add("dark") : undefined });
    await until(async () => (await shop.events()).some(([kind]) => kind === "ready"), "the drop-in");
    await bring?.(shop);
    for (const frame of shop.page.frames()) await frame.evaluate(boxes, FONT);
    // Where the machine's own font has put what was clicked: nothing may be hovered over because of it.
    await shop.page.mouse.move(0, 0);
    await waitUntilStable(shop.page);
    return await shop.page.locator("#pay").screenshot({ animations: "disabled", caret: "hide" });
  } finally {
    await kept.close();
  }
}

/** Runs in a page. Sizes; by how many pixels the two differ for each of `tolerances`; and a picture of where, which is null where nothing differs. */
export async function difference([kept, seen, steps]) {
  const draw = async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return { canvas, context, data: context.getImageData(0, 0, image.width, image.height) };
  };
  const [a, b] = [await draw(kept), await draw(seen)];
  const sizes = [a, b].map(({ canvas: { width, height } }) => `${width} x ${height}`);
  if (sizes[0] !== sizes[1]) return { sizes, different: [], pixels: 0, where: null };
  const different = steps.map(() => 0);
  for (let at = 0; at < a.data.data.length; at += 4) {
    const most = Math.max(...[0, 1, 2].map((channel) => Math.abs(a.data.data[at + channel] - b.data.data[at + channel])));
    steps.forEach((step, index) => (different[index] += Number(most > step)));
    // What is the same is faint; what differs is red.
    const faint = (channel) => 255 - (255 - b.data.data[at + channel]) / 5;
    const pixel = most > Math.min(...steps) ? [255, 0, 0] : [0, 1, 2].map(faint);
    pixel.forEach((value, channel) => (b.data.data[at + channel] = value));
  }
  b.context.putImageData(b.data, 0, 0);
  const where = new Uint8Array(await (await b.canvas.convertToBlob()).arrayBuffer());
  return { sizes, different, pixels: a.data.data.length / 4, where: btoa(Array.from(where, (one) => String.fromCharCode(one)).join("")) };
}
