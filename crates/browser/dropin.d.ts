/** Types of the drop-in that `{asset_url}/v1/dropin.js` defines. */

export interface DropinError {
  /** For programs, e.g. `PAYMENT_DECLINED`, `CANCELLED_BY_SHOPPER`, `SESSION_NOT_FOUND`, `FRAME_UNAVAILABLE`. */
  readonly errorCode: string;
  /** For people. Not for logic: the wording may change. */
  readonly errorMessage: string;
}

export interface DropinOptions {
  /** CSS selector of an empty element of the page. */
  target: string;
  /** The SessionId that your server received from `POST /v1/session`. */
  id: string;
  /**
   * Called once when the payment was initiated, for a bank transfer when its details are shown. It is complete only with your
   * `ORDER_PROCESSED` notification.
   */
  onSuccess: () => void;
  /** Called once on an error that cannot be recovered inside the Session; create a new Session to try again. */
  onFailure?: (error: DropinError) => void;
  /** `true` leaves out the drop-in's own button; call `submitPayment()` from yours. */
  hideSubmitButton?: boolean;
  /** Called whenever the value changes; it starts as `false`. */
  onSubmitEnabledChange?: (state: boolean) => void;
  /** `language_COUNTRY`, e.g. `de_AT`. Left out, the page's `<html lang>` and then the browser's languages decide. */
  locale?: string;
}

export interface DropinInstance {
  /** The same as pressing the drop-in's own button. Does nothing while a payment is under way. */
  submitPayment(): void;
  /** Closes the selected payment method. */
  unselectPaymentMethod(): void;
}

export interface Dropin {
  init(options: DropinOptions): DropinInstance;
}

declare global {
  interface Window {
    readonly dropin: Dropin;
  }
  /** Defined by dropin.js. */
  const dropin: Dropin;
}
