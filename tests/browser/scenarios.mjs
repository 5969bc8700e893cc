// What shoppers do, on a merchant's page with the drop-in. Everything is waited for; nothing sleeps a fixed time.

const LIMIT = 40_000;

/** Opens the merchant's page for a Session; its callbacks are kept in `heard`. */
async function open(context, { page: address, session }) {
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  page.problems = [];
  page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  await page.goto(`${address}?session=${session}`);
  return page;
}

const frame = (page) => page.frameLocator("#pay iframe");
const button = (page) => frame(page).locator("form .pay");

async function fill(page, number) {
  for (const [field, value] of [["number", number], ["expiry", "1231"], ["code", "123"], ["name", "Ada Lovelace"]]) {
    await frame(page).locator(`#${field}`).fill(value);
  }
}

/** Waits until a final callback was heard. */
async function ended(page) {
  await page.waitForFunction(() => window.heard.some(([kind]) => kind !== "enabled"), undefined, { timeout: LIMIT });
  return { heard: await ends(page), problems: page.problems };
}

async function ends(page) {
  return page.evaluate(() => window.heard.filter(([kind]) => kind !== "enabled"));
}

export async function pay(browser, input) {
  const page = await open(await browser.newContext(), input);
  await fill(page, input.number);
  const label = await button(page).innerText();
  await button(page).click();
  return { label, ...(await ended(page)) };
}

/** Ten clicks as fast as they come, and submitPayment() from the page beside them. */
export async function clicks(browser, input) {
  const page = await open(await browser.newContext(), input);
  await fill(page, input.number);
  await button(page).evaluate((element) => {
    for (let i = 0; i < 10; i += 1) element.click();
  });
  await page.evaluate(() => {
    for (let i = 0; i < 10; i += 1) window.instance.submitPayment();
  });
  return ended(page);
}

/** The same Session in two browsers that know nothing of each other. */
export async function tabs(browser, input) {
  const pages = await Promise.all([0, 1].map(async () => open(await browser.newContext(), input)));
  for (const page of pages) await fill(page, input.number);
  await Promise.all(pages.map((page) => button(page).click()));
  return Promise.all(pages.map(ended));
}

/** Waits until the service has the payment. */
async function begun({ progress }) {
  while ((await (await fetch(progress)).json()).State === "CREATED") await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Reloads the page while the payment is under way. */
export async function reload(browser, input) {
  const page = await open(await browser.newContext(), input);
  await fill(page, input.number);
  const sent = page.waitForRequest((request) => request.url().endsWith("/submit"));
  await button(page).click();
  await sent;
  await begun(input);
  await page.reload();
  return ended(page);
}

/** The merchant replaces the Session after it was shown; the shopper pays the new total or nothing. */
export async function changed(browser, input) {
  const page = await open(await browser.newContext(), input);
  await fill(page, input.number);
  const before = await button(page).innerText();
  const answer = await fetch(input.put.url, {
    method: "PUT",
    headers: { authorization: input.put.authorization, "content-type": "application/json" },
    body: JSON.stringify(input.put.body),
  });
  if (answer.status !== 200) throw new Error(`PUT answered ${answer.status}: ${await answer.text()}`);
  await button(page).click();
  await frame(page).locator("form .pay", { hasText: input.newAmount }).waitFor();
  const between = { label: await button(page).innerText(), heard: await ends(page) };
  await fill(page, input.number);
  // The button rests for a moment after a change, so that a double click cannot confirm a total that nobody has read.
  await frame(page).locator("form .pay:not([aria-disabled=true])").waitFor();
  await button(page).click();
  return { before, between, ...(await ended(page)) };
}

/** The shopper's browser dies while the payment is under way. */
export async function gone(browser, input) {
  const context = await browser.newContext();
  const page = await open(context, input);
  await fill(page, input.number);
  await button(page).click();
  await begun(input);
  await context.close();
  return {};
}

/** The card's bank asks in the dialog who pays; `press` is the button of its page. */
export async function challenge(browser, input) {
  const page = await open(await browser.newContext(), input);
  await fill(page, input.number);
  await button(page).click();
  const bank = page.frameLocator("#pay dialog iframe").frameLocator("iframe");
  await bank.getByRole("button", { name: input.press }).click();
  const seen = await ended(page);
  await page.locator("#pay dialog").waitFor({ state: "hidden" });
  return seen;
}

/**
 * Methods whose page takes the place of the shop's, one shopper after another; `press` is the button of that page. The shop's own pages
 * are not there: that the browser asks for them is enough.
 */
export async function away(browser, input) {
  const seen = [];
  for (const step of input.shoppers) {
    const context = await browser.newContext();
    const page = await open(context, step);
    const key = step.method.toLowerCase();
    await page.locator(`#pay #${key}`).click();
    await page.locator(`#pay #${key}-panel .pay`).click();
    const back = page.waitForRequest((request) => request.isNavigationRequest() && request.url().startsWith("https://shop.example/"), { timeout: LIMIT });
    // Nothing is there, so the way ends with an error of the browser's.
    const problems = [...page.problems];
    await page.getByRole("button", { name: step.press, exact: true }).click({ noWaitAfter: true });
    seen.push({ end: (await back).url(), problems });
    await context.close();
  }
  return seen;
}

/** A bank transfer: the shopper is told where to send the money, and is done. */
export async function transfer(browser, input) {
  const page = await open(await browser.newContext(), input);
  await page.locator("#pay #banktransfer").click();
  await page.locator("#pay #banktransfer-panel .pay").click();
  const seen = await ended(page);
  return { details: await page.locator("#pay dl").innerText(), ...seen };
}

/** A visitor of the demo shop: picks a thing, pays it in the drop-in, and watches the Order and its notifications arrive. */
export async function shop(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport, colorScheme: input.scheme ?? "light" });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  const picture = async (name) => input.pictures && page.screenshot({ path: `${input.pictures}/${name}.png` });
  await page.goto(input.shop);
  await page.locator("#view button").first().click();
  await picture("shelf");
  await page.locator(".basket-link").click();
  if (input.shipLater) await page.locator("input[name=charge]").nth(1).check();
  await page.locator("#checkout").click();
  const card = page.frameLocator("#dropin iframe");
  for (const [field, value] of [["number", input.number], ["expiry", "1231"], ["code", "123"], ["name", "Ada Lovelace"]]) {
    await card.locator(`#${field}`).fill(value);
  }
  await picture("payment");
  await card.locator("form .pay").click();
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

/** A visitor of the demo shop who looks at prices elsewhere, pays with the simulated wallet, and then at a bank at home. */
export async function tour(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
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
  await page.locator("#dropin .wallet button").click();
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
