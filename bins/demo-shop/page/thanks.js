// The last page: what the shop knows of the payment, which it believes from notifications alone.

import { copyButton, drawing, h, total } from "./kit.js";

const TEXTS = {
  PAID: ["Paid. Thank you.", "The shop has received ORDER_PROCESSED: the payment is complete."],
  AUTHORIZED: ["Thank you. We are packing.", "The money is reserved. It is charged when the parcel leaves: press Ship behind the counter."],
  CAPTURING: ["Thank you.", "The money is reserved, and is being charged."],
  REVIEW: ["Thank you. The payment is held for a review.", "The shop keeps the parcel until the payment is approved. In this sandbox, whoever runs the service decides, with this command or with decline in place of approve:"],
  TRANSFER: ["Thank you. Now transfer the money.", "The shop keeps the parcel until all of it has arrived. Its bank then tells the payment service, and the shop gets ORDER_PROCESSED; that may take days."],
  LENDER: ["Thank you. The lender is having a look.", "It decides soon, and the shop gets ORDER_PROCESSED or ORDER_PROCESSING_FAILED."],
  OVER: ["This payment did not work out.", "Nothing more will be charged. Your things are still on the shelf."],
  AWAITING_PAYMENT: ["Thank you. One moment.", "The payment was started. The shop waits for its notification before it believes anything."],
};

/** Of a payment that opened a contract, by its state. */
const SUBSCRIBED = {
  ACTIVE: "This is a subscription: the card is stored. Behind the counter the shop charges the next month, and ends the subscription.",
  SUSPENDED: "This is a subscription, and its card cannot be charged any more. Behind the counter the shop ends it.",
  CLOSED: "The subscription is ended. Nothing more will be charged, and the card is deleted.",
};

/** Of a shop that was started anew and has forgotten its notifications: what the service says. */
const STAGES = { PROCESSED: "PAID", PAYMENT_AUTHORIZED: "AUTHORIZED", PROCESSING_FAILED: "OVER", CANCELLED: "OVER", DECLINED: "OVER" };

function textOf(payment) {
  const { Order: order } = payment;
  const stage = payment.Stage ?? STAGES[order?.State] ?? "AWAITING_PAYMENT";
  // The lender's own review is decided by the lender.
  const isHeld = order?.UnderReview && order.State !== "COMMIT_ACCEPTED";
  if (isHeld && stage !== "PAID" && stage !== "OVER") return "REVIEW";
  if (stage === "AUTHORIZED" && payment.AutoCapture) return "CAPTURING";
  if (stage !== "AWAITING_PAYMENT") return stage;
  if (order?.State === "COMMIT_ACCEPTED") return "LENDER";
  return order?.BankDetails && order.State === "PROCESSING" ? "TRANSFER" : stage;
}

export function thanks(payment) {
  const stage = textOf(payment);
  const [title, explanation] = TEXTS[stage];
  const row = (name, value, className = "") => h("div", { class: className }, h("dt", {}, name), h("dd", {}, value));
  return [
    h("div", { class: `thanks ${stage.toLowerCase()}`, role: "status" }, drawing("i-check", "tick"), h("h1", {}, title), h("p", {}, explanation)),
    stage === "TRANSFER" ? transfer(payment) : "",
    stage === "REVIEW" ? review(payment) : "",
    h(
      "dl",
      { class: "sums" },
      row("Reference", payment.MerchantReference),
      row(stage === "PAID" ? "Paid" : "Total", total(payment.TotalAmount, payment.Currency), "grand"),
    ),
    subscribed(payment),
    h("a", { class: "button quiet", href: "/" }, "Back to the shelf"),
  ];
}

function subscribed({ Subscription, Order }) {
  const text = Subscription ? SUBSCRIBED[Subscription.State] : Order?.ContractId && "This card is saved: the next purchase can be paid with it.";
  return text ? h("p", { class: "aside" }, text) : "";
}

const DETAILS = [
  ["AccountHolder", "To"], ["Iban", "IBAN"], ["SwiftCode", "BIC"], ["PaymentReference", "Reference"], ["AccountNumber", "Account number"],
  ["ExtraBankData", "Bank code"], ["BankName", "Bank"], ["City", "City"], ["Country", "Country"],
];

/** What decides a payment that is held. */
function review({ Order }) {
  const command = `dropin order review ${Order.OrderId} approve`;
  return h("section", { class: "bank" }, h("dl", {}, h("div", {}, h("dt", {}, "Command"), h("dd", {}, h("code", {}, command), copyButton(command, "Copy: Command")))));
}

/** Where the money goes, with everything to be copied. */
function transfer({ Order, TotalAmount, Currency }) {
  const known = DETAILS.filter(([member]) => Order.BankDetails[member]);
  const detail = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, h("code", {}, value), copyButton(value, `Copy: ${name}`)));
  return h(
    "section",
    { class: "bank", "aria-labelledby": "transfer-title" },
    h("h2", { id: "transfer-title" }, `Transfer ${total(TotalAmount, Currency)}`),
    h("dl", {}, known.map(([member, name]) => detail(name, Order.BankDetails[member]))),
    h("p", { class: "aside" }, "Give the reference, so that the money finds its order. In this sandbox nothing arrives by itself: whoever plays the bank marks it as arrived."),
  );
}
