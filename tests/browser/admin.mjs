// What operators do in the admin panel. Everything is waited for; nothing sleeps a fixed time.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const LIMIT = 40_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A page in `context`; what its console complains of is kept in `problems`. */
async function visit(context, problems) {
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  return page;
}

/** What axe's default rules find, and whether the page is wider than the screen. */
async function judge(page, problems) {
  const where = new URL(page.url()).pathname;
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"], preload: false }));
  for (const one of violations) problems.push(`${where}: ${one.id} at ${one.nodes.map((node) => node.target).join(", ")}`);
  await measure(page, problems);
}

/** Whether the page is wider than the screen, or a text is cut off. */
async function measure(page, problems) {
  const where = new URL(page.url()).pathname;
  const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
  if (0 < wide) problems.push(`${where}: ${wide} pixels wider than the screen`);
  const cut = await page.evaluate(() => [...document.querySelectorAll("button, .button, .badge, h1, h2, th, dt, label, .hint, .tile, nav.side a")]
    .filter((one) => one.checkVisibility() && !one.closest(".hidden") && 0 < one.clientWidth && one.clientWidth + 1 < one.scrollWidth)
    .map((one) => one.textContent.trim()));
  for (const text of cut) problems.push(`${where}: "${text}" is cut off`);
}

const PASSWORD = "nine blue whales dance slowly";

/** Opens a one-time link and becomes an operator, in a sandbox without an authenticator. */
async function accept(page, link, judged) {
  await page.goto(link);
  await judged();
  if (await page.locator("#email").isEditable()) {
    await page.locator("#name").fill("Ada Lovelace");
    await page.locator("#email").fill("ada@shop.example");
  }
  await page.locator("#password").fill(PASSWORD);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.locator("#code").waitFor();
  await judged();
  await page.getByRole("button", { name: "Go on without an authenticator" }).click();
  await page.locator("nav.side").waitFor();
}

async function signIn(page, panel, email) {
  await page.goto(`${panel}/sign-in`);
  await page.locator("#email").fill(email);
  await page.locator("#password").fill(PASSWORD);
  await page.locator("main button.primary").click();
  await page.locator("nav.side").waitFor();
}

/** The first operator signs up by the link, or signs in, and looks at every screen; axe looks too. */
export async function adminScreens(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport, colorScheme: input.scheme ?? "light", locale: input.locale ?? "en-US" });
  const problems = [];
  const page = await visit(context, problems);
  const languages = new Set();
  const judged = async () => {
    languages.add(await page.locator("html").getAttribute("lang"));
    await judge(page, problems);
  };
  if (input.link) await accept(page, input.link, judged);
  else await signIn(page, input.panel, "ada@shop.example");
  const names = await page.locator("nav.side a").allInnerTexts();
  for (const name of names.filter((_, place) => place % 2 === input.half)) {
    await page.locator("nav.side a", { hasText: name }).first().click();
    await page.locator("main h1").waitFor();
    await judged();
    if (input.pictures) await page.screenshot({ path: `${input.pictures}/${name.toLowerCase().replaceAll(" ", "-")}.png`, fullPage: true });
  }
  for (const [name, list] of [["order", "/orders"], ["session", "/sessions"], ["notification", "/notifications"], ["merchant", "/merchants"], ["operator", "/operators"]].slice(input.half ? 3 : 0, input.half ? 5 : 3)) {
    await page.goto(input.panel + list);
    const first = page.locator("tbody a").first();
    if (await first.count() === 0) continue;
    await first.click();
    await page.locator(".trail").waitFor();
    await judged();
    if (input.pictures) await page.screenshot({ path: `${input.pictures}/${name}.png`, fullPage: true });
    if (name === "merchant") await walkMerchant(page, judged, input.pictures);
  }
  for (const path of ["/account", "/merchants/new", "/notifications/replay", "/notifications/discard", "/orders?state=DECLINED", "/nothing"]) {
    const before = problems.length;
    const answer = await page.goto(input.panel + path);
    // A browser says of every 404 that it failed to load.
    if (answer.status() === 404) problems.length = before;
    await judged();
  }
  const cookies = await context.cookies();
  await context.close();
  return { problems, names, languages: [...languages], cookies: cookies.map(({ name, secure, httpOnly, sameSite, path }) => ({ name, secure, httpOnly, sameSite, path })) };
}

/** The pages below a merchant's: its settings, saved as they are, its screening and its endpoint. */
async function walkMerchant(page, judged, pictures) {
  const endpoint = await page.locator("section[aria-labelledby=endpoints] tbody a").first().getAttribute("href");
  await page.locator("main .actions a[href$='/settings']").click();
  await page.locator("#s-name").waitFor();
  await judged();
  if (pictures) await page.screenshot({ path: `${pictures}/settings.png`, fullPage: true });
  await page.locator("form[action$='/settings'] button").click();
  await page.locator(".notice.good").waitFor();
  await page.goto(page.url().replace(/\/settings.*/, "/screening"));
  await page.locator("#s-rules").waitFor();
  await judged();
  if (pictures) await page.screenshot({ path: `${pictures}/screening.png`, fullPage: true });
  await page.goto(page.url().replace(/\/screening.*/, "/events"));
  await page.locator("button[value=ORDER_PROCESSED]").waitFor();
  await judged();
  if (pictures) await page.screenshot({ path: `${pictures}/events.png`, fullPage: true });
  await page.goto(new URL(endpoint, page.url()).href);
  await judged();
  await page.locator("form[action$='/test'] button").click();
  await page.locator("section[aria-labelledby=test] [role=status]").waitFor();
  await judged();
  if (pictures) await page.screenshot({ path: `${pictures}/endpoint.png`, fullPage: true });
}

/** The first operator looks an Order up by its reference and refunds a part of it, with the button pressed twice. */
export async function adminRefund(browser, input) {
  const context = await browser.newContext({ viewport: input.viewport });
  const problems = [];
  const page = await visit(context, problems);
  await accept(page, input.link, () => judge(page, problems));
  // The reference of the newest Order, typed into the field at the top.
  await page.goto(`${input.panel}/orders?state=PROCESSED`);
  const reference = await page.locator("tbody a.ref").first().innerText();
  await page.locator("#find").fill(reference);
  await page.keyboard.press("Enter");
  await page.waitForURL(/orders\?reference=/);
  await page.locator("tbody a.ref").first().click();
  await page.getByText("Refund", { exact: true }).first().click();
  await page.locator("#a-refund").fill("1.00");
  await page.locator("#n-refund").fill("One came broken");
  await page.getByRole("button", { name: "Refund" }).dblclick();
  await page.locator(".notice:visible").waitFor();
  const notice = await page.locator(".notice:visible").innerText();
  await judge(page, problems);
  await page.reload();
  const refunds = await page.locator("section[aria-labelledby=refunds] tbody tr").allInnerTexts();
  await page.goto(`${input.panel}/audit`);
  const log = await page.locator("main").innerText();
  await context.close();
  return { problems, notice, refunds, isLogged: log.includes("One came broken") };
}

/** What the addresses of pages name, found as an owner finds them. */
async function findThings(context, panel) {
  const first = async (list, start, within = "main") => {
    const html = await (await context.request.get(panel + list)).text();
    const hrefs = html.slice(html.indexOf(`<${within}`)).matchAll(/href="([^"]*)"/g);
    return [...hrefs].map(([, href]) => href.replaceAll("&amp;", "&")).find((href) => href.startsWith(start));
  };
  const order = await first("/orders", "/orders/", "tbody");
  const merchant = await first("/merchants", "/merchants/", "tbody");
  return {
    "/orders/{id}": order,
    "/contracts/{id}": await first(order, "/contracts/"),
    "/sessions/{id}": await first("/sessions", "/sessions/", "tbody"),
    "/notifications/{id}": await first("/notifications", "/notifications/", "tbody"),
    "/merchants/{id}": merchant,
    "/merchants/{id}/settings": `${merchant}/settings`,
    "/merchants/{id}/screening": `${merchant}/screening`,
    "/merchants/{id}/events": `${merchant}/events`,
    "/merchants/{id}/endpoints/{endpoint}": await first(merchant, `${merchant}/endpoints/`),
    "/operators/{id}": await first("/operators", "/operators/", "tbody"),
  };
}

/** What a page shows beside the frame, without what differs each time that it is made. */
async function content(page) {
  const main = await page.evaluate(() => document.title + (document.querySelector("main") ?? document.body).outerHTML);
  return main.replace(/(name="(csrf|key|revision|seen|before)" value=")[^"]*/g, "$1");
}

/**
 * One role: what it may see is shown and judged, and of the rest the panel says that it may not. axe would say the same of the same content, so it looks at
 * each content once, whichever role has it, and at the frame with the first page of each role.
 */
async function walkRole(page, problems, input, { role, pages }, things, judged) {
  const walked = { shown: 0, refused: 0 };
  for (const { path, allowed } of pages) {
    const address = things[path] ?? path;
    if (address.includes("{")) problems.push(`${role}: nothing was found for ${path}`);
    if (!allowed) {
      const refused = await page.context().request.get(input.panel + address);
      if (refused.status() !== 403 || !(await refused.text()).includes("<h1")) problems.push(`${role}: ${path} answered ${refused.status()}`);
      walked.refused += 1;
      continue;
    }
    const answer = await page.goto(input.panel + address);
    if (answer.status() !== 200) problems.push(`${role}: ${path} answered ${answer.status()}`);
    await page.locator("h1").first().waitFor();
    // An owner's pages are judged by another walk.
    if (input.isJudged && role !== "owner") {
      const shown = await content(page);
      const isNew = walked.shown === 0 || !judged.has(shown);
      judged.add(shown);
      await (isNew ? judge : measure)(page, problems);
    }
    walked.shown += 1;
  }
  return walked;
}

/** Every role opens every page of the table of routes. */
export async function adminRoles(browser, input) {
  const roles = await Promise.all(input.roles.map(async (one) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const problems = [];
    const page = await visit(context, problems);
    await accept(page, one.link, () => undefined);
    return { one, context, problems, page };
  }));
  const owner = roles.find(({ one }) => one.role === "owner");
  const things = await findThings(owner.context, input.panel);
  const walked = {};
  const judged = new Set();
  await Promise.all(roles.map(async ({ one, context, problems, page }) => {
    walked[one.role] = await walkRole(page, problems, input, one, things, judged);
    await context.close();
  }));
  return { problems: roles.flatMap(({ problems }) => problems), walked };
}

/** An Order's page is open and a reason is being typed while the merchant's server refunds a part. */
export async function adminLive(browser, input) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const problems = [];
  const page = await visit(context, problems);
  await accept(page, input.link, () => undefined);
  await page.goto(`${input.panel}/orders/${input.order}`);
  await page.locator("#live", { hasText: "by themselves" }).waitFor();
  await page.getByText("Refund", { exact: true }).first().click();
  const note = page.locator("#n-refund");
  await note.click();
  await page.keyboard.type("One came bro");
  const state = async () => ({
    refunds: await page.locator("section[aria-labelledby=refunds] tbody tr").count(),
    ...(await page.evaluate(() => ({ note: document.activeElement.value, focus: document.activeElement.id, cursor: document.activeElement.selectionStart }))),
  });
  const before = await state();
  const refunded = await context.request.post(input.refund, { headers: { authorization: input.authorization }, data: { RefundReference: "live", Amount: 1 } });
  if (!refunded.ok()) problems.push(`the refund answered ${refunded.status()}: ${await refunded.text()}`);
  await page.locator("section[aria-labelledby=refunds] tbody tr").waitFor();
  await page.locator("#outdated").waitFor();
  await page.keyboard.type("ken");
  const after = await state();
  const isWarned = await page.locator("#outdated").isVisible();
  await judge(page, problems);
  // Signed out in another tab: the page hears of it, and what was typed stays.
  const other = await visit(context, problems);
  await other.goto(`${input.panel}/account`);
  await other.locator("details.menu summary").click();
  await other.getByRole("button", { name: "Sign out" }).click();
  await other.locator("#email").waitFor();
  await page.bringToFront();
  await page.locator("#live", { hasText: "signed out" }).waitFor();
  const ended = await page.locator("#live").innerText();
  await context.close();
  return { problems, before, after, isWarned, ended };
}

/** Events of a sandbox are made to happen by their buttons; what came of each is a link away. */
export async function adminEvents(browser, input) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const problems = [];
  const page = await visit(context, problems);
  await accept(page, input.link, () => undefined);
  await page.goto(`${input.panel}/merchants/${input.merchant}`);
  await page.getByRole("link", { name: "Make events happen" }).click();
  const seen = [];
  for (const event of input.events) {
    await page.locator(`button[value=${event}]`).click();
    const last = page.locator("section[aria-labelledby=runs] tbody tr").first();
    await last.locator("code", { hasText: event }).waitFor();
    const again = page.getByRole("link", { name: "Look again" });
    while (await again.isVisible()) await again.click();
    const hrefs = await last.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    seen.push({ event, state: await last.locator(".badge").innerText(), links: hrefs.map((href) => href.split("/")[1]), session: hrefs.find((href) => href.startsWith("/sessions/"))?.split("/")[2] });
  }
  await judge(page, problems);
  await page.locator("section[aria-labelledby=runs] tbody a[href^='/orders/']").first().click();
  await page.locator(".trail").waitFor();
  await page.goto(`${input.panel}/audit?action=EVENT_TRIGGER`);
  const logged = await page.locator("tbody tr").count();
  await context.close();
  return { problems, seen, logged };
}
