// A simulation of Apple Pay and Google Pay, for trying the wallets' buttons in a browser that has none. It is no part of a real shop: there the browser
// brings `ApplePaySession` along, and Google's script the other. The sheet hands over a made-up token that the sandbox's processor understands.

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
  else for (const name of ["ApplePaySession", "google"]) delete window[name];
}

/** Takes the place of the wallets, unless the browser has real ones. */
export function install() {
  window.ApplePaySession ??= SimulatedSession;
  window.google ??= { payments: { api: { PaymentsClient: SimulatedClient } } };
}

/** The sheet of a wallet; `closed` hears when the shopper closes it, `confirmed` of what the token shall do. */
class Sheet {
  constructor({ label, amount, currency, said, confirmed, closed }) {
    this.outcome = h("select", { id: "wallet-outcome" }, OUTCOMES.map(([value, text]) => h("option", { value }, text)));
    this.state = h("p", { class: "aside", role: "status" }, said);
    this.pay = h("button", { type: "button", class: "primary", "aria-disabled": "true", onclick: () => this.confirm(confirmed) }, "Confirm");
    const cancel = h("button", { type: "button", class: "quiet", onclick: () => this.dialog.close() }, "Cancel");
    this.dialog = h(
      "dialog",
      { class: "sheet", "aria-labelledby": "sheet-title" },
      h("h2", { id: "sheet-title" }, "Simulated wallet"),
      h("p", { class: "notice" }, "A stand-in for the sheet of a phone or a browser. There is no card behind it."),
      h("dl", { class: "sums" }, h("div", {}, h("dt", {}, `Pay ${label}`), h("dd", {}, `${amount} ${currency}`))),
      h("label", { for: "wallet-outcome" }, "What the token does"),
      this.outcome,
      this.state,
      h("div", { class: "sheet-foot" }, cancel, this.pay),
    );
    // Escape and Cancel alike; after a result there is nothing to cancel.
    this.dialog.addEventListener("close", () => {
      this.dialog.remove();
      if (!this.over) closed();
      this.over = true;
    });
  }

  open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
  }

  /** The shopper may confirm now. */
  allow(said) {
    this.state.textContent = said;
    this.pay.removeAttribute("aria-disabled");
    this.pay.focus();
  }

  confirm(confirmed) {
    if (this.pay.hasAttribute("aria-disabled")) return;
    this.pay.setAttribute("aria-disabled", "true");
    this.state.textContent = "Paying…";
    confirmed(this.outcome.value);
  }

  close() {
    this.over = true;
    this.dialog.close();
  }
}

/** Apple Pay. */
class SimulatedSession {
  static STATUS_SUCCESS = 0;
  static STATUS_FAILURE = 1;
  static canMakePayments = () => true;

  constructor(version, request) {
    this.request = request;
    const { total, currencyCode: currency } = request;
    this.sheet = new Sheet({ ...total, currency, said: "Asking the shop who it is…", confirmed: (outcome) => this.confirm(outcome), closed: () => this.oncancel?.() });
  }

  begin() {
    this.sheet.open();
    setTimeout(() => this.onvalidatemerchant?.({ validationURL: VALIDATION_URL }));
  }

  completeMerchantValidation({ domainName }) {
    this.sheet.allow(`The wallet’s provider knows this shop at ${domainName}.`);
  }

  confirm(outcome) {
    const paymentData = { version: "simulated", sandbox: outcome };
    const paymentMethod = { displayName: "Simulated card", network: this.request.supportedNetworks[0], type: "debit" };
    this.onpaymentauthorized?.({ payment: { token: { paymentData, paymentMethod, transactionIdentifier: crypto.randomUUID() } } });
  }

  completePayment() {
    this.abort();
  }

  abort() {
    this.sheet.close();
  }
}

/** Google Pay. */
class SimulatedClient {
  async isReadyToPay() {
    return { result: true };
  }

  loadPaymentData({ merchantInfo, transactionInfo }) {
    return new Promise((resolve, reject) => {
      const { currencyCode: currency, totalPrice: amount } = transactionInfo;
      const confirmed = (outcome) => {
        sheet.close();
        const tokenizationData = { type: "PAYMENT_GATEWAY", token: "simulated", sandbox: outcome };
        resolve({ paymentMethodData: { type: "CARD", description: "Simulated card", tokenizationData } });
      };
      const sheet = new Sheet({ label: merchantInfo.merchantName, amount, currency, said: "", confirmed, closed: () => reject({ statusCode: "CANCELED" }) });
      sheet.open();
      sheet.allow("The wallet is ready.");
    });
  }
}
