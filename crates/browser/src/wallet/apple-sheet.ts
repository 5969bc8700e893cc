// The payment sheet of Apple Pay.

import type { ApplePay, View } from "../payment/api";
import { plainAmountOf } from "../frame/money";
import type { FrameMessage, WalletAsk } from "../shared/protocol";
import { appleSessions, VERSION, type AppleSession } from "./apple-pay";
import type { Sheet } from "./buttons";

/** The wallet closes its sheet after half a minute without a result; before that the drop-in takes over. */
const SHEET_TIMEOUT_MS = 20_000;

export class AppleSheet implements Sheet<ApplePay> {
  readonly name = "Apple Pay";
  readonly type = "APPLEPAY";
  private request: object | null = null;
  private session: AppleSession | null = null;
  private authorized = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ask: (ask: WalletAsk) => void) {}

  canPay(method: ApplePay, view: View): boolean {
    this.request = requestOf(method, view);
    return appleSessions() !== null;
  }

  /** What the shell hears is news for an open sheet too. */
  heard(message: FrameMessage): void {
    const sessions = appleSessions();
    if (this.session === null || sessions === null) return;
    if (message.type === "wallet") this.validate(this.session, message.session);
    else if (message.type === "done") this.finish(sessions.STATUS_SUCCESS);
    else if (message.type === "fail" || (message.type === "busy" && !message.busy)) this.finish(sessions.STATUS_FAILURE);
    // The shopper has to go on elsewhere, which the sheet would cover.
    else if (message.type === "away") this.abort();
  }

  /** The drop-in is gone from the page. */
  abort(): void {
    const session = this.forget();
    try {
      session?.abort();
    } catch {
      // The wallet has closed it meanwhile.
    }
  }

  begin(): void {
    const sessions = appleSessions();
    if (sessions === null || this.request === null || this.session !== null) return;
    const session = new sessions(VERSION, this.request);
    this.session = session;
    session.onvalidatemerchant = ({ validationURL }) => this.ask({ validationURL: String(validationURL) });
    session.onpaymentauthorized = ({ payment }) => this.pay(payment);
    session.oncancel = () => void this.forget();
    session.begin();
  }

  private validate(session: AppleSession, answer: object): void {
    if (Object.keys(answer).length === 0) this.abort();
    else session.completeMerchantValidation(answer);
  }

  private pay(payment: object): void {
    this.authorized = true;
    this.timer = setTimeout(() => this.abort(), SHEET_TIMEOUT_MS);
    // Nothing but data goes on: what the wallet hands over may have behaviour of its own.
    this.ask({ token: { Type: this.type, Data: JSON.parse(JSON.stringify(payment)) as object } });
  }

  /** Something else has ended the payment while the sheet still asked: the sheet goes. */
  private finish(status: number): void {
    if (this.authorized) this.forget()?.completePayment({ status });
    else this.abort();
  }

  private forget(): AppleSession | null {
    const { session } = this;
    clearTimeout(this.timer);
    [this.session, this.authorized] = [null, false];
    return session;
  }
}

function requestOf({ Parameters }: ApplePay, view: View): object {
  const { CountryCode: countryCode, SupportedNetworks: supportedNetworks, MerchantCapabilities: merchantCapabilities } = Parameters;
  const total = { label: view.MerchantName, amount: plainAmountOf(view, "en"), type: "final" };
  return { countryCode, currencyCode: view.Currency, supportedNetworks, merchantCapabilities, total };
}
