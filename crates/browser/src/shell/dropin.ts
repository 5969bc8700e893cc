// One drop-in on the merchant's page: owns the frame and its port, turns messages into what the page sees and hears.

import { ENGLISH } from "virtual:fallback";
import { isWebAddress } from "../shared/address";
import { load } from "../shared/lazy-module";
import { CARDS, isFrameMessage, PROTOCOL, type Detail, type ViewModel, type FrameMessage, type PortOffer, type ShellMessage } from "../shared/protocol";
import { applyTheme } from "../shared/theme";
import { diagnose, watchPolicy, type Diagnosis } from "./diagnosis";
import type { Options } from "./options";
import { readTheme, watchTheme } from "./theme";
import { View } from "./view";
import type * as Fallback from "../fallback/fallback";
import type * as Wallet from "../wallet/wallet";

/** Longer than all tries to load the frame and its texts. */
const HANDSHAKE_MS = 35_000;
/** A frame that has loaded says hello at once: after this long its script does not run. */
const HELLO_MS = 700;
/** Before another try to load a frame whose service was in trouble. */
const PAUSES_MS = [500, 1000, 2000];

/** The shopper does not wait longer than this for words in another language than English. */
const WORDS_TIMEOUT_MS = 1_000;

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
  /** Runs until the frame says hello; `undefined` from then on. */
  private hello: ReturnType<typeof setTimeout> | undefined;
  private tries = 0;
  private stopPolicy: () => void;
  /** Whether `onReady` was called. */
  private readySent = false;
  private stopWatching: () => void = () => {};
  private sentTheme = "";
  private state: "loading" | "ready" | "over" = "loading";
  /** The open method; "" when all are closed. */
  private selected: string;
  private busy = false;
  private enabled = false;
  /** What `onChange` was told last. */
  private change = "";
  private wallet: Wallet.WalletButton | undefined;
  /** Whether nothing of it is heard of any more. */
  private retired = false;

  constructor(
    private readonly host: Element,
    readonly root: ShadowRoot,
    private readonly options: Options & { readonly headingLevel: number },
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
    const { hideSubmitButton, headingLevel } = options;
    this.view = new View(source.href, { toggled, pressed: () => this.submitPayment(), hideButtons: hideSubmitButton === true, headingLevel });
    this.view.frame.addEventListener("load", () => this.connect(source.origin));
    this.stopPolicy = watchPolicy(source, (diagnosis) => this.refuse(diagnosis));
    this.awaitFrame();
    this.view.mount(root);
    applyTheme(this.view.element, readTheme(host));
    this.watch();
  }

  submitPayment(): void {
    if (this.state === "ready" && this.selected !== "") this.send({ type: "submit" });
  }

  unselectPaymentMethod(): void {
    this.select("");
  }

  /** Takes the drop-in off the page, whose target is empty again. A payment under way goes on at the service. */
  destroy(): void {
    this.retire();
    this.view.element.remove();
  }

  /** Another instance takes the place of this one: no callback is heard of any more. */
  retire(): void {
    this.retired = true;
    this.stop();
  }

  private stop(): void {
    this.state = "over";
    this.stopTimer();
    this.disconnect();
    this.stopPolicy();
    this.wallet?.abort();
  }

  private disconnect(): void {
    clearTimeout(this.hello);
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
    this.hello = setTimeout(() => void this.findCause(), HELLO_MS);
    const { hideSubmitButton, headingLevel } = this.options;
    this.send({ type: "setup", hideSubmitButton: hideSubmitButton === true, headingLevel });
    this.send({ type: "select", method: this.selected });
    this.sentTheme = "";
    this.relayTheme();
    this.watch();
  }

  /** The frame has loaded, and its script does not run. */
  private async findCause(): Promise<void> {
    const { port } = this;
    const diagnosis = await diagnose(this.base, this.options.id);
    // Meanwhile it may have spoken, be ready, or be another.
    if (this.hello === undefined || this.state !== "loading" || this.port !== port || port === null) return;
    const pause = PAUSES_MS[this.tries++];
    if (diagnosis === null && pause !== undefined) {
      this.hello = setTimeout(() => this.view.loadAgain(this.tries), pause);
    } else {
      this.refuse(diagnosis ?? { code: "SERVICE_UNAVAILABLE", cause: "The payment service did not answer. Its /readyz says why." });
    }
  }

  private refuse({ code, cause }: Diagnosis): void {
    if (this.state === "loading") this.fail(code, cause, "", "");
  }

  private watch(): void {
    this.stopWatching = watchTheme(this.host, () => (this.host.isConnected ? this.relayTheme() : this.leave()));
  }

  /** One span of time from the start, or from the loss of a frame that was ready. */
  private awaitFrame(): void {
    this.timer ??= setTimeout(() => {
      const cause = `The card form at ${this.base.href} did not load within ${HANDSHAKE_MS / 1000} seconds: the service or the way to it is too slow, or away.`;
      this.fail("FRAME_UNAVAILABLE", cause, "", "");
    }, HANDSHAKE_MS);
  }

  private stopTimer(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** The page took the host away. Should it come back, its frame loads anew and is connected again. */
  private leave(): void {
    this.stopTimer();
    this.stopPolicy();
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
      case "hello":
        this.stopPolicy();
        clearTimeout(this.hello);
        this.hello = undefined;
        return;
      case "ready":
        return this.show(message.model);
      case "size":
        return this.view.setHeight(message.height);
      case "choose":
        return this.select(message.open ? CARDS : "");
      case "enabled":
        return this.setEnabled(message.enabled, message.method);
      case "busy":
        this.busy = message.busy;
        return this.view.setBusy(message.busy, message.text);
      case "notice":
        return this.view.setNotice(this.selected, message.text);
      case "status":
        return this.view.showStatus(message.title, message.text);
      case "away":
        this.view.showStatus(message.title, message.text, { goOn: () => this.goTo(message), another: () => this.send({ type: "another" }) });
        if (message.now) this.goTo(message);
        return;
      case "done":
        this.end("done", message.title, message.text, message.details);
        return tell(() => this.options.onSuccess(Object.freeze({ ...message.paid })));
      case "fail":
        if (message.title !== "") this.view.speak(message.lang, message.dir);
        return this.fail(message.code, message.cause, message.title, message.text);
    }
  }

  private show(model: ViewModel): void {
    this.stopTimer();
    const first = !this.readySent;
    this.state = "ready";
    this.view.setLoading(false);
    this.view.showModel(model);
    void this.offerWallet(model);
    const { methods } = model;
    // What is no longer offered cannot stay chosen, and where there is nothing to choose it is chosen.
    const offered = this.selected === "" || methods.some(({ id }) => id === this.selected);
    if (!offered) this.choose((methods.length === 1 && methods[0]?.id) || "");
    else this.view.setSelected(this.selected);
    if (first) {
      this.readySent = true;
      tell(() => this.options.onReady?.());
      // Unless the page has destroyed it just now.
      if (this.state === "ready") this.setEnabled(this.enabled);
    }
  }

  /** The wallet's part is loaded where there is a wallet. */
  private async offerWallet(model: ViewModel): Promise<void> {
    if (model.view.TokenMethods?.length && "ApplePaySession" in window) {
      // From our address: a script that the page loads without CORS has none of its own to begin from.
      const part = await load<typeof Wallet>(WALLET, this.base).catch(() => null);
      if (part !== null && this.state === "ready") this.wallet ??= new part.WalletButton(this.view.accordion, (ask) => this.send({ type: "wallet", ask }));
    }
    this.wallet?.show(model);
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

  private setEnabled(enabled: boolean, method = this.selected): void {
    const change = { method: method || null, complete: enabled };
    const news = JSON.stringify(change);
    // Before the methods are known there is none to tell of.
    if (this.readySent && this.change !== news) {
      this.change = news;
      tell(() => this.options.onChange?.(change));
    }
    if (this.enabled === enabled) return;
    this.enabled = enabled;
    this.view.setEnabled(enabled);
    tell(() => this.options.onSubmitEnabledChange?.(enabled));
  }

  private end(kind: "done" | "fail", title: string, text: string, details: readonly Detail[] = []): void {
    this.stop();
    // What is drawn in the end follows the page's colours like anything before.
    this.watch();
    this.setEnabled(false);
    this.view.showEnd(kind, title, text, details, () => this.goOn());
  }

  /** The shopper has read the details of a transfer. A page that stays sees a plain word of thanks in their place. */
  private goOn(): void {
    this.view.showThanks();
    tell(() => this.options.onContinue?.());
  }

  /** `cause` is told to the page's developer; the shopper, and `onFailure`, hear the words for shoppers. */
  private fail(errorCode: string, cause: string, title: string, text: string): void {
    // Taken away in the task that drew it, before anything was watched.
    if (!this.host.isConnected) return this.leave();
    if (cause !== "") console.error(`Dropin: ${errorCode}: ${cause}`);
    if (text !== "") return this.endFailed(errorCode, title, text);
    this.stop();
    void this.ownWords().then((words) => {
      if (this.retired || !this.host.isConnected) return;
      this.view.speak(words.lang, words.dir);
      this.endFailed(errorCode, words.title, words.text);
    });
  }

  private endFailed(errorCode: string, title: string, errorMessage: string): void {
    this.end("fail", title, errorMessage);
    tell(() => this.options.onFailure?.({ errorCode, errorMessage }));
  }

  /** What to say without the frame's texts: in English at once, in another language from a part of ours that is loaded only then. */
  private async ownWords(): Promise<Fallback.Words> {
    const [title, text] = ENGLISH;
    const english = { lang: "en", dir: "ltr", title, text };
    const languages = [this.options.locale, document.documentElement.lang, ...navigator.languages].filter((language) => language !== undefined);
    if (/^en(?![a-z])/i.test(languages.find((language) => language !== "") ?? "")) return english;
    const late = new Promise<null>((resolve) => setTimeout(resolve, WORDS_TIMEOUT_MS, null));
    const part = await Promise.race([load<typeof Fallback>(FALLBACK, this.base).catch(() => null), late]);
    return part?.wordsIn(languages) ?? english;
  }
}
