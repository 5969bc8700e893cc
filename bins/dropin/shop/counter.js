// Behind the counter: the state of the payment, the test cards, and the notifications as they arrive.

import { ask, copyButton, h, say, total } from "./kit.js";

const FIRST_CARDS = [
  ["4242 4242 4242 4242", "Visa", "Pays"],
  ["4000 0000 0000 0002", "Visa", "Is declined"],
  ["4000 0000 0000 3220", "Visa", "The bank asks who pays (3-D Secure)"],
];

const MORE_CARDS = [
  ["4000 0000 0000 2016", "Visa", "Pays; its capture takes a few seconds"],
  ["4000 0000 0000 9235", "Visa", "Pays, and is held for a review"],
  ["4000 0000 0000 7726", "Visa", "Pays; a refund takes a few seconds"],
  ["4000 0000 0000 5126", "Visa", "Pays; a refund fails after a few seconds"],
  ["5555 5555 5555 4444", "Mastercard", "Pays"],
  ["3782 822463 10005", "American Express", "Pays; its code has four digits"],
  ["6011 1111 1111 1117", "Discover", "Pays"],
  ["3530 1113 3330 0000", "JCB", "Pays"],
  ["3056 930902 5904", "Diners Club", "Pays"],
  ["4000 0000 0000 9995", "Visa", "Is declined: insufficient funds"],
  ["4000 0000 0000 0341", "Visa", "Authorizes; its capture is refused"],
  ["4000 0000 0000 0119", "Visa", "Pays, though the processor answers with an error first"],
  ["4000 0000 0000 3014", "Visa", "Gets no answer from the processor; nothing is charged"],
];

const MAX_SHOWN = 60;
const POLL_MS = 4000;
const OVER = ["PROCESSED", "PROCESSING_FAILED", "CANCELLED", "DECLINED", "FAILED"];
const TIME = new Intl.DateTimeFormat("en-IE", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

const listeners = [];
const received = new Set();
let payment = null;
let asked = 0;
let shipping = false;
let outcome = null;
let drawn = "";

/** Calls `listener(payment)` whenever the server's view of the current payment was read. */
export function onPayment(listener) {
  listeners.push(listener);
}

/** Shows this payment from now on; `null` for none. */
export function show(next) {
  if (next?.SessionId !== payment?.SessionId) outcome = null;
  payment = next;
  drawPayment();
  if (next !== null) refresh();
}

/** Reads the current payment from the server again. */
export async function refresh() {
  if (payment === null) return;
  const turn = ++asked;
  try {
    const fresh = await ask(`/api/payment/${payment.SessionId}`);
    if (turn !== asked) return;
    payment = fresh;
    for (const listener of listeners) listener(fresh);
  } catch (problem) {
    if (turn !== asked) return;
    outcome = { bad: true, text: problem.message };
  }
  drawPayment();
}

/** Puts the notifications above the test cards once there is something to wait for. */
export function arrange(waiting) {
  const [stream, cards] = ["stream-panel", "cards-panel"].map((id) => document.getElementById(id));
  const [first, second] = waiting ? [stream, cards] : [cards, stream];
  if (first.nextElementSibling !== second) first.parentElement.append(first, second);
}

export function start() {
  document.getElementById("cards").replaceChildren(...FIRST_CARDS.map(card));
  document.getElementById("more-cards").replaceChildren(...MORE_CARDS.map(card));
  drawPayment();
  listen();
  setInterval(() => {
    if (payment !== null && document.visibilityState === "visible" && !OVER.includes(stateOf(payment))) refresh();
  }, POLL_MS);
}

function stateOf(of) {
  return of.Order?.State ?? of.State;
}

function card([number, brand, outcomeText]) {
  return h(
    "li",
    { class: "card" },
    h("span", { class: "card-text" }, h("code", {}, number), h("span", { class: "aside" }, `${brand}. ${outcomeText}.`)),
    copyButton(number.replaceAll(" ", ""), `Copy the test number ${number}`),
  );
}

// --- the payment ------------------------------------------------------------------------------------------------------------

function drawPayment() {
  const signature = JSON.stringify([payment, outcome, shipping]);
  if (signature === drawn) return;
  drawn = signature;
  const panel = document.getElementById("payment-panel");
  if (payment === null) {
    panel.replaceChildren(h("p", { class: "empty" }, "None yet. Put something into the basket and check out."));
    return;
  }
  const order = payment.Order;
  panel.replaceChildren(
    track(),
    h(
      "dl",
      { class: "facts" },
      fact("Session", badge(payment.State)),
      fact("Order", order ? badge(order.State) : h("span", { class: "aside" }, "not yet")),
      fact("Total", total(payment.TotalAmount, payment.Currency)),
      fact("Charge", payment.AutoCapture ? "at once" : "when it ships"),
      fact("Reference", h("code", {}, payment.MerchantReference)),
      fact("SessionId", identifier(payment.SessionId)),
      order ? fact("OrderId", identifier(order.OrderId)) : null,
    ),
    order?.State === "PAYMENT_AUTHORIZED" && !payment.AutoCapture ? shipButton() : "",
    outcome ? h("p", { class: outcome.bad ? "notice bad" : "notice" }, outcome.text) : "",
  );
}

function fact(name, value) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

function identifier(id) {
  return h("span", { class: "identifier" }, h("code", { title: id }, id), copyButton(id, `Copy ${id}`));
}

function badge(state) {
  const mood = state === "PROCESSED" || state === "COMPLETED" ? "good" : OVER.includes(state) ? "bad" : "calm";
  return h("span", { class: `badge ${mood}` }, state);
}

/** Three steps; what the shop believes about them comes from notifications alone. */
function track() {
  const reached = { AUTHORIZED: 2, PAID: 3 }[payment.Stage] ?? 1;
  const over = payment.Stage === "OVER";
  const steps = [["Started", 1], ["Authorized", 2], [over ? "Ended" : "Paid", 3]];
  return h(
    "ol",
    { class: over ? "track over" : "track", "aria-label": "What the shop knows from notifications" },
    steps.map(([name, step]) => {
      const done = over ? step !== 2 : step <= reached;
      return h("li", { class: done ? "done" : "" }, name, done ? h("span", { class: "unseen" }, " (reached)") : null);
    }),
  );
}

function shipButton() {
  return h(
    "div",
    { class: "ship" },
    h("p", { class: "aside" }, "The money is reserved. Pack the parcel, then capture."),
    h("button", { type: "button", class: "primary", "aria-disabled": shipping ? "true" : false, onclick: ship }, shipping ? "Shipping…" : "Ship and capture"),
  );
}

const CAPTURES = {
  Captured: "Captured. ORDER_PROCESSED follows as a notification.",
  PendingNotification: "The capture is under way. ORDER_PROCESSED will tell when it is done.",
  UnderReview: "The payment is under review and will be captured once it is approved.",
};

async function ship() {
  if (shipping) return;
  shipping = true;
  outcome = null;
  drawPayment();
  try {
    const captured = await ask(`/api/payment/${payment.SessionId}/capture`, {});
    outcome = { bad: false, text: CAPTURES[captured.Reason.Code] ?? `Answer: ${captured.Reason.Code}.` };
  } catch (problem) {
    outcome = { bad: true, text: problem.message };
  }
  shipping = false;
  say(outcome.text);
  drawPayment();
  refresh();
}

// --- the notifications ------------------------------------------------------------------------------------------------------

function listen() {
  const live = document.getElementById("live");
  const stream = new EventSource("/api/notifications");
  const mark = (word, good) => {
    live.textContent = word;
    live.classList.toggle("on", good);
  };
  stream.addEventListener("open", () => mark("live", true));
  stream.addEventListener("error", () => mark("reconnecting", false));
  stream.addEventListener("notification", (message) => {
    const entry = JSON.parse(message.data);
    if (received.has(entry.WebhookId)) return;
    received.add(entry.WebhookId);
    insert(entry);
    if (entry.SessionId === payment?.SessionId) {
      say(`Notification ${entry.EventType}.`);
      refresh();
    }
  });
}

/** Newest payment first; inside one payment the highest webhook-sequence first, whatever the order of arrival was. */
function insert(entry) {
  const list = document.getElementById("stream");
  const key = entry.SessionId ?? entry.OrderId ?? entry.WebhookId;
  let group = [...list.children].find((one) => one.dataset.payment === key);
  if (group === undefined) {
    const title = h("p", { class: "group-title" }, h("code", {}, entry.MerchantReference || "no reference"));
    group = h("li", { class: "group", "data-payment": key }, title, h("ol", {}));
  }
  // Moving an element takes the focus from it.
  if (!group.contains(document.activeElement)) list.prepend(group);
  const rows = group.querySelector("ol");
  const after = [...rows.children].find((row) => Number(row.dataset.sequence) < entry.Sequence);
  rows.insertBefore(row(entry), after ?? null);
  document.getElementById("stream-empty").hidden = true;
  trim(list);
}

function trim(list) {
  let shown = list.querySelectorAll(".event").length;
  while (shown > MAX_SHOWN && list.children.length > 1) {
    shown -= list.lastElementChild.querySelectorAll(".event").length;
    list.lastElementChild.remove();
  }
}

function row(entry) {
  const at = new Date(entry.ReceivedAt);
  return h(
    "li",
    { class: "event", "data-sequence": entry.Sequence },
    h(
      "details",
      {},
      h(
        "summary",
        {},
        h("span", { class: "sequence", title: "webhook-sequence" }, String(entry.Sequence)),
        h("span", { class: "event-text" }, h("span", { class: "event-type" }, entry.EventType), h("span", { class: "aside" }, entry.State)),
        h("time", { datetime: at.toISOString() }, TIME.format(at)),
      ),
      h("p", { class: "aside" }, "webhook-id ", h("code", {}, entry.WebhookId)),
      h("pre", { tabindex: "0", "aria-label": "Body" }, pretty(entry.Body)),
    ),
  );
}

function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
