// The wallet's button, with a simulated wallet: shown only where it can pay, a payment by token, and every way out of its sheet.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ENGINE, endPanel, fill, lacks, openShop, until, useWorld, world } from "./harness.mjs";

useWorld();

/** What a wallet's sheet says and hears, on the page; `can` is what it says of itself. */
function installWallet(can) {
  window.sheets = [];
  window.ApplePaySession = class {
    static STATUS_SUCCESS = 0;
    static STATUS_FAILURE = 1;
    static canMakePayments() {
      if (can === "throws") throw new DOMException("insecure", "InvalidAccessError");
      return can;
    }
    constructor(version, request) {
      if (!navigator.userActivation.isActive) throw new DOMException("not in a click", "InvalidAccessError");
      Object.assign(this, { version, request, said: [] });
      window.sheets.push(this);
    }
    begin() {
      this.said.push(["begin"]);
      // The sheet asks for its payment session by itself.
      queueMicrotask(() => this.onvalidatemerchant({ validationURL: "https://wallet.example/paymentSession" }));
    }
    abort() {
      this.said.push(["abort"]);
    }
    completeMerchantValidation(session) {
      this.said.push(["validated", session.merchantSessionIdentifier]);
    }
    completePayment({ status }) {
      this.said.push(["completed", status]);
    }
  };
}

const TOKEN = { token: { paymentData: { version: "EC_v1", data: "c2VhbGVk" }, paymentMethod: { network: "Visa" }, transactionIdentifier: "t-1" } };

async function openWithWallet({ session = {}, can = true, wait = true, ...more } = {}) {
  const context = await world.browser.newContext({ viewport: more.viewport ?? { width: 1280, height: 900 }, colorScheme: more.colorScheme });
  if (can !== null) await context.addInitScript(installWallet, can);
  const shop = await openShop({ session: world.mock.session({ others: true, wallet: true, ...session }), context, ...more });
  shop.wallet = shop.page.locator("#pay .wallet");
  shop.pay = shop.wallet.getByRole("button", { name: /Apple Pay/ });
  shop.said = () => shop.page.evaluate(() => window.sheets.map(({ said }) => said));
  shop.confirm = () => shop.page.evaluate((payment) => window.sheets.at(-1).onpaymentauthorized({ payment }), TOKEN);
  shop.hearing = (...said) => until(async () => JSON.stringify((await shop.said()).at(-1)) === JSON.stringify(said), `the sheet to hear ${JSON.stringify(said)}`);
  if (wait) await shop.pay.waitFor();
  return shop;
}

const VALIDATED = [["begin"], ["validated", "session-1"]];

for (const path of ["/", "/strict", "/isolated", "/nonce", "/fortress"]) {
  test(`a payment by wallet on ${path}: the sheet, the payment session, the token to the stash, and one onSuccess`, async () => {
    const shop = await openWithWallet({ path });
    assert.equal(await shop.pay.innerText(), "Pay with Apple Pay");
    await shop.pay.click();
    await shop.hearing(...VALIDATED);
    assert.deepEqual(await shop.page.evaluate(() => [window.sheets[0].version, window.sheets[0].request]), [3, {
      countryCode: "NL", currencyCode: "USD", supportedNetworks: ["visa", "masterCard"], merchantCapabilities: ["supports3DS"],
      total: { label: "Fern & Fjord", amount: "29.90", type: "final" },
    }]);
    const [asked] = world.mock.calls("GET", `${world.mock.entry(shop.session).session.MerchantId}/session`);
    assert.deepEqual(Object.fromEntries(new URLSearchParams(asked.search)), {
      validationURL: "https://wallet.example/paymentSession", displayName: "Fern & Fjord", domainName: new URL(world.mock.shopUrl).host,
    });
    assert.equal(shop.orders().length, 0, "nothing is paid before the shopper says so");
    await shop.confirm();
    await endPanel(shop, "done");
    await shop.hearing(...VALIDATED, ["completed", 0]);
    const [order, ...more] = shop.orders();
    assert.deepEqual(more, []);
    assert.deepEqual(Object.keys(order).sort(), ["AttemptId", "DeviceFingerprint", "StashId", "Version"]);
    const [stashed] = world.mock.calls("POST", `/${order.StashId}`);
    const form = new URLSearchParams(stashed.body);
    assert.deepEqual([...form.keys()].sort(), ["DeviceFingerprint", "Language", "SessionId", "TimeZone", "token_data"]);
    assert.deepEqual(JSON.parse(form.get("token_data")), { Type: "APPLEPAY", Data: TOKEN });
    assert.equal(form.get("DeviceFingerprint"), order.DeviceFingerprint);
    assert.deepEqual(await shop.ends(), [["success"]]);
    assert.deepEqual(shop.problems, []);
    assert.equal(await shop.page.locator("#pay .wallet").count(), 0, "the button goes with the methods");
    await shop.context.close();
  });
}

test("without a wallet that can pay there is no button, no gap, and nothing is loaded for it but where it might", async () => {
  const loads = () => world.mock.calls("GET", "/wallet.js").length;
  for (const [more, loaded] of [
    [{ can: null }, 0], [{ session: { wallet: false } }, 0], [{ can: false }, 1], [{ can: "throws" }, 1],
  ]) {
    const before = loads();
    const shop = await openWithWallet({ ...more, wait: false });
    await until(() => loads() - before === loaded, "the wallet's part to be loaded, or not");
    await fill(shop);
    const top = (locator) => locator.evaluate((one) => one.getBoundingClientRect().top);
    assert.equal(await top(shop.page.locator("#pay .entry").first()), await top(shop.page.locator("#pay .root")), JSON.stringify(more));
    assert.equal(await shop.page.getByRole("button", { name: /Apple Pay/ }).count(), 0);
    await shop.button().click();
    await endPanel(shop, "done");
    assert.equal(loads() - before, loaded);
    assert.deepEqual(shop.problems, []);
    await shop.context.close();
  }
});

/** How often altered bytes were asked for, and sent whole, since `alter`. */
let asked = 0;
let served = 0;
/** Where no browser says that it refused: as long as bytes are given to run after all. */
const RUN_MS = 1_000;

/** Serves `name` with a line more than was built, to whoever `to` says. */
async function alter(context, name, { to = () => true, slowly = 0 } = {}) {
  asked = served = 0;
  await context.route(`**/${name}*`, async (route) => {
    if (!to(route.request().frame())) return route.continue();
    asked += 1;
    const response = await route.fetch();
    await new Promise((resolve) => setTimeout(resolve, slowly));
    await route.fulfill({ response, body: `${await response.text()}window.altered = true;\n` });
    served += 1;
  });
}

/** Only Chromium says so. */
const refusal = (shop) => until(() => (ENGINE === "chromium" ? shop.problems.some((problem) => problem.includes("integrity")) : served > 0 && served === asked), "the browser to refuse");

/** That altered bytes have not run in a document, and where the browser does not say so, that they do not in a while either. */
async function assertUnaltered(scope) {
  if (ENGINE !== "chromium") await until(() => served === asked, "all bytes to be there");
  const end = Date.now() + (ENGINE === "chromium" ? 0 : RUN_MS);
  do {
    assert.equal(await scope.evaluate(() => window.altered), undefined);
  } while (Date.now() < end);
}

for (const [path, slowly] of [["/", 0], ["/strict", 0], ["/", 3_500]]) {
  test(`a wallet's part that is not the one that was built never runs in the page on ${path}, and the card pays; after ${slowly} ms`, lacks("digests"), async () => {
    const context = await world.browser.newContext();
    await context.addInitScript(installWallet, true);
    await alter(context, "wallet.js", { slowly });
    const shop = await openShop({ path, session: world.mock.session({ others: true, wallet: true }), context });
    await refusal(shop);
    assert.equal(await shop.page.evaluate(() => window.altered), undefined);
    await fill(shop);
    await shop.button().click();
    await endPanel(shop, "done");
    await assertUnaltered(shop.page);
    assert.equal(await shop.page.locator("#pay .wallet").count(), 0);
    await context.close();
  });
}

test("nor does it in the frame, and the sheet closes", lacks("digests"), async () => {
  const context = await world.browser.newContext();
  await context.addInitScript(installWallet, true);
  await alter(context, "wallet.js", { to: (frame) => frame.url().startsWith(new URL(world.mock.assetUrl).origin) });
  const shop = await openShop({ session: world.mock.session({ others: true, wallet: true }), context });
  await shop.page.locator("#pay .wallet").getByRole("button").click();
  await refusal(shop);
  await until(() => shop.page.evaluate(() => window.sheets[0].said.some(([what]) => what === "abort")), "the sheet to close");
  await assertUnaltered(shop.frameOf());
  assert.equal(shop.orders().length, 0);
  await context.close();
});

test("a shopper who closes the sheet goes on as if nothing had been", async () => {
  const shop = await openWithWallet();
  await shop.pay.click();
  await shop.hearing(...VALIDATED);
  await shop.page.evaluate(() => window.sheets[0].oncancel());
  assert.deepEqual(await shop.ends(), []);
  await shop.pay.click();
  await until(async () => (await shop.said()).length === 2, "another sheet");
  await shop.page.evaluate(() => window.sheets[1].oncancel());
  await fill(shop);
  await shop.button().click();
  await endPanel(shop, "done");
  assert.equal(shop.orders().length, 1);
  assert.equal(await shop.page.evaluate(() => window.sheets.flatMap(({ said }) => said).some(([what]) => what === "completed" || what === "abort")), false);
  await shop.context.close();
});

test("no payment session closes the sheet, and the other methods are there", async () => {
  // The browser itself repeats a request whose connection breaks.
  for (const wallet of [[502], Array(50).fill("reset"), ["empty"]]) {
    const shop = await openWithWallet({ session: { faults: { wallet } } });
    await shop.pay.click();
    await shop.hearing(["begin"], ["abort"]);
    assert.deepEqual(await shop.ends(), []);
    await shop.payWith("banktransfer");
    await endPanel(shop, "done");
    await shop.context.close();
  }
});

test("a declined token fails the sheet, and the shopper pays with something else", async () => {
  const shop = await openWithWallet({ session: { faults: { token: [{ failed: "PAYMENT_DECLINED" }] } } });
  await shop.pay.click();
  await shop.hearing(...VALIDATED);
  await shop.confirm();
  await shop.hearing(...VALIDATED, ["completed", 1]);
  await shop.frame.getByText("The payment was declined").first().waitFor();
  assert.deepEqual(await shop.ends(), []);
  await shop.payWith("banktransfer");
  await endPanel(shop, "done");
  assert.deepEqual(await shop.ends(), [["success"]]);
  await shop.context.close();
});

test("a token that cannot be used, or a changed total, fails the sheet alone, and the next try pays what is shown", async () => {
  for (const open of ["card", "none"]) {
    const shop = await openWithWallet();
    if (open === "none") await shop.page.evaluate(() => window.instance.unselectPaymentMethod());
    await shop.pay.click();
    await shop.hearing(...VALIDATED);
    world.mock.change(shop.session, 31);
    await shop.confirm();
    await shop.hearing(...VALIDATED, ["completed", 1]);
    const notice = open === "card" ? shop.frame.locator(".notice") : shop.page.locator("#pay .root > .notice");
    await notice.waitFor();
    assert.match(await notice.innerText(), /from \$29\.90 to \$31\.00/);
    assert.deepEqual(await shop.ends(), []);
    await until(async () => (await shop.pay.getAttribute("aria-disabled")) === null, "the button to be ready");
    // The rest after a change holds for every button.
    await until(async () => (await shop.button().getAttribute("aria-disabled")) === null, "the form to be ready");
    await shop.pay.click();
    await until(async () => (await shop.said()).length === 2, "another sheet");
    assert.equal(await shop.page.evaluate(() => window.sheets[1].request.total.amount), "31.00");
    await shop.confirm();
    await endPanel(shop, "done");
    assert.equal(world.mock.entry(shop.session).paidAmount, 31);
    await shop.context.close();
  }
});

test("a payment that ends otherwise, or has to go on elsewhere, takes the sheet away", async () => {
  const shop = await openWithWallet();
  await fill(shop);
  await shop.pay.click();
  await shop.hearing(...VALIDATED);
  await shop.page.evaluate(() => window.instance.submitPayment());
  await endPanel(shop, "done");
  await shop.hearing(...VALIDATED, ["abort"]);
  await shop.context.close();
  const away = await openWithWallet({ session: { faults: { token: [{ State: "REDIRECTED", RedirectUrl: "https://bank.example/", Challenge: true }] } } });
  await away.pay.click();
  await away.hearing(...VALIDATED);
  await away.confirm();
  await away.hearing(...VALIDATED, ["abort"]);
  await away.context.close();
  const slow = await openWithWallet({ session: { slow: true } });
  await slow.pay.click();
  await slow.hearing(...VALIDATED);
  await slow.page.clock.install();
  await slow.confirm();
  await until(() => world.mock.entry(slow.session).payments === 1, "the payment");
  await slow.page.clock.fastForward(20_500);
  await slow.hearing(...VALIDATED, ["abort"]);
  world.mock.finish(slow.session);
  await endPanel(slow, "done");
  assert.deepEqual(await slow.ends(), [["success"]]);
  await slow.context.close();
});

test("ten clicks open one sheet, and while a payment is under way none opens", async () => {
  const shop = await openWithWallet({ session: { slow: true } });
  await shop.pay.click();
  await shop.pay.evaluate((button) => {
    for (let i = 0; i < 10; i++) button.click();
  });
  await shop.hearing(...VALIDATED);
  assert.equal((await shop.said()).length, 1);
  for (let i = 0; i < 3; i++) await shop.confirm();
  await until(() => world.mock.entry(shop.session).payments === 1, "the payment");
  world.mock.finish(shop.session);
  await endPanel(shop, "done");
  assert.equal(shop.orders().length, 1);
  await shop.context.close();
});

test("the button is in the shopper's language and in reach of the keyboard, first of all", async () => {
  const shop = await openWithWallet({ lang: "de", options: { hideSubmitButton: true } });
  assert.equal(await shop.pay.innerText(), "Mit Apple Pay bezahlen");
  await shop.page.keyboard.press("Tab");
  assert.equal(await shop.pay.evaluate((button) => button.getRootNode().activeElement === button), true);
  await shop.page.keyboard.press("Enter");
  await shop.hearing(...VALIDATED);
  await shop.context.close();
});

/** What Google's script brings to a page; `ready` is what it says of the shopper. */
function installGoogle(ready) {
  window.opened = [];
  const PaymentsClient = class {
    constructor(options) {
      window.environment = options.environment;
    }
    async isReadyToPay(request) {
      window.asked = request;
      if (ready === "throws") throw new Error("not in this browser");
      return { result: ready };
    }
    loadPaymentData(request) {
      if (!navigator.userActivation.isActive) throw new Error("not in a click");
      return new Promise((resolve, reject) => window.opened.push({ request, resolve, reject }));
    }
  };
  window.google = { payments: { api: { PaymentsClient } } };
}

const GOOGLE_TOKEN = { type: "CARD", description: "Visa •••• 4242", tokenizationData: { type: "PAYMENT_GATEWAY", token: "c2VhbGVk" } };

async function openWithGoogle({ ready = true, apple = false, session = {}, path } = {}) {
  const context = await world.browser.newContext({ viewport: { width: 1280, height: 900 } });
  if (ready !== null) await context.addInitScript(installGoogle, ready);
  if (apple) await context.addInitScript(installWallet, true);
  const loaded = [];
  await context.route("https://pay.google.com/**", (route) => {
    loaded.push(route.request().url());
    return route.fulfill({ contentType: "text/javascript", body: `(${installGoogle})(true);` });
  });
  const shop = await openShop({ session: world.mock.session({ others: true, wallet: "google", Sandbox: true, ...session }), context, path });
  shop.loaded = loaded;
  shop.google = shop.page.locator("#pay .wallet .googlepay");
  shop.opened = () => shop.page.evaluate(() => window.opened.map(({ request }) => request));
  return shop;
}

for (const path of ["/", "/strict", "/fortress"]) {
  test(`a payment by Google Pay on ${path}: its sheet, the token to the stash, one onSuccess, and no script of Google's in a sandbox`, async () => {
    const shop = await openWithGoogle({ path });
    await shop.google.waitFor();
    assert.equal(await shop.google.innerText(), "Pay with Google Pay");
    assert.equal(await shop.page.locator("#pay .wallet .applepay").isVisible(), false, "this browser has no Apple Pay");
    const card = { type: "CARD", parameters: { allowedAuthMethods: ["CRYPTOGRAM_3DS"], allowedCardNetworks: ["VISA", "MASTERCARD"] } };
    assert.deepEqual(await shop.page.evaluate(() => [window.environment, window.asked]), ["TEST", { apiVersion: 2, apiVersionMinor: 0, allowedPaymentMethods: [card] }]);
    await shop.google.click();
    await shop.google.click();
    assert.deepEqual(await shop.opened(), [{
      apiVersion: 2, apiVersionMinor: 0,
      allowedPaymentMethods: [{ ...card, tokenizationSpecification: { type: "PAYMENT_GATEWAY", parameters: { gateway: "example", gatewayMerchantId: "shop-17" } } }],
      merchantInfo: { merchantName: "Fern & Fjord" },
      transactionInfo: { totalPriceStatus: "FINAL", totalPrice: "29.90", currencyCode: "USD", countryCode: "NL" },
    }], "one sheet");
    assert.equal(shop.orders().length, 0);
    await shop.page.evaluate((paymentMethodData) => window.opened[0].resolve({ paymentMethodData }), GOOGLE_TOKEN);
    await endPanel(shop, "done");
    const [order, ...more] = shop.orders();
    assert.deepEqual(more, []);
    const form = new URLSearchParams(world.mock.calls("POST", `/${order.StashId}`)[0].body);
    assert.deepEqual(JSON.parse(form.get("token_data")), { Type: "GOOGLEPAY", Data: GOOGLE_TOKEN });
    assert.deepEqual(await shop.ends(), [["success"]]);
    assert.deepEqual([shop.loaded, shop.problems], [[], []]);
    await shop.context.close();
  });
}

test("a closed sheet of Google Pay leaves everything as it was, and a declined token opens the methods again", async () => {
  const shop = await openWithGoogle({ session: { faults: { token: [{ failed: "PAYMENT_DECLINED" }] } } });
  await shop.google.click();
  await until(async () => (await shop.opened()).length === 1, "the sheet");
  await shop.page.evaluate(() => window.opened[0].reject({ statusCode: "CANCELED" }));
  await shop.google.click();
  await until(async () => (await shop.opened()).length === 2, "the sheet again");
  await shop.page.evaluate((paymentMethodData) => window.opened[1].resolve({ paymentMethodData }), GOOGLE_TOKEN);
  await until(async () => /declined/.test(await shop.said()), "the refusal");
  await until(async () => (await shop.google.getAttribute("aria-disabled")) === null, "the button to work again");
  assert.equal(world.mock.entry(shop.session).payments, 1);
  await shop.context.close();
});

test("a sheet of Google Pay that was open while the total changed pays nothing, and the next one shows the new total", async () => {
  const shop = await openWithGoogle();
  await shop.google.click();
  await until(async () => (await shop.opened()).length === 1, "the sheet");
  world.mock.change(shop.session, 34.9);
  await shop.method("banktransfer").click();
  await shop.payBy("banktransfer").click();
  await shop.panel("banktransfer").locator(".notice").waitFor();
  await shop.page.evaluate((paymentMethodData) => window.opened[0].resolve({ paymentMethodData }), GOOGLE_TOKEN);
  await until(async () => (await shop.payBy("banktransfer").getAttribute("aria-disabled")) === null, "the buttons to work again");
  await shop.google.click();
  await until(async () => (await shop.opened()).length === 2, "the next sheet");
  assert.equal((await shop.opened())[1].transactionInfo.totalPrice, "34.90");
  assert.deepEqual([shop.orders().length, world.mock.entry(shop.session).payments], [1, 0], "only the bank transfer was asked for, and refused");
  await shop.page.evaluate((paymentMethodData) => window.opened[1].resolve({ paymentMethodData }), GOOGLE_TOKEN);
  await endPanel(shop, "done");
  assert.equal(world.mock.entry(shop.session).paidAmount, 34.9);
  await shop.context.close();
});

test("Google's script is loaded where money moves, once", lacks("tlsProxy"), async () => {
  const live = await openWithGoogle({ ready: null, session: { Sandbox: false } });
  await live.google.waitFor();
  world.mock.change(live.session, 31);
  await live.page.evaluate(() => window.instance.unselectPaymentMethod());
  assert.deepEqual(live.loaded, ["https://pay.google.com/gp/p/js/pay.js"]);
  await live.context.close();
});

test("there is no button where Google's script does not come or cannot pay", async () => {
  for (const [what, given] of Object.entries({
    "a page whose policy has no pay.google.com": { ready: null, session: { Sandbox: false }, path: "/strict" },
    "a page that requires Trusted Types": { ready: null, session: { Sandbox: false }, path: "/fortress" },
    "a shopper without the wallet": { ready: false },
    "a browser that it does not know": { ready: "throws" },
    "a sandbox whose page brings nothing": { ready: null },
  })) {
    const shop = await openWithGoogle(given);
    await fill(shop);
    assert.equal(await shop.page.locator("#pay .wallet:not([hidden])").count(), 0, what);
    assert.deepEqual(shop.loaded, [], what);
    await shop.button().click();
    await endPanel(shop, "done");
    await shop.context.close();
  }
});

test("both wallets stand above the methods, Apple Pay first, with one line below them", async () => {
  const shop = await openWithGoogle({ apple: true });
  await shop.google.waitFor();
  assert.deepEqual(await shop.page.locator("#pay .wallet button").allInnerTexts(), ["Pay with Apple Pay", "Pay with Google Pay"]);
  assert.equal(await shop.page.locator("#pay .wallet .or").count(), 1);
  await shop.page.locator("#pay .wallet .applepay").click();
  await until(async () => (await shop.page.evaluate(() => window.sheets.length)) === 1, "Apple's sheet");
  await shop.context.close();
});
