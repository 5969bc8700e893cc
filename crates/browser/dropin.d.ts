/** Types of the drop-in that `{asset_url}/v1/dropin.js` defines. */

export interface DropinError {
  /** For programs, e.g. `PAYMENT_DECLINED`, `SESSION_EXPIRED`, `ORIGIN_NOT_ALLOWED`, `FRAME_BLOCKED`. More will come. */
  readonly errorCode: string;
  /** A sentence for the shopper in the shopper's language. Not for logic: the wording may change. */
  readonly errorMessage: string;
}

export interface DropinResult {
  /** State of the Order, e.g. `PAYMENT_AUTHORIZED`, `PROCESSED`; `PROCESSING` while a bank transfer is awaited. */
  readonly state: string;
  readonly orderId: string;
  /** Id of what paid it, e.g. `VISA`, `IDEAL`, `BANKTRANSFER`. */
  readonly method: string;
}

export interface DropinChange {
  /** `CARD` for all card schemes and saved cards, else the method's id; `null` while none is open. */
  readonly method: string | null;
  /** Whether it can be submitted now. */
  readonly complete: boolean;
}

export interface DropinSelection {
  /** `CARD` for all card schemes and saved cards, else the method's id; `null` when it was closed. */
  readonly method: string | null;
}

export interface DropinAttempt {
  /** Why, for programs, e.g. `PAYMENT_DECLINED`, `PAGE_CANCELLED`. The exact reason is in `Attempts` of the Session, for your server alone. */
  readonly errorCode: string;
  /** How many more the shopper has in this Session. */
  readonly attemptsLeft: number;
}

export interface DropinRedirect {
  /** Id of the method that is open then, `CARD` for a bank's page; empty when none is, as on a page that was loaded again. */
  readonly method: string;
}

export interface DropinOptions {
  /** CSS selector of an empty element of the page. */
  target: string;
  /** The SessionId that your server received from `POST /v1/session`. */
  id: string;
  /**
   * Called once when the payment was initiated, for a bank transfer when its details are shown. It is complete only with your
   * `ORDER_PROCESSED` notification. Leave the page for a bank transfer in `onContinue` only: until then the shopper needs the details.
   */
  onSuccess: (result: DropinResult) => void;
  /** Called once when the shopper has read the details of a bank transfer and goes on. */
  onContinue?: () => void;
  /** Called once when the payment methods are shown, or how a payment stands that was begun before. */
  onReady?: () => void;
  /** Called after `onReady`, and whenever the open method, or whether it can be submitted, changes. */
  onChange?: (change: DropinChange) => void;
  /** Called after `onReady`, whenever the shopper opens another method or closes it. */
  onMethodSelected?: (selection: DropinSelection) => void;
  /** Called for each attempt that failed in this page and that another may follow. The form tells the shopper why: nothing is to be done. */
  onAttemptFailed?: (attempt: DropinAttempt) => void;
  /** Called just before this page is left for a provider's or a bank's, and again each time that leaving is tried again. */
  onRedirect?: (redirect: DropinRedirect) => void;
  /**
   * Called once when nothing can be paid any more in this Session or on this page. A declined card is none of it: the shopper tries again
   * in the form. Read the Session then, and create another only when its State is FAILED or CANCELLED: else the shopper may pay twice.
   */
  onFailure?: (error: DropinError) => void;
  /** `true` leaves out the drop-in's own button; call `submitPayment()` from yours. */
  hideSubmitButton?: boolean;
  /** Called whenever the value changes; it starts as `false`. */
  onSubmitEnabledChange?: (state: boolean) => void;
  /** `language_COUNTRY`, e.g. `de_AT`. Left out, the page's `<html lang>` and then the browser's languages decide. */
  locale?: string;
  /** Level of the drop-in's headings, 0 for none. Left out, one below the heading that precedes it on the page. */
  headingLevel?: 0 | 1 | 2 | 3 | 4 | 5 | 6;
}

export interface DropinInstance {
  /** The same as pressing the drop-in's own button. Does nothing while a payment is under way. */
  submitPayment(): void;
  /** Closes the selected payment method. */
  unselectPaymentMethod(): void;
  /** Takes the drop-in off the page and ends all callbacks. A payment under way goes on at the service. */
  destroy(): void;
}

export interface Dropin {
  init(options: DropinOptions): DropinInstance;
  /** The folder that the script is from, `{asset_url}/v1/`. */
  readonly base: string;
}

declare global {
  interface Window {
    readonly dropin: Dropin;
  }
  /** Defined by dropin.js. */
  const dropin: Dropin;
}
