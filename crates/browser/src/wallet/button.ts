// The shell's part: the wallet's button above the other methods, and the payment sheet that it opens.
//
// The sheet belongs to the top-level page and must be opened in the click itself. What comes of the payment is told by the same
// messages that the shell hears anyway.

import { h, setState } from "../shared/dom";
import type { TokenMethod, View } from "../payment/api";
import { plainAmountOf } from "../frame/money";
import type { ViewModel, FrameMessage, WalletAsk } from "../shared/protocol";
import { say } from "../shared/strings";
import { addStyles } from "../shared/styles";
import { appleSessions, VERSION, type AppleSession } from "./apple-pay";
import css from "./wallet.css";

const NAME = "Apple Pay";
/** Its name in the catalogue and in the stash. */
const TYPE = "APPLEPAY";
/** The wallet closes its sheet after half a minute without a result; before that the drop-in takes over. */
const SHEET_TIMEOUT_MS = 20_000;

export class WalletButton {
  private readonly label = h("span");
  private readonly button = h("button", { type: "button" }, this.label);
  private readonly or = h("span");
  private readonly element = h("div", { class: "wallet", hidden: true }, this.button, h("div", { class: "or" }, this.or));
  private request: object | null = null;
  private busy = false;
  private session: AppleSession | null = null;
  private authorized = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(place: Element, private readonly ask: (ask: WalletAsk) => void) {
    addStyles(place.getRootNode() as ShadowRoot, css);
    this.button.addEventListener("click", () => this.begin());
    place.prepend(this.element);
  }

  /** Shows the button where it can pay what is asked for now; else there is nothing to see. */
  show({ view, strings }: ViewModel): void {
    const method = view.TokenMethods?.find(({ Type }) => Type === TYPE);
    this.request = method ? requestOf(method, view) : null;
    this.label.textContent = say(strings, "walletPay", { name: NAME });
    this.or.textContent = say(strings, "walletOr");
    this.element.hidden = this.request === null || appleSessions() === null;
  }

  /** What the shell hears is news for an open sheet too. */
  heard(message: FrameMessage): void {
    if (message.type === "busy") {
      this.busy = message.busy;
      setState(this.button, "aria-disabled", message.busy);
    }
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

  private begin(): void {
    const sessions = appleSessions();
    if (sessions === null || this.request === null || this.busy || this.session !== null) return;
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
    this.ask({ token: { Type: TYPE, Data: JSON.parse(JSON.stringify(payment)) as object } });
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

function requestOf({ Parameters }: TokenMethod, view: View): object {
  const { CountryCode: countryCode, SupportedNetworks: supportedNetworks, MerchantCapabilities: merchantCapabilities } = Parameters;
  const total = { label: view.MerchantName, amount: plainAmountOf(view, "en"), type: "final" };
  return { countryCode, currencyCode: view.Currency, supportedNetworks, merchantCapabilities, total };
}
