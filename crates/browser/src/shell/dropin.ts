// One drop-in on the merchant's page: owns the frame and its port, turns messages into what the page sees and hears.

import { isWebAddress } from "../shared/address";
import { load } from "../shared/part";
import { CARDS, isFrameMessage, PROTOCOL, type Detail, type Face, type FrameMessage, type PortOffer, type ShellMessage } from "../shared/protocol";
import { applyTheme } from "../shared/theme";
import type { Options } from "./options";
import { readTheme, watchTheme } from "./theme";
import { View } from "./view";
import type * as Wallet from "../wallet/wallet";

/** Longer than all the frame's own tries to load the Session. */
const HANDSHAKE_MS = 35_000;

/** Runs a callback of the page; what it throws is the page's, and is reported as such. */
function tell(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    reportError(error);
  }
}

type Away = Extract<FrameMessage, { type: "away" }>;

/**
 * Whether the bank's page may be nested here. On a page that is isolated from other origins a bank is shown only by browsers that
 * can frame it without its cookies.
 */
const canNest = (): boolean => !crossOriginIsolated || "credentialless" in HTMLIFrameElement.prototype;

export class Dropin {
  private readonly view: View;
  private port: MessagePort | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopWatching: () => void = () => {};
  private sentTheme = "";
  private state: "loading" | "ready" | "over" = "loading";
  /** The open method; "" when all are closed. */
  private selected: string;
  private busy = false;
  private enabled = false;
  private wallet: Wallet.WalletButton | undefined;

  constructor(
    private readonly host: Element,
    readonly root: ShadowRoot,
    private readonly options: Options,
    private readonly base: URL,
    /** Whose place this one takes on the page. */
    earlier?: Dropin,
  ) {
    // A page that draws itself anew must not make its shopper choose again.
    this.selected = earlier?.options.id === options.id ? earlier.selected : CARDS;
    const source = new URL("frame.html", base);
    const lang = document.documentElement.lang;
    const locale = (options.locale ?? (lang || navigator.language)).replaceAll("-", "_");
    source.search = new URLSearchParams({ session: options.id, locale }).toString();
    // For the frame alone: the page's language, should there be no texts in the wanted one.
    source.hash = lang;
    const toggled = (method: string): void => this.select(this.selected === method ? "" : method);
    this.view = new View(source.href, { toggled, pressed: () => this.submitPayment(), hideButtons: options.hideSubmitButton === true });
    this.view.frame.addEventListener("load", () => this.connect(source.origin));
    this.awaitFrame();
    this.view.mount(root);
    applyTheme(this.view.element, readTheme(host));
  }

  submitPayment(): void {
    if (this.state === "ready" && this.selected !== "") this.send({ type: "submit" });
  }

  unselectPaymentMethod(): void {
    this.select("");
  }

  /** Another instance takes the place of this one: no callback is heard of any more. */
  retire(): void {
    this.state = "over";
    this.stopTimer();
    this.disconnect();
    this.wallet?.abort();
  }

  private disconnect(): void {
    this.stopWatching();
    this.port?.close();
    this.port = null;
  }

  /** Each time the frame has loaded (again): give it a port of its own. */
  private connect(origin: string): void {
    if (this.state === "over") return;
    this.disconnect();
    this.awaitFrame();
    this.state = "loading";
    this.view.setLoading(true);
    this.setEnabled(false);
    const channel = new MessageChannel();
    this.port = channel.port1;
    this.port.onmessage = (event) => {
      if (isFrameMessage(event.data)) this.heard(event.data);
    };
    const offer: PortOffer = { type: "dropin-port", protocol: PROTOCOL };
    this.view.frame.contentWindow?.postMessage(offer, origin, [channel.port2]);
    this.send({ type: "setup", hideSubmitButton: this.options.hideSubmitButton === true });
    this.send({ type: "select", method: this.selected });
    this.sentTheme = "";
    this.relayTheme();
    this.watch();
  }

  private watch(): void {
    this.stopWatching = watchTheme(this.host, () => (this.host.isConnected ? this.relayTheme() : this.leave()));
  }

  /** One span of time from the start, or from the loss of a frame that was ready. */
  private awaitFrame(): void {
    this.timer ??= setTimeout(() => {
      const message = "The payment form did not answer. Check that the page's origin is registered for the merchant and its CSP admits the frame.";
      this.fail("FRAME_UNAVAILABLE", message, "", "");
    }, HANDSHAKE_MS);
  }

  private stopTimer(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** The page took the host away. Should it come back, its frame loads anew and is connected again. */
  private leave(): void {
    this.stopTimer();
    this.disconnect();
  }

  private send(message: ShellMessage): void {
    this.port?.postMessage(message);
  }

  private relayTheme(): void {
    const theme = readTheme(this.host);
    const now = JSON.stringify(theme);
    if (now === this.sentTheme) return;
    this.sentTheme = now;
    applyTheme(this.view.element, theme);
    this.send({ type: "theme", theme });
  }

  private heard(message: FrameMessage): void {
    if (this.state === "over") return;
    this.wallet?.heard(message);
    switch (message.type) {
      case "ready":
        return this.show(message.face);
      case "size":
        return this.view.setHeight(message.height);
      case "enabled":
        return this.setEnabled(message.enabled);
      case "busy":
        this.busy = message.busy;
        return this.view.setBusy(message.busy, message.text);
      case "notice":
        return this.view.setNotice(this.selected, message.text);
      case "status":
        return this.view.showStatus(message.title, message.text);
      case "away":
        this.view.showStatus(message.title, message.text, () => this.goTo(message));
        if (message.now) this.goTo(message);
        return;
      case "done":
        this.end("done", message.title, message.text, message.details);
        return tell(() => this.options.onSuccess());
      case "fail":
        if (message.title !== "") this.view.speak(message.lang, message.dir);
        return this.fail(message.code, message.message, message.title, message.text);
    }
  }

  private show(face: Face): void {
    this.stopTimer();
    this.state = "ready";
    this.view.setLoading(false);
    this.view.showFace(face);
    void this.offerWallet(face);
    const { methods } = face;
    // What is no longer offered cannot stay chosen, and where there is nothing to choose it is chosen.
    const offered = this.selected === "" || methods.some(({ id }) => id === this.selected);
    if (!offered) this.choose((methods.length === 1 && methods[0]?.id) || "");
    else this.view.setSelected(this.selected);
  }

  /** The wallet's part is loaded where there is a wallet. */
  private async offerWallet(face: Face): Promise<void> {
    if (face.view.TokenMethods?.length && "ApplePaySession" in window) {
      // From our address: a script that the page loads without CORS has none of its own to begin from.
      const part = await load<typeof Wallet>(WALLET, this.base).catch(() => null);
      if (part !== null && this.state === "ready") this.wallet ??= new part.WalletButton(this.view.accordion, (ask) => this.send({ type: "wallet", ask }));
    }
    this.wallet?.show(face);
  }

  private select(method: string): void {
    if (this.state === "over" || this.busy || this.selected === method) return;
    this.choose(method);
  }

  private choose(method: string): void {
    this.selected = method;
    this.view.setSelected(method);
    this.send({ type: "select", method });
  }

  /** Takes the shopper where the payment goes on: the bank's page in a dialog, any other in place of this page. */
  private goTo({ url, challenge }: Away): void {
    const leave = (): void => {
      this.view.closeChallenge();
      if (isWebAddress(url)) location.assign(url);
    };
    if (!challenge || !canNest()) return leave();
    const source = new URL("challenge.html", this.base);
    source.search = new URLSearchParams({ session: this.options.id, ...(crossOriginIsolated && { isolated: "1" }) }).toString();
    void this.view.openChallenge(source, leave);
  }

  private setEnabled(enabled: boolean): void {
    if (this.enabled === enabled) return;
    this.enabled = enabled;
    this.view.setEnabled(enabled);
    tell(() => this.options.onSubmitEnabledChange?.(enabled));
  }

  private end(kind: "done" | "fail", title: string, text: string, details: readonly Detail[] = []): void {
    this.retire();
    // What is drawn in the end follows the page's colours like anything before.
    this.watch();
    this.setEnabled(false);
    this.view.showEnd(kind, title, text, details);
  }

  private fail(errorCode: string, errorMessage: string, title: string, text: string): void {
    // Without the frame there are no translations; the page, which knows its shopper, hears of it below.
    if (title === "") this.view.speak("en", "ltr");
    this.end("fail", title || "The payment form did not load", text || "Check your connection and load this page again.");
    tell(() => this.options.onFailure?.({ errorCode, errorMessage }));
  }
}
