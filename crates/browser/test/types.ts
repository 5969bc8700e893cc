// Compiled, never run: dropin.d.ts says what docs/SPECIFICATION.md#drop-in-init says.

import type { DropinInstance } from "../dropin";

const instance: DropinInstance = dropin.init({ target: "#pay", id: "", onSuccess: () => {} });
instance.submitPayment();
instance.unselectPaymentMethod();
instance.destroy();
window.dropin.init({
  target: "#pay",
  id: "",
  onSuccess: () => {},
  onFailure: ({ errorCode, errorMessage }) => `${errorCode}: ${errorMessage}`,
  hideSubmitButton: true,
  onSubmitEnabledChange: (state: boolean) => void state,
  locale: "de_AT",
  onReady: () => {},
  onContinue: () => {},
  onChange: ({ method, complete }) => `${method ?? "none"} ${complete}`,
  onMethodSelected: ({ method }) => `${method ?? "none"}`,
  onAttemptFailed: ({ errorCode, attemptsLeft }) => `${errorCode} ${attemptsLeft + 1}`,
  onRedirect: ({ method }) => method.length,
  headingLevel: 2,
});
dropin.init({ target: "#pay", id: "", onSuccess: ({ state, orderId, method }) => `${state} ${orderId} ${method}` });
// @ts-expect-error: there are six levels
dropin.init({ target: "#pay", id: "", onSuccess: () => {}, headingLevel: 7 });
// @ts-expect-error: onSuccess is required
dropin.init({ target: "#pay", id: "" });
// @ts-expect-error: target is a selector, not an element
dropin.init({ target: document.body, id: "", onSuccess: () => {} });
// @ts-expect-error: there is no such option
dropin.init({ target: "#pay", id: "", onSuccess: () => {}, theme: "dark" });
