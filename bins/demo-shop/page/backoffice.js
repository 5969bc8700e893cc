// The merchant's back office: the state of the payment, the notifications as they arrive, and the test cards.

import { ask, badge, copyButton, fact, h, identifier, isOver, say, total } from "./kit.js";
import { subscriptionPanel } from "./subscription.js";

const MAX_SHOWN = 60;
const POLL_MS = 4000;
const TIME = new Intl.DateTimeFormat("en-IE", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

const listeners = [];
const received = new Set();
let payment = null;
let asked = 0;
/** What our server was asked to do with the payment and has not done yet. */
let busy = null;
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

/** After the payment the notifications have the room; before it, the test cards share it. */
export function arrange(isPaid) {
  document.getElementById("cards-panel").open = !isPaid;
}

/** Brings the test cards into view. */
export function showCards() {
  const panel = document.getElementById("cards-panel");
  panel.open = true;
  panel.scrollIntoView({ block: "nearest" });
  panel.querySelector("summary").focus();
}

/** `testCards` come from the shop's server: the numbers of the sandbox, and what each does. */
export function start(testCards) {
  document.getElementById("cards").replaceChildren(...testCards.map(card));
  drawPayment();
  listen();
  setInterval(() => {
    if (payment !== null && document.visibilityState === "visible" && !isOver(stateOf(payment))) refresh();
  }, POLL_MS);
}

function stateOf(of) {
  return of.Order?.State ?? of.State;
}

function card({ Number: number, Scheme: scheme, Does: does }) {
  const shown = grouped(number);
  return h(
    "li",
    { class: "card" },
    h("span", { class: "card-text" }, h("code", {}, shown), h("span", { class: "aside" }, `${scheme}. ${does}.`)),
    copyButton(number, `Copy the test number ${shown}`),
  );
}

/** As it is printed on a card. */
function grouped(number) {
  const groups = number.length === 16 ? /(\d{4})(\d{4})(\d{4})(\d{4})/ : number.length === 15 ? /(\d{4})(\d{6})(\d{5})/ : /(\d{4})(\d{6})(\d+)/;
  return number.replace(groups, (_, ...parts) => parts.filter((part) => typeof part === "string" && part !== number).join(" "));
}

// --- the payment ------------------------------------------------------------------------------------------------------------

function drawPayment() {
  const signature = JSON.stringify([payment, outcome, busy]);
  if (signature === drawn) return;
  drawn = signature;
  const panel = document.getElementById("payment-panel");
  if (payment === null) {
    panel.replaceChildren(h("p", { class: "empty" }, "None yet. Put something into the basket and check out."));
    return;
  }
  const order = payment.Order;
  // The exact codes are the merchant's own business: the drop-in tells its shopper less.
  const failedTries = (payment.Attempts ?? []).filter(({ Outcome }) => Outcome === "FAILED").map(({ PaymentMethod, Code }) => `${PaymentMethod ?? ""} ${Code ?? ""}`.trim());
  const isOpen = panel.querySelector(".more")?.open ?? false;
  panel.replaceChildren(
    track(),
    h(
      "dl",
      { class: "facts" },
      fact("Session", badge(payment.State)),
      fact("Order", order ? badge(order.State) : h("span", { class: "aside" }, "not yet")),
      fact("Total", `${total(payment.TotalAmount, payment.Currency)}, ${payment.AutoCapture ? "at once" : "when it ships"}`),
      failedTries.length > 0 ? fact("Tries", h("span", { class: "aside" }, failedTries.join(", "))) : null,
    ),
    h(
      "details",
      { class: "more" },
      h("summary", {}, "Reference and ids"),
      h(
        "dl",
        { class: "facts" },
        fact("Reference", h("code", {}, payment.MerchantReference)),
        fact("SessionId", identifier(payment.SessionId)),
        order ? fact("OrderId", identifier(order.OrderId)) : null,
      ),
    ),
    order?.State === "PAYMENT_AUTHORIZED" && !payment.AutoCapture ? shipButton() : "",
    payment.Subscription ? subscriptionPanel(payment, busy, act) : "",
    outcome ? h("p", { class: outcome.bad ? "notice bad" : "notice" }, outcome.text) : "",
  );
  panel.querySelector(".more").open = isOpen;
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
    h("button", { type: "button", class: "primary", "aria-disabled": busy !== null ? "true" : false, onclick: () => act("capture", {}, captured) }, busy === "capture" ? "Shipping…" : "Ship and capture"),
  );
}

const CAPTURES = {
  Captured: "Captured. ORDER_PROCESSED follows as a notification.",
  PendingNotification: "The capture is under way. ORDER_PROCESSED will tell when it is done.",
  UnderReview: "The payment is under review and will be captured once it is approved.",
};

const captured = ({ Reason }) => CAPTURES[Reason.Code] ?? `Answer: ${Reason.Code}.`;

/** Has our server do something with the payment, one thing at a time; `tell` says what became of it. */
async function act(action, body, tell) {
  if (busy !== null) return;
  busy = action;
  outcome = null;
  drawPayment();
  try {
    outcome = { bad: false, text: tell(await ask(`/api/payment/${payment.SessionId}/${action}`, body)) };
  } catch (problem) {
    outcome = { bad: true, text: problem.message };
  }
  busy = null;
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
    if (isOfPayment(entry)) {
      say(`Notification ${entry.EventType}.`);
      refresh();
    }
  });
}

/** Of the payment that is shown, or a charge of its subscription: that has no Session, and a reference that begins with the payment's. */
function isOfPayment({ SessionId, MerchantReference }) {
  if (payment === null) return false;
  return SessionId === null ? MerchantReference.startsWith(`${payment.MerchantReference}-`) : SessionId === payment.SessionId;
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
