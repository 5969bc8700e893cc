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

const frame = (page) => page.frameLocator("#pay .body iframe");
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

/** A subscription: what is agreed to is read before the button is pressed. */
export async function subscribe(browser, input) {
  const page = await open(await browser.newContext({ locale: "en-US" }), input);
  await fill(page, input.number);
  const agreement = await frame(page).locator("#agreement").innerText();
  const label = await button(page).innerText();
  const described = await button(page).evaluate((element) => document.getElementById(element.getAttribute("aria-describedby")).innerText);
  await button(page).click();
  return { label, agreement, described, ...(await ended(page)) };
}

/** The bank's page in the dialog says yes, where it is asked for. */
async function confirm(page, input) {
  if (input.challenged) await page.frameLocator("#pay dialog iframe").frameLocator("iframe").getByRole("button", { name: "Succeed" }).click();
}

/** A shopper who is asked whether the card is to be saved; `tick` is the answer. */
export async function save(browser, input) {
  const page = await open(await browser.newContext({ locale: "en-US" }), input);
  await fill(page, input.number);
  const box = frame(page).getByRole("checkbox", { name: "Save this card for next time" });
  const ticked = await box.isChecked();
  const described = await box.evaluate((element) => document.getElementById(element.getAttribute("aria-describedby")).innerText);
  if (input.tick) await box.check();
  await button(page).click();
  await confirm(page, input);
  return { ticked, described, ...(await ended(page)) };
}

/** The names of what cards there are to choose from, and of the one that is open. */
async function cards(page) {
  await page.locator("#pay .root:not(.loading)").waitFor();
  const toggles = frame(page).locator(".accordion .toggle");
  const nameOf = (all) => all.map((one) => (one.querySelector("[aria-hidden=true]:not(svg)") ?? one).innerText);
  const open = frame(page).locator(".accordion .toggle[aria-expanded=true]");
  return { names: await toggles.evaluateAll(nameOf), open: await open.evaluateAll(nameOf) };
}

const openForm = (page) => frame(page).locator(".entry:has([aria-expanded=true])");

/** A returning shopper pays with the saved card that is open by its code; without `code` the shopper only looks. */
export async function returns(browser, input) {
  const page = await open(await browser.newContext({ locale: "en-US", viewport: input.viewport }), input);
  const seen = { ...(await cards(page)), removable: await openForm(page).getByRole("button", { name: "Remove card" }).isVisible() };
  if (input.code === undefined) return { ...seen, problems: page.problems };
  await openForm(page).getByLabel("Security code").fill(input.code);
  await openForm(page).locator(".pay").click();
  await confirm(page, input);
  return { ...seen, ...(await ended(page)), paid: await page.evaluate(() => window.paid) };
}

/** A returning shopper removes the saved card that is open by keyboard, and pays with another one. */
export async function removes(browser, input) {
  const page = await open(await browser.newContext({ locale: "en-US" }), input);
  const before = await cards(page);
  await openForm(page).getByRole("button", { name: "Remove card" }).press("Enter");
  await openForm(page).getByRole("group", { name: "Remove this card?" }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await frame(page).locator("#live", { hasText: "removed" }).waitFor({ state: "attached" });
  const [after, focused] = [await cards(page), await frame(page).locator(":focus").innerText()];
  await fill(page, input.number);
  await openForm(page).locator(".pay").click();
  return { before, after, focused, ...(await ended(page)) };
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

/** The card's bank asks in the dialog who pays; `press` is the button of its page. Where the bank is not content the form is there again. */
export async function challenge(browser, input) {
  const page = await open(await browser.newContext(), input);
  await fill(page, input.number);
  await button(page).click();
  const bank = page.frameLocator("#pay dialog iframe").frameLocator("iframe");
  await bank.getByRole("button", { name: input.press }).click();
  const refused = frame(page).locator(".notice");
  const outcomes = [ended(page), refused.waitFor({ timeout: LIMIT })];
  // The one that does not come ends with the browser.
  for (const outcome of outcomes) outcome.catch(() => {});
  await Promise.race(outcomes);
  await page.locator("#pay dialog").waitFor({ state: "hidden" });
  const notice = (await refused.count()) > 0 && (await refused.isVisible()) ? await refused.innerText() : "";
  return { heard: await ends(page), problems: page.problems, notice };
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

/** The form as it stands: what is typed, what is said, and where the focus is. */
async function formOf(page) {
  const typed = [];
  for (const field of ["number", "expiry", "code", "name"]) typed.push(await frame(page).locator(`#${field}`).inputValue());
  return { typed, notice: await frame(page).locator(".notice").innerText(), said: await frame(page).locator("#live").textContent() };
}

const canPay = (page) => frame(page).locator("form .pay:not([aria-disabled=true])").waitFor();

/** A card is declined, and another one is paid in the same form. */
export async function again(browser, input) {
  const page = await open(await browser.newContext({ viewport: input.viewport }), input);
  await fill(page, input.number);
  await button(page).click();
  await frame(page).locator(".notice").waitFor();
  await page.waitForFunction(() => document.querySelector("#pay").shadowRoot.activeElement?.localName === "iframe");
  await frame(page).locator("#code:focus").waitFor();
  const between = { ...(await formOf(page)), heard: await ends(page), methods: await page.locator("#pay .toggle:visible").count() };
  await frame(page).locator("#number").fill(input.next);
  await page.keyboard.press("Tab");
  await frame(page).locator("#code").fill("123");
  await canPay(page);
  await button(page).click();
  return { between, ...(await ended(page)), paid: await page.evaluate(() => window.paid) };
}

/** Shoppers who leave the page that they were sent to, choose to pay another way, and pay by card. */
export async function another(browser, input) {
  const seen = [];
  for (const step of input.shoppers) {
    const context = await browser.newContext({ viewport: input.viewport });
    const page = await open(context, step);
    const key = step.method.toLowerCase();
    if (step.number) {
      await fill(page, step.number);
      await button(page).click();
      await page.frameLocator("#pay dialog iframe").frameLocator("iframe").getByRole("button", { name: "Succeed" }).waitFor();
      await page.locator("#pay dialog .close").click();
    } else {
      await page.locator(`#pay #${key}`).click();
      await page.locator(`#pay #${key}-panel .pay`).click();
      await page.waitForURL((url) => !url.href.startsWith(step.page));
      await page.goBack();
    }
    await page.locator("#pay .status").getByRole("button", { name: "Pay another way" }).click();
    await page.locator("#pay .toggle:visible").first().waitFor();
    const methods = await page.locator("#pay .toggle:visible").count();
    if ((await page.locator("#pay #card").getAttribute("aria-expanded")) === "false") await page.locator("#pay #card").click();
    await fill(page, step.next);
    await canPay(page);
    await button(page).click();
    seen.push({ methods, ...(await ended(page)), paid: await page.evaluate(() => window.paid) });
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
  const details = await page.locator("#pay dl").innerText();
  const paid = await page.evaluate(() => window.paid);
  await page.locator("#pay .end").getByRole("button", { name: "Continue" }).click();
  await page.locator("#pay dl").waitFor({ state: "detached" });
  return { details, paid, ...seen };
}
