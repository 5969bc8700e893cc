// What the page's developer has to change where there is no form, or not all of the drop-in, by the code of the failure.

const CAUSES: Readonly<Record<string, (origin: string, message: string) => string>> = {
  ORIGIN_NOT_ALLOWED: (origin) =>
    `Pages of ${origin} may not embed the drop-in for this Session. Either the Session is another merchant's, or the origin is not registered: `
    + `dropin merchant set MERCHANT_ID --origin ${origin} (repeat --origin for every origin of the shop: the list is replaced).`,
  SESSION_NOT_FOUND: (_origin, message) => `${message} Pass the SessionId that POST {base_url}/v1/session answered, of this deployment, as \`id\`.`,
  NO_PAYMENT_METHOD: () =>
    "No payment method fits the Session's billing country, currency, amount and AutoCapture: GET {checkout_url}/v2.22/getPaymentMethods lists what does.",
  SCRIPT_BLOCKED: (_origin, message) => `${message} cannot be loaded. Until it comes, the card form is all there is.`,
  SERVICE_UNAVAILABLE: () => "The payment service did not answer. Its /readyz says why.",
};

/** `message` is the service's, for a code that nothing more is known of. */
export function causeOf(code: string, message: string): string {
  return CAUSES[code]?.(location.origin, message) ?? message;
}
