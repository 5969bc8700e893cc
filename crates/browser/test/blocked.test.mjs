// A drop-in that cannot work says so within two seconds: with a code for the page, a sentence for the shopper, and in the console what mends it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ENGINE, endPanel, lacks, openShop, until, useWorld, world } from "./harness.mjs";

useWorld();

/** Well above what it takes, as the shopper's patience is; the other engines share their machine with a proxy, and with each other. */
const LIMIT_MS = ENGINE === "chromium" ? 2_000 : 8_000;
const UNKNOWN = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

/** Opens a page whose drop-in fails; its code, the console's line about it, and the time that it took. */
async function failing(more) {
  const shop = await openShop({ wait: false, ...more, session: more.session ?? world.mock.session() });
  await until(async () => (await shop.ends()).length > 0, "the failure");
  const [[kind, code, message], ...others] = await shop.ends();
  assert.deepEqual([kind, others], ["failure", []], "told once");
  const panel = await endPanel(shop, "fail");
  assert.ok((await panel.innerText()).includes(message), "the page hears what the shopper reads");
  const took = await shop.page.evaluate(() => window.failedAfter);
  return { shop, code, message, took, line: shop.problems.find((problem) => problem.startsWith("Dropin: ")) ?? "" };
}

const blocked = (pattern, answer) => async () => {
  const context = await world.browser.newContext();
  await context.route(pattern, answer);
  return { context };
};

/** The command replaces what was registered before: a shop with a second origin must name both. */
const REGISTER = /dropin merchant set MERCHANT_ID --origin http:\/\/localhost:\d+ \(repeat --origin for every origin of the shop: the list is replaced\)/;
const ANOTHERS = /the Session is another merchant's/;
/** Whose merchant has registered other origins than the page's: that of another merchant is no different. */
const foreign = () => world.mock.session({ MerchantOrigins: ["https://other.example"] });
const anonymous = (session) => ((world.mock.entry(session).anonymous = true), session);

for (const [what, code, cause, prepare, lacking] of [
  ["a page of an origin that is not registered", "ORIGIN_NOT_ALLOWED", REGISTER, () => ({ session: foreign() })],
  ["the same where the browser does not say which page it is", "ORIGIN_NOT_ALLOWED", REGISTER, () => ({ session: anonymous(foreign()) })],
  ["the Session of another merchant", "ORIGIN_NOT_ALLOWED", ANOTHERS, () => ({ session: foreign() })],
  ["the Session of another merchant, where the browser does not say which page it is", "ORIGIN_NOT_ALLOWED", ANOTHERS, () => ({ session: anonymous(foreign()) })],
  ["an id that no Session has", "SESSION_NOT_FOUND", /SessionId that POST \{base_url\}\/v1\/session answered/, () => ({ session: UNKNOWN })],
  ["an id that is none", "SESSION_NOT_FOUND", /SessionId/, () => ({ session: "order-1001" })],
  ["a page whose policy admits no frame of ours", "FRAME_BLOCKED", /frame-src directive: frame-src http:\/\/127\.0\.0\.1:\d+/, () => ({ path: "/blocking" })],
  ["a blocker of the frame's script", "SCRIPT_BLOCKED", /frame\.js did not run/, blocked("**/frame.js*", (route) => route.abort())],
  ["a script that is not the one that was built", "SCRIPT_BLOCKED", /frame\.js did not run/,
    blocked("**/frame.js*", (route) => route.fulfill({ contentType: "text/javascript", headers: { "access-control-allow-origin": "*" }, body: "void 0;" }))],
  ["a service that is away", "FRAME_UNAVAILABLE", /\/readyz[\s\S]*--origin[\s\S]*the list is replaced[\s\S]*frame-src/, blocked("**/asset/v1/{frame.html,session/}**", (route) => route.abort()), "failedLoad"],
]) {
  test(`${what}: ${code}`, lacks(lacking), async () => {
    const { shop, took, line, ...seen } = await failing(await prepare());
    assert.equal(seen.code, code);
    assert.match(line, new RegExp(`^Dropin: ${code}: `));
    assert.match(line, cause);
    assert.ok(took < LIMIT_MS, `${took} ms`);
    await shop.context.close();
  });
}

test("what the shopper reads of it is in the shopper's language, with the frame's texts or without", async () => {
  for (const [locale, lang, words] of [["de_AT", "de", /Diese Seite darf diese Zahlung nicht annehmen/], ["ar_EG", "ar", /لا يُسمح لهذه الصفحة/]]) {
    const { shop, message } = await failing({ session: world.mock.session({ MerchantOrigins: [] }), options: { locale } });
    assert.match(message, words);
    assert.match(await shop.page.locator("#pay .root").getAttribute("lang"), new RegExp(`^${lang}`));
    await shop.context.close();
  }
  const { shop, message } = await failing({ path: "/blocking", options: { locale: "ar_EG" } });
  assert.match(message, /تحقق من اتصالك/);
  assert.equal(await shop.page.locator("#pay .root").getAttribute("dir"), "rtl");
  await shop.context.close();
});

test("a refusal whose words never come tells its cause all the same", async () => {
  const context = await world.browser.newContext();
  await context.route("**/outcomes/*", () => {});
  await context.route("**/fallback.js*", (route) => route.abort());
  const { shop, code, message } = await failing({ session: world.mock.session({ MerchantOrigins: [] }), options: { locale: "de_AT" }, context });
  assert.equal(code, "ORIGIN_NOT_ALLOWED");
  assert.match(message, /connection/, "in English, since no other words can be had");
  await shop.context.close();
});

test("a policy that is only reported, and one that blocks something else, fail nothing", async () => {
  const shop = await openShop({ session: world.mock.session() });
  await shop.page.evaluate((asset) => {
    for (const [blockedURI, effectiveDirective, disposition] of [[asset, "frame-src", "report"], ["https://ads.example", "frame-src", "enforce"], [asset, "img-src", "enforce"]]) {
      document.dispatchEvent(new SecurityPolicyViolationEvent("securitypolicyviolation", { blockedURI, effectiveDirective, violatedDirective: effectiveDirective, disposition }));
    }
  }, world.mock.assetUrl);
  await shop.field("number").fill("4242");
  assert.deepEqual(await shop.ends(), []);
  await shop.context.close();
});

test("a frame that speaks while the page looks for the cause of its silence is shown", async () => {
  const context = await world.browser.newContext();
  await context.addInitScript(() => {
    if (!location.pathname.endsWith("/frame.html")) return;
    // A device that is busy: what the frame says comes late, and its texts later.
    const send = MessagePort.prototype.postMessage;
    MessagePort.prototype.postMessage = function (message) {
      setTimeout(() => send.call(this, message), message.type === "hello" ? 1_000 : 2_500);
    };
  });
  await context.route("**/embeddable", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 600));
    await route.continue();
  });
  const shop = await openShop({ session: world.mock.session(), context, wait: false });
  await until(async () => (await shop.events()).some(([kind]) => kind === "ready") || (await shop.ends()).length > 0, "the form");
  assert.deepEqual(await shop.ends(), []);
  assert.deepEqual(shop.problems, []);
  await context.close();
});

test("a service in trouble is tried again, and the form comes when it is back", async () => {
  const shop = await openShop({ session: world.mock.session({ faults: { view: [503, 503], embeddable: [503, 429] } }) });
  assert.equal(world.mock.requests.filter(({ path, search }) => path.endsWith("/frame.html") && search.includes(shop.session)).length, 3);
  assert.deepEqual(await shop.ends(), []);
  await shop.context.close();
});
