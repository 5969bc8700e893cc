// A subscription behind the counter: its contract, what was charged, and the buttons that charge and end it. Our server does both, without the shopper.

import { badge, fact, h, identifier, total } from "./kit.js";

const STATES = {
  OPENING: "The card is being stored. It can be charged once that is done.",
  SUSPENDED: "The card cannot be charged any more. End the subscription, and have the shopper subscribe anew with another card.",
  CLOSED: "The subscription is ended. Nothing more is charged, and the card is deleted.",
};

/** What the shop believes of a charge, from notifications alone; without any, what the service says. */
const PAID = { PAID: "paid", AUTHORIZED: "authorized", OVER: "not paid", AWAITING_PAYMENT: "under way" };

/** The panel of a payment's subscription. `busy` is the action that is under way, if any; `act(action, body, tell)` starts one. */
export function subscriptionPanel({ Subscription: subscription, Currency: currency }, busy, act) {
  const { State: state, StateReason: reason, NextCharge: number } = subscription;
  const button = (action, className, text, waiting, onclick) =>
    h("button", { type: "button", class: className, id: action, "aria-disabled": busy !== null ? "true" : false, onclick }, busy === action ? waiting : text);
  const charge = () => act("charge", { Number: number }, charged);
  const end = () => act("end", {}, ended);
  return h(
    "section",
    { class: "ship", id: "subscription", "aria-labelledby": "subscription-title" },
    h("h4", { id: "subscription-title" }, "Subscription"),
    h(
      "dl",
      { class: "facts" },
      fact("Contract", badge(state)),
      fact("ContractId", identifier(subscription.ContractId)),
      subscription.Monthly.map(({ Description, Price }) => fact("A month", `${total(Price, currency)}, ${Description}`)),
      subscription.Charges.map((one) => fact(`Charge ${one.Reference.split("-").at(-1)}`, chargeOf(one, currency))),
    ),
    state in STATES ? h("p", { class: "aside" }, reason ? `${STATES[state]} (${reason})` : STATES[state]) : "",
    state === "ACTIVE" ? button("charge", "primary", "Charge the next month", "Charging…", charge) : "",
    state === "ACTIVE" || state === "SUSPENDED" ? button("end", "quiet", "End the subscription", "Ending…", end) : "",
  );
}

function chargeOf({ Amount, Stage, State }, currency) {
  return h("span", { class: "charge" }, `${total(Amount, currency)}, ${PAID[Stage] ?? State}`);
}

function charged({ Captured, Repeated, Reference }) {
  if (Repeated && !Captured) return `${Reference} had been tried already. Nothing was charged now; the list shows what came of it.`;
  if (Repeated) return `${Reference} had been charged already. Nothing was charged twice.`;
  return Captured ? `Charged as ${Reference}. ORDER_PROCESSED follows as a notification.` : `${Reference} is under way. ORDER_PROCESSED will tell when it is paid.`;
}

function ended() {
  return "The subscription is ended. CONTRACT_CLOSED follows as a notification.";
}
