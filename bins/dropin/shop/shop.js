// The shelf, the basket and the way through the checkout. The payment itself is in checkout.js.

import { createPayment, currentPayment, forget, mountDropin, remember } from "./checkout.js";
import * as counter from "./counter.js";
import { ask, drawing, h, money, say, total } from "./kit.js";
import { convert, promise, readCurrencies } from "./money.js";
import { message, offerPayLater, questions } from "./paylater.js";
import * as wallet from "./wallet.js";

const BASKET = "stillwater.basket";

const view = document.getElementById("view");
const main = document.getElementById("main");
let catalogue = null;
let currencies = [];
/** Whether the shopper could pay later, as far as is known. */
let payLater = false;
let basket = load();
let creating = false;
/** Why the payment that the address names cannot be shown, if so. */
let lost = null;

function load() {
  const fresh = { Currency: "EUR", Country: "IE", AutoCapture: true, Lines: [] };
  try {
    const kept = JSON.parse(localStorage.getItem(BASKET));
    return kept !== null && Array.isArray(kept.Lines) ? { ...fresh, ...kept } : fresh;
  } catch {
    return fresh;
  }
}

function save() {
  localStorage.setItem(BASKET, JSON.stringify(basket));
  const pieces = basket.Lines.reduce((sum, line) => sum + line.Quantity, 0);
  const count = document.getElementById("count");
  count.textContent = String(pieces);
  count.classList.toggle("some", pieces > 0);
}

const currency = () => currencies.find((one) => one.Code === basket.Currency) ?? currencies[0];
const country = () => catalogue.Countries.find((one) => one.Code === basket.Country) ?? catalogue.Countries[0];
const price = (thing) => convert(thing.Price, currency());
const thingOf = (line) => catalogue.Things.find((thing) => thing.Id === line.Id);

function change(id, step) {
  const line = basket.Lines.find((one) => one.Id === id);
  const quantity = Math.min(catalogue.MaxPieces, (line?.Quantity ?? 0) + step);
  if (line === undefined) basket.Lines.push({ Id: id, Quantity: quantity });
  else line.Quantity = quantity;
  basket.Lines = basket.Lines.filter((one) => one.Quantity > 0);
  save();
}

// --- views ------------------------------------------------------------------------------------------------------------------

function shelf() {
  return [
    h("div", { class: "hero" }, h("h1", {}, "A desk is a small shore."), h("p", {}, "Six things to keep by it. Take one, pay with a test card, and watch the payment from both sides.")),
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
    h("div", { class: "thing-foot" }, h("span", { class: "price" }, money(price(thing), currency())), button),
  );
}

function basketView() {
  const lines = basket.Lines.filter(thingOf);
  if (lines.length === 0) {
    return [
      h("h1", {}, "Your basket"),
      h("p", { class: "empty" }, "It is empty. Nothing wrong with that."),
      h("a", { class: "button quiet", href: "/" }, "Back to the shelf"),
    ];
  }
  const sum = lines.reduce((all, line) => all + price(thingOf(line)) * line.Quantity, 0);
  const shipping = convert(catalogue.Shipping, currency());
  return [
    h("h1", {}, "Your basket"),
    h("ul", { class: "lines" }, lines.map(basketLine)),
    h(
      "dl",
      { class: "sums" },
      sumRow("Things", money(sum, currency())),
      sumRow(`Shipping to ${country().Name}`, money(shipping, currency())),
      sumRow("Total", money(sum + shipping, currency()), "grand"),
    ),
    promise(currency(), catalogue.Home) ? h("p", { class: "aside" }, promise(currency(), catalogue.Home)) : "",
    payLater ? message(country(), sum + shipping) : "",
    chargeChoice(),
    h("button", { type: "button", class: "primary wide", id: "checkout", onclick: pay }, `Check out`),
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
    h("div", { class: "line-text" }, h("strong", {}, thing.Name), h("span", { class: "aside" }, `${money(price(thing), currency())} each`)),
    h("div", { class: "stepper" }, step(-1, "One less:", "−"), h("span", { "aria-label": "Quantity" }, String(line.Quantity)), step(1, "One more:", "+")),
    h("span", { class: "price" }, money(price(thing) * line.Quantity, currency())),
  );
}

function chargeChoice() {
  const choice = (value, title, explanation) =>
    h(
      "label",
      { class: "choice" },
      h("input", { type: "radio", name: "charge", checked: basket.AutoCapture === value, onchange: () => { basket.AutoCapture = value; save(); } }),
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

async function pay() {
  if (creating) return;
  creating = true;
  const button = document.getElementById("checkout");
  button.setAttribute("aria-disabled", "true");
  try {
    counter.show(await createPayment({ ...basket, Lines: basket.Lines.filter(thingOf) }));
    // Already there after a failed attempt: then nobody else draws the new one.
    if (location.hash === "#pay") redraw();
    else location.assign("/#pay");
  } catch (problem) {
    const place = document.getElementById("problem");
    place.textContent = problem.message;
    place.hidden = false;
  } finally {
    creating = false;
    button?.removeAttribute("aria-disabled");
  }
}

function payView() {
  const payment = currentPayment();
  if (payment === null) return basketView();
  const place = h("div", { class: "pay-place" });
  queueMicrotask(() =>
    mountDropin(place, payment, {
      onSuccess: () => {
        basket.Lines = [];
        save();
        location.assign("/#thanks");
      },
      onFailure: (error) => failed(place, error),
    }),
  );
  return [
    h("a", { class: "back", href: "/#basket" }, "Back to the basket"),
    h("h1", {}, "Payment"),
    h("p", { class: "lead" }, h("span", {}, total(payment.TotalAmount, payment.Currency)), h("span", { class: "aside" }, payment.AutoCapture ? "charged at once" : "reserved now, charged when it ships")),
    h("h2", { class: "unseen" }, "How to pay"),
    place,
    h(
      "p",
      { class: "aside" },
      "The card form belongs to the payment service: what is typed there never touches this shop. Which methods there are depends on the country and the currency above. Test numbers are ",
      h("button", { type: "button", class: "link", onclick: () => document.getElementById("cards-title").scrollIntoView() }, "behind the counter"),
      ".",
    ),
  ];
}

/** This Session is over. The basket is still there, and another attempt gets a Session of its own. */
function failed(place, error) {
  place.after(
    h(
      "div",
      { class: "retry" },
      h("p", { class: "aside" }, "onFailure: ", h("code", {}, error.errorCode), ` ${error.errorMessage}`),
      h("button", { type: "button", class: "primary", id: "checkout", onclick: pay }, "Try again with a new Session"),
      h("p", { class: "notice bad", id: "problem", role: "alert", hidden: true }),
    ),
  );
  counter.refresh();
}

const THANKS = {
  PAID: ["Paid. Thank you.", "The shop has received ORDER_PROCESSED: the payment is complete."],
  AUTHORIZED: ["Thank you. We are packing.", "The money is reserved. It is charged when the parcel leaves: press Ship behind the counter."],
  CAPTURING: ["Thank you.", "Authorized; the capture is under way."],
  OVER: ["This payment did not work out.", "Nothing more will be charged. Your things are still on the shelf."],
  AWAITING_PAYMENT: ["Thank you. One moment.", "The payment was started. The shop waits for its notification before it believes anything."],
};

function thanksView() {
  if (lost !== null) return [h("h1", {}, "This payment cannot be shown."), h("p", { class: "lead" }, lost), h("a", { class: "button quiet", href: "/" }, "Back to the shelf")];
  const payment = currentPayment();
  if (payment === null) return shelf();
  const stage = payment.Stage === "AUTHORIZED" && payment.AutoCapture ? "CAPTURING" : (payment.Stage ?? "AWAITING_PAYMENT");
  const [title, explanation] = THANKS[stage];
  const again = () => {
    forget();
    counter.show(null);
  };
  return [
    h("div", { class: `thanks ${stage.toLowerCase()}`, role: "status" }, drawing("i-check", "tick"), h("h1", {}, title), h("p", {}, explanation)),
    h(
      "dl",
      { class: "sums" },
      sumRow("Reference", payment.MerchantReference),
      sumRow(stage === "PAID" ? "Paid" : "Total", total(payment.TotalAmount, payment.Currency), "grand"),
    ),
    h("a", { class: "button quiet", href: "/", onclick: again }, "Back to the shelf"),
  ];
}

function cancelledView() {
  return [
    h("h1", {}, "The payment was not completed."),
    h("p", { class: "lead" }, "Nothing was charged, and the basket is as you left it."),
    h("a", { class: "button primary", href: "/#basket" }, "Back to the basket"),
  ];
}

// --- the way through ----------------------------------------------------------------------------------------------------------

function route() {
  if (location.pathname === "/cancelled") return "cancelled";
  if (location.pathname === "/paid") return "thanks";
  return location.hash.slice(1) || "shelf";
}

const VIEWS = { shelf, basket: basketView, pay: payView, thanks: thanksView, cancelled: cancelledView };

function redraw(focus) {
  view.replaceChildren(...(VIEWS[route()] ?? shelf)());
  document.body.dataset.view = route();
  counter.arrange(route() === "thanks");
  if (focus !== undefined) view.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
}

function arrive() {
  redraw();
  window.scrollTo({ top: 0 });
  main.focus({ preventScroll: true });
}

/** A shopper who was sent elsewhere to pay comes back with the SessionId in the address (CompleteUrl, CancelUrl). */
async function comingBack() {
  const known = currentPayment();
  const id = new URLSearchParams(location.search).get("session");
  if (id === null || known?.SessionId === id) return known;
  try {
    const payment = await ask(`/api/payment/${encodeURIComponent(id)}`);
    remember(payment);
    return payment;
  } catch (problem) {
    lost = problem.message;
    return null;
  }
}

/** A selector whose choice is the basket's `member`. */
function selector(id, member, options, changed) {
  const select = document.getElementById(id);
  select.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
  select.value = basket[member];
  select.addEventListener("change", () => {
    basket[member] = select.value;
    changed();
  });
}

/** A choice of the visitor: prices, and what may be said about paying later, follow it. */
function chosen() {
  document.getElementById("currency").value = basket.Currency = currency().Code;
  document.getElementById("country").value = basket.Country = country().Code;
  save();
  if (["shelf", "basket"].includes(route())) redraw();
  void showPayLater();
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

async function start() {
  catalogue = await ask("/api/catalogue");
  currencies = await readCurrencies(catalogue);
  selector("currency", "Currency", currencies.map(({ Code }) => [Code, Code]), chosen);
  selector("country", "Country", catalogue.Countries.map(({ Code, Name }) => [Code, Name]), () => {
    // What people pay in there, if the shop sells in it.
    const local = currencies.find(({ Code }) => Code === country().Currency);
    if (local !== undefined) basket.Currency = local.Code;
    chosen();
  });
  walletSwitch();
  basket.Currency = currency().Code;
  chosen();
  counter.onPayment((payment) => {
    const before = currentPayment();
    remember(payment);
    if (route() === "thanks" && before?.Stage !== payment.Stage) redraw();
  });
  counter.start();
  counter.show(await comingBack());
  window.addEventListener("hashchange", arrive);
  redraw();
}

start().catch((problem) => view.replaceChildren(h("p", { class: "notice bad", role: "alert" }, problem.message)));
