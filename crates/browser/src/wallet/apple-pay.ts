// As much of Apple Pay's interface as the button uses; it exists where the browser has the wallet.

export interface AppleSession {
  onvalidatemerchant: ((event: { readonly validationURL: string }) => void) | null;
  onpaymentauthorized: ((event: { readonly payment: object }) => void) | null;
  oncancel: (() => void) | null;
  begin(): void;
  abort(): void;
  completeMerchantValidation(session: object): void;
  completePayment(result: { readonly status: number }): void;
}

export interface AppleSessions {
  new (version: number, request: object): AppleSession;
  readonly STATUS_SUCCESS: number;
  readonly STATUS_FAILURE: number;
  canMakePayments(): boolean;
}

/** The oldest version whose `completePayment` takes an object; every Safari that we support has it. */
export const VERSION = 3;

/** The interface, where it can pay from this page. */
export function appleSessions(): AppleSessions | null {
  const { ApplePaySession: sessions } = window as { readonly ApplePaySession?: AppleSessions };
  try {
    return sessions?.canMakePayments() === true ? sessions : null;
  } catch {
    // A page without TLS, or in a frame that may not.
    return null;
  }
}
