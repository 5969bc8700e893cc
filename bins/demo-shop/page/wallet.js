// A simulation of Apple Pay, for trying the wallet's button in a browser that has no wallet. It is no part of a real shop: there
// the browser brings `ApplePaySession` along. Its sheet hands over a made-up token that the sandbox's processor understands.

import { h } from "./kit.js";

const KEY = "stillwater.wallet";
/** What the wallet tells the page to ask a payment session of; the sandbox's provider goes by this name. */
const VALIDATION_URL = "https://wallet-gateway.localhost/paymentservices/startSession";

const OUTCOMES = [
  ["approve", "Pays"],
  ["decline", "Is declined"],
  ["insufficient_funds", "Is declined: insufficient funds"],
  ["review", "Pays, under review"],
  ["challenge", "The bank asks who pays"],
  ["pending_capture", "Pays; its capture takes a few seconds"],
];

export const isOn = () => localStorage.getItem(KEY) === "on";

export function turn(on) {
  localStorage.setItem(KEY, on ? "on" : "off");
  if (on) install();
  else delete window.ApplePaySession;
}

/** Takes the place of a wallet, unless the browser has a real one. */
export function install() {
  if (!("ApplePaySession" in window)) window.ApplePaySession = SimulatedSession;
}

class SimulatedSession {
  static STATUS_SUCCESS = 0;
  static STATUS_FAILURE = 1;
  static canMakePayments = () => true;

  constructor(version, request) {
    this.request = request;
    this.outcome = h("select", { id: "wallet-outcome" }, OUTCOMES.map(([value, label]) => h("option", { value }, label)));
    this.state = h("p", { class: "aside", role: "status" }, "Asking the shop who it is…");
    this.pay = h("button", { type: "button", class: "primary", "aria-disabled": "true", onclick: () => this.confirm() }, "Confirm");
    const cancel = h("button", { type: "button", class: "quiet", onclick: () => this.sheet.close() }, "Cancel");
    const { total, currencyCode } = request;
    this.sheet = h(
      "dialog",
      { class: "sheet", "aria-labelledby": "sheet-title" },
      h("h2", { id: "sheet-title" }, "Simulated wallet"),
      h("p", { class: "notice" }, "A stand-in for the sheet of a phone or a browser. There is no card behind it."),
      h("dl", { class: "sums" }, h("div", {}, h("dt", {}, `Pay ${total.label}`), h("dd", {}, `${total.amount} ${currencyCode}`))),
      h("label", { for: "wallet-outcome" }, "What the token does"),
      this.outcome,
      this.state,
      h("div", { class: "sheet-foot" }, cancel, this.pay),
    );
    // Escape and Cancel alike; after a result there is nothing to cancel.
    this.sheet.addEventListener("close", () => {
      this.sheet.remove();
      if (!this.over) this.oncancel?.();
      this.over = true;
    });
  }

  begin() {
    document.body.append(this.sheet);
    this.sheet.showModal();
    setTimeout(() => this.onvalidatemerchant?.({ validationURL: VALIDATION_URL }));
  }

  completeMerchantValidation({ domainName }) {
    this.state.textContent = `The wallet’s provider knows this shop at ${domainName}.`;
    this.pay.removeAttribute("aria-disabled");
    this.pay.focus();
  }

  confirm() {
    if (this.pay.hasAttribute("aria-disabled")) return;
    this.pay.setAttribute("aria-disabled", "true");
    this.state.textContent = "Paying…";
    const paymentData = { version: "simulated", sandbox: this.outcome.value };
    const paymentMethod = { displayName: "Simulated card", network: this.request.supportedNetworks[0], type: "debit" };
    this.onpaymentauthorized?.({ payment: { token: { paymentData, paymentMethod, transactionIdentifier: crypto.randomUUID() } } });
  }

  completePayment() {
    this.abort();
  }

  abort() {
    this.over = true;
    this.sheet.close();
  }
}
