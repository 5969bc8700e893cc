// What visitors of the demo shop do. Everything is waited for; nothing sleeps a fixed time.

const LIMIT = 40_000;

/** A page of the shop in `context`; what its console complains of is kept in `problems`. */
async function visit(context, problems) {
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  return page;
}

async function fillCard(page, number, place = "#dropin") {
  const card = page.frameLocator(`${place} iframe`);
  for (const [field, value] of [["number", number], ["expiry", "1231"], ["code", "123"], ["name", "Ada Lovelace"]]) {
    await card.locator(`#${field}`).fill(value);
  }
  return card.locator("form .pay");
}

/** Puts a thing of the shelf, the first if none is named, into the basket and checks out; the SessionId. */
async function checkOut(page, shop, thing = "mug") {
  await page.goto(shop);
  await page.locator(`#view .thing[data-thing="${thing}"] button`).click();
  await page.locator(".basket-link").click();
  await page.locator("#checkout").click();
  await page.waitForURL(/\/pay\?session=/);
  return sessionOf(page);
}

const sessionOf = (page) => new URL(page.url()).searchParams.get("session");
const amountOf = async (page) => (await page.locator("#amount").innerText()).replace(/\u00a0/g, " ");
const pathOf = (page) => new URL(page.url()).pathname + new URL(page.url()).hash;

/** The types of one payment's notifications, newest first. A payment has three; the page asks for them after it has loaded. */
async function eventsOf(page, session) {
  const events = page.locator(`#stream [data-payment="${session}"] .event-type`);
  await events.nth(2).waitFor();
  return events.allInnerTexts();
}

/** A visitor of the demo shop: picks a thing, pays it in the drop-in, and watches the Order and its notifications arrive. */
export async function shop(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport, colorScheme: input.scheme ?? "light" });
  const problems = [];
  const page = await visit(context, problems);
  const picture = async (name) => input.pictures && page.screenshot({ path: `${input.pictures}/${name}.png` });
  await page.goto(input.shop);
  await page.locator("#view button").first().click();
  await picture("shelf");
  await page.locator(".basket-link").click();
  if (input.shipLater) await page.locator("input[name=charge]").nth(1).check();
  await page.locator("#checkout").click();
  const pay = await fillCard(page, input.number);
  await picture("payment");
  await pay.click();
  await page.locator("#stream .event").nth(input.events - 1).waitFor();
  if (input.shipLater) {
    await picture("authorized");
    await page.getByRole("button", { name: /ship/i }).first().click();
    await page.locator("#stream .event").nth(input.events).waitFor();
  }
  // The panel reads the Session again whenever a notification has arrived.
  await page.locator("#payment-panel", { hasText: "COMPLETED" }).waitFor();
  await picture("paid");
  return { problems, stream: await page.locator("#stream").innerText(), panel: await page.locator("#payment-panel").innerText() };
}

/** A visitor who tries how the payment form may look, and pays in it. */
export async function looks(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport, colorScheme: "light" });
  const problems = [];
  const page = await visit(context, problems);
  await page.goto(new URL("/appearance", input.shop).href);
  const pay = await fillCard(page, input.number, "#payment");
  await page.getByLabel("Night").check();
  await page.locator("#payment .root[data-scheme=dark]").waitFor();
  await page.getByLabel("--button--border-radius").fill("3px");
  await page.frameLocator("#payment iframe").locator("html[style*='--button--border-radius: 3px']").waitFor();
  const code = await page.locator("#code").innerText();
  await pay.click();
  await page.locator("#payment .end.done").waitFor();
  return { problems, code };
}

/** A visitor of the demo shop who looks at prices elsewhere, pays with the simulated wallet, and then at a bank at home. */
export async function tour(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  await page.goto(input.shop);
  const price = page.locator("#view .price").first();
  await price.waitFor();
  const prices = { currencies: await page.locator("#currency option").count() };
  for (const [currency, shown] of [["EUR", "€"], ["JPY", "¥"], ["KWD", "KWD"]]) {
    await page.locator("#currency").selectOption(currency);
    await page.locator("#view .price", { hasText: shown }).first().waitFor();
    prices[currency] = (await price.innerText()).replace(/\u00a0/g, " ");
  }
  await page.locator("#country").selectOption("US");
  await page.locator("#view .price", { hasText: "US$" }).first().waitFor();
  await page.locator("#view button").first().click();
  await page.locator(".basket-link").click();
  const message = page.locator("#view pay-later-placement .message");
  await message.waitFor();
  const later = await message.innerText();
  await page.locator("#questions pay-later-placement button").click();
  await page.getByRole("dialog", { name: "How paying later works" }).getByRole("button", { name: "Close" }).click();
  await page.locator("#wallet-switch").check();
  await page.locator("#checkout").click();
  await page.locator("#dropin .wallet .applepay").click();
  await page.locator(".sheet .primary:not([aria-disabled])").click();
  await page.locator(".thanks.paid").waitFor();
  const paid = [await page.locator(".sums .grand dd").innerText()];
  await page.locator("#view a", { hasText: "Back to the shelf" }).click();
  await page.locator("#country").selectOption("NL");
  await page.locator("#view .price", { hasText: "€" }).first().waitFor();
  await page.locator("#view button").first().click();
  await page.locator(".basket-link").click();
  await page.locator("#checkout").click();
  await page.locator("#dropin #ideal").click();
  await page.locator("#dropin #ideal-panel .pay").click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.waitForURL(/\/paid\?session=/);
  await page.locator(".thanks.paid").waitFor();
  paid.push(await page.locator(".sums .grand dd").innerText());
  return { problems, prices, later, paid };
}

/** Reload at every step, and Back after paying: one Session, and the shelf at the end. */
export async function backAndReload(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  const sessions = [await checkOut(page, input.shop)];
  await page.reload();
  const pay = await fillCard(page, input.number);
  sessions.push(sessionOf(page));
  // Back to the basket, another piece, and on: the same Session with another total.
  const before = await amountOf(page);
  await page.goBack();
  await page.locator("[aria-label^='One more']").click();
  await page.locator("#checkout").click();
  await page.waitForURL(/\/pay\?session=/);
  sessions.push(sessionOf(page));
  const amounts = [before, await amountOf(page)];
  await (await fillCard(page, input.number)).click();
  await page.locator(".thanks.paid").waitFor();
  await page.reload();
  await page.locator(".thanks.paid").waitFor();
  sessions.push(sessionOf(page));
  await page.goBack();
  await page.locator(".shelf").waitFor();
  const back = { path: pathOf(page), count: await page.locator("#count").innerText() };
  // The payment's old address, typed or from the history: no form.
  await page.goto(`${input.shop}/pay?session=${sessions[0]}`);
  await page.locator(".shelf").waitFor();
  const events = (await eventsOf(page, sessions[0])).length;
  return { problems, sessions, amounts, back, typed: pathOf(page), events };
}

/** Two tabs of one browser, one cart: one Session, paid once, and both say so. */
export async function twoTabs(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const [first, second] = [await visit(context, problems), await visit(context, problems)];
  const sessions = [await checkOut(first, input.shop)];
  await second.goto(`${input.shop}/#basket`);
  await second.locator("#checkout").click();
  await second.waitForURL(/\/pay\?session=/);
  sessions.push(sessionOf(second));
  await fillCard(second, input.number);
  await (await fillCard(first, input.number)).click();
  for (const page of [first, second]) await page.locator(".thanks.paid").waitFor();
  sessions.push(sessionOf(first), sessionOf(second));
  const events = (await eventsOf(first, sessions[0])).length;
  return { problems, sessions, events, counts: [await first.locator("#count").innerText(), await second.locator("#count").innerText()] };
}

/** Another country while the drop-in is open: the same Session with that country's methods; then a bank's page, and Back from the end of it. */
export async function countryWhilePaying(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  const sessions = [await checkOut(page, input.shop)];
  await page.locator("#dropin #paypal").waitFor();
  const before = await page.locator("#dropin #ideal").count();
  await page.locator("#country").selectOption("NL");
  await page.locator("#dropin #ideal").click();
  sessions.push(sessionOf(page));
  await page.locator("#dropin #ideal-panel .pay").click();
  const bank = page.getByRole("button", { name: "Pay", exact: true });
  await bank.waitFor();
  // The shop in another tab, while the shopper is at the bank: nothing to change there.
  const other = await visit(context, problems);
  await other.goto(`${input.shop}/pay?session=${sessions[0]}`);
  await other.locator("#dropin").waitFor();
  const locked = await other.locator("#country").isDisabled();
  await other.close();
  await bank.click();
  await page.locator(".thanks.paid").waitFor();
  sessions.push(sessionOf(page));
  // Past the bank's page to where the drop-in was.
  for (let i = 0; i < 4 && pathOf(page) !== "/"; i += 1) await page.goBack().catch(() => {});
  await page.locator(".shelf").waitFor();
  return { problems, sessions, before, locked, back: pathOf(page) };
}

/** Leaves the drop-in for the page of the wallet. */
async function payElsewhere(page) {
  await page.locator("#dropin #paypal").click();
  await page.locator("#dropin #paypal-panel .pay").click();
}

/** The shopper cancels on the provider's page and is back at the drop-in of the same Session, which says so; then pays by card there. */
export async function cancelElsewhere(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  const sessions = [await checkOut(page, input.shop)];
  await payElsewhere(page);
  await page.getByRole("button", { name: "Cancel and go back", exact: true }).click();
  await page.waitForURL(/\/pay\?session=/);
  sessions.push(sessionOf(page));
  await page.locator("#payment-panel", { hasText: "CANCELLED_BY_SHOPPER" }).waitFor();
  const form = page.frameLocator("#dropin iframe");
  await form.locator("#number").waitFor();
  const said = await form.locator("body").innerText();
  await (await fillCard(page, input.declined)).click();
  await page.locator("#payment-panel", { hasText: "INSUFFICIENT_FUNDS" }).waitFor();
  const tries = await page.locator("#payment-panel .facts").first().innerText();
  await (await fillCard(page, input.number)).click();
  await page.locator(".thanks.paid").waitFor();
  sessions.push(sessionOf(page));
  const events = await eventsOf(page, sessions[0]);
  return { problems, sessions, said, tries, events };
}

/**
 * The drop-in cannot be shown while a payment waits elsewhere; and in the end the last try has failed. What the shop offers each time, and which Session
 * that leads to.
 */
export async function afterFailure(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  const sessions = [await checkOut(page, input.shop)];
  await payElsewhere(page);
  await page.getByRole("button", { name: "Cancel and go back", exact: true }).waitFor();
  await context.route("**/frame.html*", (route) => route.abort());
  await page.goto(`${input.shop}/pay?session=${sessions[0]}`);
  const retry = page.locator(".retry button");
  await retry.waitFor();
  const offered = [await retry.innerText()];
  await context.unroute("**/frame.html*");
  await retry.click();
  await page.locator("#dropin").getByRole("button", { name: "Pay another way" }).click();
  sessions.push(sessionOf(page));
  const code = page.frameLocator("#dropin iframe").locator("#code");
  for (let left = 4; left > 0; left -= 1) {
    await (await fillCard(page, input.declined)).click();
    // The code is typed anew for each try, and gone with the form after the last.
    while (left > 1 && (await code.inputValue()) !== "") await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  await retry.waitFor();
  offered.push(await retry.innerText());
  await retry.click();
  await page.waitForURL((url) => url.searchParams.get("session") !== sessions[0]);
  sessions.push(sessionOf(page));
  // The blocked frame is told of twice: by the browser, and by the drop-in.
  const others = problems.filter((problem) => !/^Dropin: SCRIPT_BLOCKED|net::ERR_FAILED/.test(problem));
  return { problems: others, sessions, offered };
}

/** A bank transfer: the shop's last page says where to send the money, also after a reload. */
export async function transferInShop(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  const session = await checkOut(page, input.shop);
  await page.locator("#dropin #banktransfer").click();
  await page.locator("#dropin #banktransfer-panel .pay").click();
  await page.locator("#dropin").getByRole("button", { name: "Continue", exact: true }).click();
  await page.locator(".thanks.transfer").waitFor();
  await page.reload();
  const details = await page.locator(".bank dl").innerText();
  return { problems, session, details, title: await page.locator(".thanks h1").innerText() };
}

/** A card that is held for a review: the shop's last page says so, and names the command that decides. */
export async function heldInShop(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  await checkOut(page, input.shop);
  await (await fillCard(page, input.held)).click();
  await page.locator(".thanks.review").waitFor();
  return { problems, title: await page.locator(".thanks h1").innerText(), command: await page.locator(".bank code").innerText() };
}

/** A subscription: the shopper agrees and pays the first month; behind the counter the next one is charged by a double click, and the subscription ended. */
export async function subscription(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  const picture = async (name) => input.pictures && page.screenshot({ path: `${input.pictures}/${name}-${input.viewport.width}.png`, fullPage: true });
  await page.goto(input.shop);
  const price = await page.locator("[data-thing=teabox] .price").innerText();
  await picture("shelf");
  const session = await checkOut(page, input.shop, "teabox");
  const pay = await fillCard(page, input.number);
  const agreement = await page.frameLocator("#dropin iframe").locator("#agreement").innerText();
  const methods = await page.locator("#dropin #paypal").count();
  await picture("agree");
  await pay.click();
  await page.locator(".thanks.paid").waitFor();
  const panel = page.locator("#subscription");
  await panel.locator("#charge:not([aria-disabled])").dblclick();
  // From the notification of the charge, which has no Session.
  const charges = panel.locator(".charge");
  await charges.filter({ hasText: "paid" }).waitFor();
  const charged = await charges.allInnerTexts();
  await picture("charged");
  await page.reload();
  await panel.locator("#end:not([aria-disabled])").click();
  await page.locator("#payment-panel", { hasText: "The subscription is ended. CONTRACT_CLOSED follows" }).waitFor();
  await page.locator(`#stream [data-payment="${session}"] .event-type`, { hasText: "CONTRACT_CLOSED" }).waitFor();
  await panel.locator("button:not(.copy)").first().waitFor({ state: "detached" });
  await picture("ended");
  const events = await page.locator(`#stream [data-payment="${session}"] .event-type`).allInnerTexts();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  return { problems, price, agreement, methods, charged, ended: await panel.innerText(), later: await charges.count(), events, wide };
}

/** A customer who comes back: saves the card with the first purchase, pays the second with it by its code alone, and removes it before the third. */
export async function returning(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  const picture = async (name) => input.pictures && page.screenshot({ path: `${input.pictures}/${name}-${input.viewport.width}.png`, fullPage: true });
  const dropin = page.frameLocator("#dropin iframe");
  const open = dropin.locator(".entry:has([aria-expanded=true])");
  const paid = async () => {
    await page.locator(".thanks.paid").waitFor();
    return page.locator("#view").innerText();
  };
  const first = await checkOut(page, input.shop);
  const pay = await fillCard(page, input.number);
  await dropin.getByRole("checkbox", { name: "Save this card for next time" }).check();
  await picture("save");
  await pay.click();
  const saved = await paid();
  await checkOut(page, input.shop);
  const offered = await open.locator(".toggle").innerText();
  await picture("saved");
  await open.getByLabel("Security code").fill("123");
  await open.locator(".pay").click();
  const again = await paid();
  await checkOut(page, input.shop);
  await open.getByRole("button", { name: "Remove card" }).click();
  await open.getByRole("group", { name: "Remove this card?" }).getByRole("button", { name: /^Remove/ }).click();
  await page.locator(`#stream [data-payment="${first}"] .event-type`, { hasText: "CONTRACT_CLOSED" }).waitFor();
  await fillCard(page, input.number);
  await open.locator(".pay").click();
  const last = await paid();
  return { problems, saved, offered, again, last, panels: await page.locator("#subscription").count() };
}

/** What stands in view after a payment, without scrolling; whether anything is wider than the window; and the test cards. */
export async function inView(browser, input) {
  const seen = [];
  for (const viewport of input.viewports) {
    const context = await browser.newContext({ viewport });
    const problems = [];
    const page = await visit(context, problems);
    const isWide = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    const picture = async (name) => input.pictures && page.screenshot({ path: `${input.pictures}/${name}-${viewport.width}.png` });
    await checkOut(page, input.shop);
    await (await fillCard(page, input.number)).waitFor();
    await picture("pay");
    const wide = [await isWide()];
    const cards = await page.locator("#cards .card code").allInnerTexts();
    await page.frameLocator("#dropin iframe").locator("form .pay").click();
    await page.locator(".thanks.paid").waitFor();
    await page.locator("#stream .event").nth(2).waitFor();
    const visible = await page.locator("#stream .group").first().locator(".event").evaluateAll((events) =>
      events.map((event) => {
        const box = event.getBoundingClientRect();
        const panel = document.getElementById("stream-panel").getBoundingClientRect();
        return box.top >= panel.top && box.bottom <= Math.min(panel.bottom, innerHeight);
      }),
    );
    await picture("paid");
    wide.push(await isWide());
    seen.push({ problems, visible, wide, cards });
    await context.close();
  }
  return seen;
}

/** The shop of docs/INTEGRATION.md: reload, Back, a second tab, another press on "Buy", and Back from the end. */
export async function sample(browser, input) {
  const context = await browser.newContext();
  const problems = [];
  const sessions = [];
  await context.route("**/api/checkout", async (route) => {
    const response = await route.fetch();
    sessions.push((await response.json()).SessionId);
    await route.fulfill({ response }).catch(() => {});
  });
  const fill = async (page) => {
    const card = page.frameLocator("#payment iframe");
    for (const [field, value] of [["number", input.number], ["expiry", "1231"], ["code", "123"], ["name", "Ada Lovelace"]]) {
      await card.locator(`#${field}`).fill(value);
    }
    return card.locator("form .pay");
  };
  const [page, other] = [await visit(context, problems), await visit(context, problems)];
  await page.goto(input.shop);
  await page.locator("#next").click();
  await fill(page);
  await page.reload();
  await fill(page);
  await page.goBack();
  await page.locator("#next", { hasText: "Buy" }).click();
  await other.goto(`${input.shop}/pay`);
  await fill(other);
  await (await fill(page)).click();
  const paid = (of) => of.locator("#text", { hasText: "Paid." });
  await paid(page).waitFor();
  // The second tab stands at a form of a Session that is over by now: whatever it does, it gets the same answer.
  await other.reload();
  await paid(other).waitFor();
  const texts = [await page.locator("#text").innerText(), await other.locator("#text").innerText()];
  const all = [...sessions];
  await page.goBack();
  await page.locator("#next", { hasText: "Buy" }).waitFor();
  const back = new URL(page.url()).pathname;
  await page.locator("#next").click();
  await fill(page);
  return { problems, sessions: all, texts, back, next: sessions.at(-1) };
}

const bankOf = async (page) => {
  await page.locator("#bank li", { hasText: "Iban" }).waitFor();
  return { text: await page.locator("#text").innerText(), bank: await page.locator("#bank").innerText() };
};

/** The shop of docs/INTEGRATION.md, paid by bank transfer: its last page shows the account, also when the next notebook is being bought. */
export async function sampleTransfer(browser, input) {
  const context = await browser.newContext();
  const problems = [];
  const [page, other] = [await visit(context, problems), await visit(context, problems)];
  await page.goto(input.shop);
  await page.locator("#next").click();
  await page.locator("#payment #banktransfer").click();
  await page.locator("#payment #banktransfer-panel .pay").click();
  await page.locator("#payment").getByRole("button", { name: "Continue", exact: true }).click();
  const seen = [await bankOf(page)];
  const session = sessionOf(page);
  await page.reload();
  seen.push(await bankOf(page));
  await other.goto(input.shop);
  const made = other.waitForResponse((response) => response.url().endsWith("/api/checkout"));
  await other.locator("#next", { hasText: "Buy" }).click();
  const next = (await (await made).json()).SessionId;
  await other.frameLocator("#payment iframe").locator("#number").waitFor();
  await page.reload();
  seen.push(await bankOf(page));
  return { problems, session, seen, next, path: new URL(page.url()).pathname };
}

/** Its last page once an Order has ended: what it says, whether the account is still there, and how often it asks in the two minutes after. */
export async function sampleEnd(browser, input) {
  const context = await browser.newContext();
  const problems = [];
  const page = await visit(context, problems);
  await page.clock.install();
  await page.goto(`${input.shop}/thanks?session=${input.session}`);
  const text = page.locator("#text");
  for (;;) {
    await page.locator("#text:not(:empty)").waitFor();
    if ((await text.innerText()).startsWith(input.text)) break;
    await page.reload();
  }
  let asked = 0;
  page.on("request", (request) => (asked += request.url().includes("/api/") ? 1 : 0));
  await page.clock.fastForward(120_000);
  await page.evaluate(() => fetch("/"));
  return { problems, text: await text.innerText(), bank: await page.locator("#bank").innerText(), asked };
}

/** Its payment page without dropin.js, and without its server: the shopper reads what happened, and may try again. */
export async function sampleTroubles(browser, input) {
  const context = await browser.newContext();
  const seen = [];
  for (const missing of ["**/dropin.js", "**/api/checkout"]) {
    const page = await visit(context, []);
    await page.goto(input.shop);
    await page.route(missing, (route) => route.abort());
    await page.locator("#next").click();
    await page.locator("#next", { hasText: "Try again" }).waitFor();
    seen.push(await page.locator("#text").innerText());
    await page.unroute(missing);
    await page.locator("#next").click();
    await page.frameLocator("#payment iframe").locator("#number").waitFor();
  }
  return seen;
}

/** A shopper who chooses other languages for the payment form, one after another; what the form says, and how it runs. The choice stays. */
export async function languages(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  const session = await checkOut(page, input.shop);
  const form = page.frameLocator("#dropin iframe");
  const seen = [];
  const look = async () => {
    await form.locator("#number").waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    const [lang, dir, label] = await form.locator("html").evaluate((root) => [root.lang, root.dir, document.querySelector(".number label").innerText]);
    seen.push({ lang, dir, label, wide });
  };
  for (const tag of input.tags) {
    const old = await page.locator("#dropin iframe").elementHandle();
    await page.locator("#language").selectOption(tag);
    await old.waitForElementState("hidden");
    await look();
  }
  await page.reload();
  await look();
  const own = await page.locator("#language option").evaluateAll((options) => options.map((option) => option.textContent));
  return { problems, session, seen, own };
}
