// The payment: everything a merchant's page has to do to take one. `window.dropin` comes from {asset_url}/v1/dropin.js.

import { ask, h } from "./kit.js";
import { install, isOn } from "./wallet.js";

const KEY = "stillwater.payment";

/** Asks our server for a Session. It looks the prices up itself; all the browser says is what and how many. */
export async function createPayment(basket) {
  const payment = await ask("/api/checkout", basket);
  remember(payment);
  return payment;
}

/** The payment of this tab, so that a reload in the middle finds it again. The SessionId is no secret from the shopper. */
export function currentPayment() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}

export function remember(payment) {
  sessionStorage.setItem(KEY, JSON.stringify(payment));
}

export function forget() {
  sessionStorage.removeItem(KEY);
}

/**
 * Starts the drop-in inside `place`.
 *
 * onSuccess means that the payment was initiated, not that it is complete: only our server knows that, from the
 * notification ORDER_PROCESSED. After onFailure this Session is over, and another attempt needs a new one.
 */
export function mountDropin(place, payment, { onSuccess, onFailure }) {
  if (window.dropin === undefined) {
    onFailure({
      errorCode: "SCRIPT_NOT_LOADED",
      errorMessage: "The payment form could not be loaded. Check that the payment service is running, then reload this page.",
    });
    return;
  }
  place.replaceChildren(h("div", { id: "dropin" }));
  if (isOn()) install();
  try {
    window.dropin.init({ target: "#dropin", id: payment.SessionId, locale: "en_IE", onSuccess, onFailure });
  } catch (problem) {
    onFailure({ errorCode: "INIT_FAILED", errorMessage: problem.message });
  }
}
