// The shelf, the basket and the way through the checkout. The payment itself is in checkout.js.
//
// `/` shows the shelf, `/#basket` the basket, `/pay?session=` the drop-in and `/paid?session=` the end. The last two read the Session again
// whenever they are opened, and replace each other in the browser's history, so that Back never leads to a payment page that is over.

import { cart, closeCart, listenToOtherTabs, saveCart, setQuantity } from "./cart.js";
import { mountDropin, paidPage, payPage, readPayment, requestPayment, TRANSFER } from "./checkout.js";
import * as backOffice from "./backoffice.js";
import { ask, drawing, h, money, say, total } from "./kit.js";
import { languageChoice } from "./language.js";
import { convert, promise, readCurrencies } from "./money.js";
import { message, offerPayLater, questions } from "./paylater.js";
import { thanks } from "./thanks.js";
import * as wallet from "./wallet.js";

/** Payments whose last page this tab has shown. */
const SHOWN = "stillwater.shown";

const view = document.getElementById("view");
const main = document.getElementById("main");
let catalogue = null;
let currencies = [];
/** Whether the shopper could pay later, as far as is known. */
let payLater = false;
let isChecking = false;
/** The payment that the address names, as the server saw it last. */
let payment = null;
/** Why it cannot be shown, if so. */
let loadError = null;

function showCount() {
  const pieces = cart().Lines.reduce((sum, line) => sum + line.Quantity, 0);
  const count = document.getElementById("count");
  count.textContent = String(pieces);
  count.classList.toggle("some", pieces > 0);
}

function save(changes) {
  saveCart(changes);
  showCount();
}

const currency = () => currencies.find((one) => one.Code === cart().Currency) ?? currencies[0];
const country = () => catalogue.Countries.find((one) => one.Code === cart().Country) ?? catalogue.Countries[0];
const price = (thing) => convert(thing.Price, currency());
/** The price of so many pieces; of a subscription, each month. */
const priceText = (thing, pieces = 1) => `${money(price(thing) * pieces, currency())}${thing.Monthly ? " a month" : ""}`;
const thingOf = (line) => catalogue.Things.find((thing) => thing.Id === line.Id);

/** What the cart holds that the shop still sells. */
const lines = () => cart().Lines.filter(thingOf);

function change(id, step) {
  const kept = cart().Lines.find((one) => one.Id === id)?.Quantity ?? 0;
  setQuantity(id, Math.min(catalogue.MaxPieces, kept + step));
  showCount();
}

// --- views ------------------------------------------------------------------------------------------------------------------

function shelf() {
  return [
    h("div", { class: "hero" }, h("h1", {}, "A desk is a small shore."), h("p", {}, "Six things to keep by it, and tea by post. Take one, pay with a test card, and watch the payment from both sides.")),
    h("ul", { class: "shelf" }, catalogue.Things.map(shelfThing)),
  ];
}

function shelfThing(thing) {
  const add = () => {
    change(thing.Id, 1);
    say(`${thing.Name} is in the basket.`);
    button.classList.add("added");
    button.textContent = "Added";
    setTimeout(() => {
      button.classList.remove("added");
      button.textContent = "Add";
    }, 1400);
  };
  const button = h("button", { type: "button", class: "quiet", "aria-label": `Add ${thing.Name} to the basket`, onclick: add }, "Add");
  return h(
    "li",
    { class: "thing", "data-thing": thing.Id },
    h("div", { class: "stage" }, drawing(thing.Id, "motif")),
    h("div", { class: "thing-text" }, h("h2", {}, thing.Name), h("p", {}, thing.Blurb)),
    h("div", { class: "thing-foot" }, h("span", { class: "price" }, priceText(thing)), button),
  );
}

function basketView() {
  if (lines().length === 0) {
    return [
      h("h1", {}, "Your basket"),
      h("p", { class: "empty" }, "It is empty. Nothing wrong with that."),
      h("a", { class: "button quiet", href: "/" }, "Back to the shelf"),
    ];
  }
  const sum = lines().reduce((all, line) => all + price(thingOf(line)) * line.Quantity, 0);
  const shipping = convert(catalogue.Shipping, currency());
  const isSubscription = lines().some((line) => thingOf(line).Monthly);
  return [
    h("h1", {}, "Your basket"),
    h("ul", { class: "lines" }, lines().map(basketLine)),
    h(
      "dl",
      { class: "sums" },
      sumRow("Things", money(sum, currency())),
      sumRow(`Shipping to ${country().Name}`, money(shipping, currency())),
      sumRow("Total", money(sum + shipping, currency()), "grand"),
    ),
    promise(currency(), catalogue.Home) ? h("p", { class: "aside" }, promise(currency(), catalogue.Home)) : "",
    isSubscription ? h("p", { class: "notice" }, "The first month is paid now, by card. The card is stored, and charged again each month until the subscription is ended.") : "",
    payLater && !isSubscription ? message(country(), sum + shipping) : "",
    chargeChoice(),
    h("button", { type: "button", class: "primary wide", id: "checkout", onclick: () => checkOut({ then: (url) => location.assign(url) }) }, "Check out"),
    h("p", { class: "notice bad", id: "problem", role: "alert", hidden: true }),
  ];
}

function sumRow(name, value, className = "") {
  return h("div", { class: className }, h("dt", {}, name), h("dd", {}, value));
}

function basketLine(line) {
  const thing = thingOf(line);
  const step = (by, label, sign) =>
    h("button", { type: "button", "data-focus": `${thing.Id}${sign}`, "aria-label": `${label} ${thing.Name}`, onclick: () => {
      change(thing.Id, by);
      redraw(`${thing.Id}${sign}`);
    } }, sign);
  return h(
    "li",
    { class: "line", "data-thing": thing.Id },
    h("div", { class: "stage small" }, drawing(thing.Id, "motif")),
    h("div", { class: "line-text" }, h("strong", {}, thing.Name), h("span", { class: "aside" }, `${priceText(thing)} each`)),
    h("div", { class: "stepper" }, step(-1, "One less:", "−"), h("span", { "aria-label": "Quantity" }, String(line.Quantity)), step(1, "One more:", "+")),
    h("span", { class: "price" }, priceText(thing, line.Quantity)),
  );
}

function chargeChoice() {
  const choice = (value, title, explanation) =>
    h(
      "label",
      { class: "choice" },
      h("input", { type: "radio", name: "charge", checked: cart().AutoCapture === value, onchange: () => save({ AutoCapture: value, Changed: true }) }),
      h("span", {}, h("strong", {}, title), h("span", { class: "aside" }, explanation)),
    );
  return h(
    "fieldset",
    { class: "choices" },
    h("legend", {}, "When should the card be charged?"),
    choice(true, "Now", "AutoCapture true: captured as soon as it is authorized."),
    choice(false, "When it ships", "AutoCapture false: reserved now, captured when you press Ship."),
  );
}

/** Gets the cart's Session and shows it to `then`, by the address where it is paid. */
async function checkOut({ then, again = false }) {
  if (isChecking) return;
  isChecking = true;
  const button = document.getElementById("checkout");
  button?.setAttribute("aria-disabled", "true");
  try {
    const own = await requestPayment({ ...cart(), Lines: lines() }, again);
    save({ SessionId: own.SessionId, Changed: own.Outdated });
    then(payPage(own.SessionId), own);
  } catch (problem) {
    complain(problem.message);
  } finally {
    isChecking = false;
    button?.removeAttribute("aria-disabled");
  }
}

function complain(text) {
  const place = document.getElementById("problem");
  if (place === null) return;
  place.textContent = text;
  place.hidden = false;
}

/** Whether the payment on this page is that of this browser's cart. */
const isOwn = () => payment !== null && cart().SessionId === payment.SessionId;

const UNDER_WAY = "The basket was changed after this payment had begun. The payment is still of what was in it before; once it can be changed, it is.";

function payView() {
  if (loadError !== null) return loadErrorView();
  const place = h("div", { class: "pay-place" });
  queueMicrotask(() =>
    mountDropin(place, payment, {
      onDone: () => location.replace(paidPage(payment.SessionId)),
      onFailure: (error) => failed(place, error),
    }),
  );
  return [
    h("a", { class: "back", href: "/#basket" }, "Back to the basket"),
    h("h1", {}, "Payment"),
    h("p", { class: "lead" }, h("span", { id: "amount" }, total(payment.TotalAmount, payment.Currency)), h("span", { class: "aside" }, payment.AutoCapture ? "charged at once" : "reserved now, charged when it ships")),
    h("p", { class: "notice", id: "outdated", role: "status", hidden: !(isOwn() && cart().Changed) }, UNDER_WAY),
    h("p", { class: "notice bad", id: "problem", role: "alert", hidden: true }),
    h("h2", { class: "unseen" }, "How to pay"),
    // The drop-in takes its language when it starts.
    languageChoice(() => redraw()),
    place,
    h(
      "p",
      { class: "aside" },
      "The card form belongs to the payment service: what is typed there never touches this shop. Which methods there are depends on the country and the currency above. Test numbers are ",
      h("button", { type: "button", class: "link", onclick: backOffice.showCards }, "behind the counter"),
      ".",
    ),
  ];
}

/**
 * The drop-in gave up. The Session may be over; or the form only was kept from loading, and a payment is under way, or made. So it is read: our server
 * makes a new one only when this one is FAILED or CANCELLED.
 */
async function failed(place, error) {
  const { State: state } = await readPayment(payment.SessionId).catch(() => ({}));
  if (state === "COMPLETED") return location.replace(paidPage(payment.SessionId));
  const retry = () => checkOut({ again: true, then: (url) => location.replace(url) });
  const isOver = ["FAILED", "CANCELLED"].includes(state);
  const next = isOwn()
    ? h("button", { type: "button", class: "primary", id: "checkout", onclick: retry }, isOver ? "Try again with a new Session" : "Try again")
    : h("a", { class: "button primary", href: "/#basket" }, "Back to the basket");
  place.after(h("div", { class: "retry" }, h("p", { class: "aside" }, "onFailure: ", h("code", {}, error.errorCode), ` ${error.errorMessage}`), next));
  backOffice.refresh();
}

function loadErrorView() {
  return [h("h1", {}, "This payment cannot be shown."), h("p", { class: "lead" }, loadError), h("a", { class: "button quiet", href: "/" }, "Back to the shelf")];
}

// --- the way through ----------------------------------------------------------------------------------------------------------

function route() {
  if (location.pathname === "/pay") return "pay";
  if (location.pathname === "/paid") return "thanks";
  return location.hash.slice(1) || "shelf";
}

const VIEWS = { shelf, basket: basketView, pay: payView, thanks: () => (loadError === null ? thanks(payment) : loadErrorView()) };

function redraw(focus) {
  view.replaceChildren(...(VIEWS[route()] ?? shelf)());
  document.body.dataset.view = route();
  lockSelectors();
  if (focus !== undefined) view.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
}

function arrive() {
  redraw();
  window.scrollTo({ top: 0 });
  main.focus({ preventScroll: true });
}

/** Whether this page was reached by Back or Forward. */
const isReturn = () => performance.getEntriesByType("navigation")[0]?.type === "back_forward";

/** Back after paying: the basket is empty then, and the shelf is the better place. */
function leaveEmptyBasket() {
  if (route() === "basket" && lines().length === 0) history.replaceState(null, "", "/");
}

/**
 * Reads the payment that the address names. Says whether this is its place: a payment that was initiated belongs on the last page, any other to the
 * drop-in, and one whose last page this tab has shown was left behind.
 */
async function openPayment() {
  const id = new URLSearchParams(location.search).get("session");
  if (id === null) {
    location.replace("/#basket");
    return false;
  }
  try {
    payment = await readPayment(id);
  } catch (problem) {
    loadError = problem.message;
    return true;
  }
  const isDone = payment.State === "COMPLETED";
  if (route() === "thanks") {
    if (!isDone) location.replace(payPage(id));
    else finish(id);
    return isDone;
  }
  if (isDone) location.replace(sessionStorage.getItem(SHOWN) === id ? "/" : paidPage(id));
  return !isDone;
}

/** The cart was paid, or its payment at least begun for good: the next thing goes into a new one. */
function finish(id) {
  sessionStorage.setItem(SHOWN, id);
  if (cart().SessionId === id) closeCart();
  showCount();
}

/** What the last page depends on. */
const shownState = ({ Stage, Order, Subscription }) => JSON.stringify([Stage, Order?.State, Order?.UnderReview, Subscription?.State]);

/** The server's view of the payment changed. */
function onPaymentRead(fresh) {
  const before = payment;
  payment = { ...before, ...fresh };
  if (route() === "thanks" && shownState(before) !== shownState(fresh)) redraw();
  if (route() !== "pay") return;
  lockSelectors();
  // Paid in another tab, perhaps. The details of a transfer stay until they were read.
  if (fresh.State === "COMPLETED" && fresh.PaymentMethod !== TRANSFER) location.replace(paidPage(fresh.SessionId));
  // What was under way is over without money, and the basket is another one by now.
  else if (fresh.State === "CREATED" && isOwn() && cart().Changed && lines().length > 0) void replacePayment();
}

/** Another country, currency or basket: the same Session with other terms, unless the shopper is just paying it. */
function replacePayment() {
  return checkOut({
    then: (url, own) => {
      if (own.SessionId !== payment.SessionId) return location.replace(url);
      payment = own;
      backOffice.show(own);
      redraw();
    },
  });
}

/** While somebody pays, the payment's country and currency cannot be changed; nor can those of a payment that is another cart's. */
function lockSelectors() {
  const isLocked = route() === "pay" && !(isOwn() && payment.State === "CREATED");
  for (const id of ["country", "currency"]) {
    const select = document.getElementById(id);
    select.disabled = isLocked;
    select.title = isLocked ? "This payment is under way and keeps its country and currency." : "";
  }
}

/** A selector whose choice is the cart's `member`. */
function selector(id, member, options, changed) {
  const select = document.getElementById(id);
  select.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
  select.value = cart()[member];
  select.addEventListener("change", () => {
    save({ [member]: select.value, Changed: true });
    changed();
  });
}

/** A choice of the visitor: prices, what may be said about paying later, and an unpaid Session follow it. */
function chosen() {
  showChoice();
  if (route() === "pay") {
    void replacePayment();
    return;
  }
  if (["shelf", "basket"].includes(route())) redraw();
  void showPayLater();
}

function showChoice() {
  save({ Currency: currency().Code, Country: country().Code });
  document.getElementById("currency").value = cart().Currency;
  document.getElementById("country").value = cart().Country;
}

async function showPayLater() {
  payLater = await offerPayLater(catalogue, country(), currency());
  document.getElementById("questions").replaceChildren(payLater ? questions(country()) : "");
  if (route() === "basket") redraw();
}

function walletSwitch() {
  const box = document.getElementById("wallet-switch");
  box.checked = wallet.isOn();
  box.addEventListener("change", () => {
    wallet.turn(box.checked);
    // The drop-in looks for a wallet when it starts.
    if (route() === "pay") redraw();
  });
}

/** Another tab changed the cart, or paid it. */
function followOtherTabs() {
  showCount();
  if (["shelf", "basket"].includes(route())) {
    showChoice();
    redraw();
  }
}

async function start() {
  catalogue = await ask("/api/catalogue");
  currencies = await readCurrencies(catalogue);
  selector("currency", "Currency", currencies.map(({ Code }) => [Code, Code]), chosen);
  selector("country", "Country", catalogue.Countries.map(({ Code, Name }) => [Code, Name]), () => {
    // What people pay in there, if the shop sells in it.
    const local = currencies.find(({ Code }) => Code === country().Currency);
    if (local !== undefined) save({ Currency: local.Code });
    chosen();
  });
  walletSwitch();
  showChoice();
  listenToOtherTabs(followOtherTabs);
  backOffice.onPayment(onPaymentRead);
  backOffice.start(catalogue.TestCards);
  const isPayment = ["pay", "thanks"].includes(route());
  if (isPayment && !(await openPayment())) return;
  backOffice.show(payment);
  backOffice.arrange(route() === "thanks");
  if (isReturn()) leaveEmptyBasket();
  if (!isPayment) void showPayLater();
  window.addEventListener("hashchange", arrive);
  redraw();
}

// A page that the browser kept as it was: much may have happened since.
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  if (["pay", "thanks"].includes(route())) return location.reload();
  leaveEmptyBasket();
  followOtherTabs();
});

start().catch((problem) => view.replaceChildren(h("p", { class: "notice bad", role: "alert" }, problem.message)));
