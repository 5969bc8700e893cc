// The payment: everything a merchant's page has to do to take one. `window.dropin` comes from {asset_url}/v1/dropin.js.
//
// A cart has one Session until that is over. The page names the cart and never makes a second Session for it: a reload, another tab or the way
// back asks the same question and gets the same Session, in whatever state it is by then.

import { ask, h } from "./kit.js";
import { locale } from "./language.js";
import { install, isOn } from "./wallet.js";

/**
 * Asks our server for the cart's Session. It looks the prices up itself; all the browser says is what and how many. `again` prices a Session anew
 * that nobody can pay as it is, for instance because its exchange rate is over.
 */
export function requestPayment({ CartId, SessionId, Currency, Country, AutoCapture, Lines }, again = false) {
  return ask("/api/checkout", { CartId, SessionId, Currency, Country, AutoCapture, Lines, Again: again });
}

/** How a payment stands. */
export function readPayment(id) {
  return ask(`/api/payment/${encodeURIComponent(id)}`);
}

/** Its details are on the page with the drop-in, and on the last page too. */
export const TRANSFER = "BANKTRANSFER";

/** The page with the drop-in, which is also CancelUrl; and the last page, which is also CompleteUrl. The SessionId is no secret from the shopper. */
export const payPage = (id) => `/pay?session=${encodeURIComponent(id)}`;
export const paidPage = (id) => `/paid?session=${encodeURIComponent(id)}`;

/**
 * Starts the drop-in inside `place`.
 *
 * `onDone` is called when the shopper is done here: at once, or when the details of a bank transfer were read. onSuccess means that the payment was initiated, not that it is complete: only our server knows that, from the notification ORDER_PROCESSED. A
 * failure that another try can mend stays inside the drop-in. onFailure alone does not say that the Session is over: the page reads the Session then.
 */
export function mountDropin(place, payment, { onDone, onFailure }) {
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
    window.dropin.init({
      target: "#dropin",
      id: payment.SessionId,
      locale: locale(),
      // Where to transfer the money to stays on the screen until the shopper goes on.
      onSuccess: ({ method } = {}) => method === TRANSFER || onDone(),
      onContinue: onDone,
      onFailure,
    });
  } catch (problem) {
    onFailure({ errorCode: "INIT_FAILED", errorMessage: problem.message });
  }
}
