// What it costs a shopper to see the form: requests and bytes, as a browser counts them, first and on the next page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CARD, ENGINE, endPanel, fill, lacks, openShop, status, until, useWorld, world } from "./harness.mjs";
import { savedCard } from "./mock-server.mjs";

useWorld();

const german = JSON.parse(readFileSync(new URL("../locales/de.json", import.meta.url), "utf8"));

const MOST_REQUESTS = 4;
/** With headers, the Session in the page, and the longer words of Arabic. */
const MOST_BYTES = 19_500;
/** More, where there are saved cards: their part, and that which pays. */
const SAVED_BYTES = 15_500;

/** WebKit takes no Brotli but over TLS: bytes are weighed in the others. */
const IS_WEIGHED = ENGINE !== "webkit";

/** WebKit fetches again what it has preloaded. */
const asked = (requests) => requests.map(({ path }) => path).filter((path, index, all) => ENGINE !== "webkit" || all.indexOf(path) === index).sort();

/** Asked for once the form is there: what follows a press, and what is said then. */
const LATER = /^(?:outcomes\/|payment\.js|progress\.js)/;
const LATER_BYTES = 17_000;

/** The requests to the asset origin from here on, with what each of them brought over the line. */
function watch(context) {
  const seen = [];
  context.on("requestfinished", async (request) => {
    if (!request.url().startsWith(world.mock.assetUrl)) return;
    const { pathname, search } = new URL(request.url());
    const entry = { path: pathname.replace("/asset/v1/", ""), search, bytes: 0 };
    seen.push(entry);
    const { responseBodySize, responseHeadersSize } = await request.sizes();
    entry.bytes = responseBodySize + responseHeadersSize;
  });
  return seen;
}

for (const locale of ["en_US", "ar_EG"]) {
  test(`the form is ready after ${MOST_REQUESTS} requests and ${MOST_BYTES} bytes in ${locale}; the next page asks for the Session alone`, async () => {
    const context = await world.browser.newContext();
    const seen = watch(context);
    const options = { locale };
    const shop = await openShop({ session: world.mock.session({ others: true, Sandbox: true }), options, context });
    await until(() => seen.some(({ path, bytes }) => LATER.test(path) && bytes > 0), "the texts of what follows");
    await until(() => ["payment.js", "progress.js"].every((name) => seen.some(({ path, bytes }) => path === name && bytes > 0)), "the parts that follow");
    const [first, later] = [seen.filter(({ path }) => !LATER.test(path)), seen.filter(({ path }) => LATER.test(path))];
    assert.deepEqual(asked(first), ["dropin.js", "frame.html", "frame.js", `locales/${locale.slice(0, 2)}.json`]);
    assert.ok(asked(first).length <= MOST_REQUESTS);
    assert.ok(later.every((one) => seen.indexOf(one) >= first.length), "what follows is asked for last");
    assert.ok(later.length === 3 && (!IS_WEIGHED || later.reduce((total, { bytes }) => total + bytes, 0) <= LATER_BYTES), JSON.stringify(later));
    for (const { path, search } of seen) if (!/^(?:dropin\.js|frame\.html)$/.test(path)) assert.match(search, /^\?[\da-f]{12}$/, `${path} is kept for ever`);
    const sum = first.reduce((total, { bytes }) => total + bytes, 0);
    assert.ok(!IS_WEIGHED || (sum > 14_000 && sum <= MOST_BYTES), `${sum} bytes: ${JSON.stringify(seen)}`);
    const before = world.mock.requests.length;
    await shop.page.close();
    await openShop({ session: world.mock.session(), options, context });
    const again = world.mock.requests.slice(before).map(({ path }) => path.replace("/asset/v1/", ""));
    // WebKit keeps scripts alone.
    assert.deepEqual(again.filter((path) => ENGINE !== "webkit" || !/^(?:locales|outcomes)\//.test(path)), ["frame.html"], "everything else is kept");
    await context.close();
  });
}

test("a shopper with saved cards loads one part more, beside the texts", async () => {
  const context = await world.browser.newContext();
  const seen = watch(context);
  const session = world.mock.session({ others: true, SavedCards: [savedCard("4242")] });
  const shop = await openShop({ session, options: { locale: "ar_EG" }, context, wait: false });
  await shop.frame.locator(".accordion .toggle").first().waitFor();
  const first = seen.filter(({ path }) => !LATER.test(path));
  assert.deepEqual(asked(first), ["dropin.js", "frame.html", "frame.js", "locales/ar.json", "saved.js"]);
  const sum = first.reduce((total, { bytes }) => total + bytes, 0);
  assert.ok(!IS_WEIGHED || sum <= MOST_BYTES + SAVED_BYTES, `${sum} bytes`);
  assert.match(seen.find(({ path }) => path === "saved.js").search, /^\?[\da-f]{12}$/, "it is kept for ever");
  await context.close();
});

/** A shop whose texts of what follows come as `answer` says. */
async function openWithLater(answer, session, more = {}) {
  const context = await world.browser.newContext();
  await context.route("**/outcomes/*", answer);
  return openShop({ session, options: { locale: "de_DE" }, context, ...more });
}

test("the form waits for no text that it does not show; a press waits for those that follow", async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const session = world.mock.session();
  const shop = await openWithLater(async (route) => (await held, route.continue()), session);
  await fill(shop);
  await shop.button().click();
  await until(async () => (await shop.button().getAttribute("aria-disabled")) === "true", "the form to be busy");
  assert.equal(world.mock.entry(session).payments, 0);
  release();
  const end = await endPanel(shop, "done");
  assert.match(await end.innerText(), /Fern & Fjord/);
  assert.equal(world.mock.entry(session).payments, 1);
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

test("a press says that nothing was charged where the texts that follow cannot be had, and a later one pays", async () => {
  let away = true;
  const session = world.mock.session();
  const shop = await openWithLater((route) => (away ? route.abort() : route.continue()), session);
  await fill(shop);
  await shop.button().click();
  await shop.frame.locator(".notice p").waitFor({ timeout: 25_000 });
  assert.equal(await shop.frame.locator(".notice").innerText(), german.notSent);
  assert.equal(world.mock.entry(session).payments, 0);
  assert.equal(world.mock.requests.filter(({ path }) => path.startsWith("/stash/") && path.includes(world.mock.entry(session).session.MerchantId)).length, 0, "no card was sent");
  away = false;
  await shop.button().click();
  assert.ok((await (await endPanel(shop, "done")).innerText()).includes(german.doneTitle));
  await shop.context.close();
});

test("a payment under way is shown once its texts are there, and in the shell's words they reach the shell", async () => {
  let misses = 2;
  const session = world.mock.session({ State: "PROCESSING" });
  const shop = await openWithLater((route) => (misses-- > 0 ? route.abort() : route.continue()), session, { wait: false });
  await status(shop, german.processingTitle).waitFor();
  world.mock.finish(session, { State: "REDIRECTED", RedirectUrl: world.mock.bankPage(session) });
  await shop.goOn.waitFor();
  assert.equal(await shop.goOn.innerText(), german.goOn);
  await shop.context.close();
});

test("what stands there before a press, errors and questions included, needs none of the texts that follow", async () => {
  const keys = Object.keys(JSON.parse(readFileSync(new URL("../dist/outcomes/de.json", import.meta.url), "utf8")));
  const session = world.mock.session({ others: true, Sandbox: true, AllowsContract: "UNSCHEDULED", SavedCards: [savedCard("4242")], faults: { remove: [503, 503, 503, 503] } });
  const shop = await openWithLater(() => {}, session, { wait: false });
  const entry = (index) => shop.frame.locator(".accordion .entry").nth(index);
  const words = async () => {
    const texts = await Promise.all([shop.page.locator("#pay .root"), shop.frame.locator("body")].map((part) => part.innerText()));
    const spoken = await shop.frame.locator("[aria-label]").evaluateAll((all) => all.map((one) => one.ariaLabel));
    return [...texts, ...spoken].join(" ").split(/[\s,;:!?]+/);
  };
  const look = async (what) => assert.deepEqual((await words()).filter((word) => keys.includes(word.replace(/\.$/, ""))), [], what);
  await entry(0).locator(".pay").click();
  await entry(0).locator(".begin").click();
  await look("a saved card without its code, and the question before it is removed");
  await entry(0).locator(".yes").click();
  await entry(0).locator(".question .error").waitFor();
  await look("a card that could not be removed");
  await entry(1).locator(".toggle").click();
  await entry(1).locator(".pay").click();
  await shop.frame.locator("#number[aria-invalid]").waitFor();
  await look("a new card with errors");
  for (const id of ["paypal", "paylater", "banktransfer"]) {
    await shop.method(id).click();
    await look(id);
  }
  await shop.context.close();
});

test("the texts are asked for beside the form's script; all that a payment under way needs is, too", async () => {
  for (const [State, expected] of [["CREATED", ["locales/en.json"]], ["PROCESSING", ["locales/en.json", "outcomes/en.json", "payment.js"]]]) {
    const context = await world.browser.newContext();
    const seen = [];
    let release;
    const held = new Promise((resolve) => (release = resolve));
    context.on("request", (request) => seen.push(new URL(request.url()).pathname.replace("/asset/v1/", "")));
    await context.route(State === "CREATED" ? "**/frame.js*" : "**/locales/*", async (route) => (await held, route.continue()));
    const shop = await openShop({ session: world.mock.session({ State }), context, wait: false });
    await until(() => expected.every((path) => seen.includes(path)), `${expected} to be asked for`);
    assert.equal((await shop.events()).length, 0, "nothing is ready yet");
    release();
    await until(async () => (await shop.events()).some(([kind]) => kind === "ready"), "the drop-in");
    assert.deepEqual(shop.problems, []);
    await context.close();
  }
});

/** A shop whose part `name` comes as `answer` says. */
async function openWithPart(name, answer, session = world.mock.session()) {
  const context = await world.browser.newContext();
  await context.route(`**/${name}*`, answer);
  return openShop({ session, context, wait: "form" });
}

const busy = (shop) => until(async () => (await shop.frame.locator("form").getAttribute("aria-busy")) === "true", "the form to be busy");

test("what is typed before the part that masks it is masked then, and a press meanwhile waits and pays once", async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const shop = await openWithPart("payment.js", async (route) => (await held, route.continue()));
  await fill(shop);
  assert.equal(await shop.field("number").inputValue(), CARD.number);
  assert.deepEqual((await shop.events()).map(([kind]) => kind), ["ready", "change"]);
  await shop.button().click();
  await shop.button().click();
  await busy(shop);
  const stashed = () => world.mock.requests.filter(({ path }) => path.startsWith("/stash/") && path.includes(world.mock.entry(shop.session).session.MerchantId));
  assert.equal(stashed().length, 0);
  release();
  await endPanel(shop, "done");
  assert.equal(world.mock.entry(shop.session).payments, 1);
  assert.equal(stashed().length, 1);
  assert.deepEqual(JSON.parse(new URLSearchParams(stashed()[0].body).get("card")).Expiry, { Year: "2030", Month: "12" });
  assert.deepEqual(shop.problems, []);
  await shop.context.close();
});

/** Runs before the frame's own scripts: nothing counts as drawn there until `release` is called. */
function holdDrawing() {
  if (!location.pathname.endsWith("/frame.html")) return;
  const held = [];
  const { requestAnimationFrame, setTimeout } = window;
  let isReleased = false;
  window.requestAnimationFrame = (run) => (isReleased ? requestAnimationFrame(run) : held.push(run));
  window.setTimeout = (run, ms, ...more) => (isReleased || ms !== 500 ? setTimeout(run, ms, ...more) : held.push(run));
  window.release = () => {
    isReleased = true;
    for (const run of held) run();
  };
  // The first use of these is what the form does not wait for.
  window.formatters = 0;
  for (const name of ["NumberFormat", "ListFormat"]) Intl[name] = new Proxy(Intl[name], { construct: (target, given) => ((window.formatters += 1), new target(...given)) });
}

test("the amount is written once the form is drawn: until then the button keeps its room and a name, and takes no press; a press of the page waits and pays once", async () => {
  const context = await world.browser.newContext();
  await context.addInitScript(holdDrawing);
  const shop = await openShop({ session: world.mock.session({ others: true }), context, wait: "form" });
  await fill(shop);
  const seen = await shop.button().evaluate((button) => [button.innerText.trim(), getComputedStyle(button).color, button.disabled, window.formatters]);
  assert.deepEqual(seen, ["Pay 29.90 USD", "rgba(0, 0, 0, 0)", true, 0]);
  assert.deepEqual((await shop.events()).map(([kind]) => kind), ["ready", "change"]);
  await shop.field("name").press("Enter");
  assert.equal(await shop.frame.locator("form").getAttribute("aria-busy"), null);
  await shop.page.evaluate(() => window.instance.submitPayment());
  await busy(shop);
  assert.equal(world.mock.entry(shop.session).payments, 0);
  await shop.frameOf().evaluate(() => window.release());
  await endPanel(shop, "done");
  assert.equal(world.mock.entry(shop.session).payments, 1);
  assert.deepEqual(shop.problems, []);
  await context.close();
});

test("nothing moves when the amount is written, and the page is told it as its language writes it", async () => {
  for (const [locale, text] of [["en_US", "Pay $29.90"], ["de_DE", "29,90 $ bezahlen"]]) {
    for (const hideSubmitButton of [false, true]) {
      const context = await world.browser.newContext({ viewport: { width: 390, height: 800 } });
      await context.addInitScript(holdDrawing);
      const shop = await openShop({ session: world.mock.session({ others: true }), options: { locale, hideSubmitButton }, context, wait: "form" });
      const height = () => shop.frameOf().evaluate(() => document.querySelector("#app").getBoundingClientRect().height);
      await until(async () => /29/.test(await shop.button().textContent()), "the amount's room");
      const before = await height();
      await shop.frameOf().evaluate(() => window.release());
      await until(async () => (await shop.button().textContent()).replace("\u00a0", " ") === text, "the amount");
      assert.equal(await height(), before, locale);
      assert.equal(await shop.button().isDisabled(), hideSubmitButton, "a button that is not there takes no Enter");
      await shop.method("paypal").click();
      await until(async () => /29[.,]90/.test(await shop.panel("paypal").innerText()), "the panel");
      assert.doesNotMatch(await shop.panel("paypal").innerText(), /USD/);
      await context.close();
    }
  }
});

test("a press that waits for it says what is wrong with the fields once it is there", async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const shop = await openWithPart("payment.js", async (route) => (await held, route.continue()));
  await shop.field("number").fill("424242424242");
  await shop.button().click();
  await busy(shop);
  release();
  await shop.frame.locator("#number[aria-invalid]").waitFor();
  assert.equal(await shop.field("number").inputValue(), "4242 4242 4242");
  assert.equal(await shop.frame.locator("form").getAttribute("aria-busy"), "false");
  await shop.context.close();
});

const ANOTHER = async (route) => route.fulfill({ response: await route.fetch(), body: "window.altered = true; export const begin = () => {};" });

for (const [what, answer, lacking] of [["without the part that pays", (route) => route.abort()], ["with another than the one that was built", ANOTHER, "digests"]]) {
  test(`${what}, a press says that nothing was charged; a later one pays`, lacks(lacking), async () => {
    let away = true;
    const shop = await openWithPart("payment.js", (route) => (away ? answer(route) : route.continue()));
    await fill(shop);
    await shop.button().click();
    await shop.frame.locator(".notice p").waitFor();
    assert.match(await shop.frame.locator(".notice").innerText(), /could not be reached, and nothing was charged/);
    assert.equal(await shop.frameOf().evaluate(() => window.altered), undefined);
    assert.equal(world.mock.entry(shop.session).payments, 0);
    away = false;
    await until(async () => (await shop.enabled()).at(-1) === true, "the part that pays");
    await shop.button().click();
    await endPanel(shop, "done");
    assert.equal(world.mock.entry(shop.session).payments, 1);
    await shop.context.close();
  });
}

test("a payment counts though the part that shows it comes late, and the shopper sees it then", async () => {
  let away = true;
  const shop = await openWithPart("progress.js", (route) => (away ? route.abort() : route.continue()), world.mock.session({ others: true }));
  await fill(shop);
  await shop.button().click();
  const end = await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  assert.match(await end.innerText(), /Fern & Fjord/);
  assert.equal(await end.locator(".badge").count(), 0);
  away = false;
  await end.locator(".badge").waitFor();
  await shop.context.close();
});

test("the skeleton is there in the first frame, and nothing on the page moves from then on", lacks("layoutShifts"), async () => {
  for (const [viewport, lang] of [[{ width: 1280, height: 900 }, "en"], [{ width: 390, height: 844 }, "en"], [{ width: 1280, height: 900 }, "de"]]) {
    const context = await world.browser.newContext({ viewport });
    const page = await context.newPage();
    await page.goto(`${world.mock.shopUrl}/?lang=${lang}`);
    const seen = await page.evaluate((id) => new Promise((resolve) => {
      document.querySelector("main").insertAdjacentText("beforeend", "What follows on the page");
      const shifts = [];
      new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value))).observe({ type: "layout-shift", buffered: true });
      let skeleton;
      window.dropin.init({ target: "#pay", id, onSuccess: () => {}, onReady: () => setTimeout(() => resolve({ skeleton, shifts }), 700) });
      requestAnimationFrame(() => (skeleton = document.querySelector("#pay").shadowRoot.querySelector(".skeleton").getBoundingClientRect().height));
    }), world.mock.session());
    assert.ok(seen.skeleton > 200, `${viewport.width} px`);
    assert.deepEqual(seen.shifts, [], `${lang} at ${viewport.width} px`);
    await context.close();
  }
});
