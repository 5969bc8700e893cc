// Compiled, never run: dropin.d.ts says what the contract says.

import type { DropinInstance } from "../dropin";

const instance: DropinInstance = dropin.init({ target: "#pay", id: "", onSuccess: () => {} });
instance.submitPayment();
instance.unselectPaymentMethod();
window.dropin.init({
  target: "#pay",
  id: "",
  onSuccess: () => {},
  onFailure: ({ errorCode, errorMessage }) => `${errorCode}: ${errorMessage}`,
  hideSubmitButton: true,
  onSubmitEnabledChange: (state: boolean) => void state,
  locale: "de_AT",
});
// @ts-expect-error: onSuccess is required
dropin.init({ target: "#pay", id: "" });
// @ts-expect-error: target is a selector, not an element
dropin.init({ target: document.body, id: "", onSuccess: () => {} });
// @ts-expect-error: there is no such option
dropin.init({ target: "#pay", id: "", onSuccess: () => {}, theme: "dark" });
