// One drop-in on the merchant's page: owns the frame and its port, turns messages into what the page sees and hears.

import { ENGLISH } from "virtual:fallback";
import { isWebAddress } from "../shared/address";
import { insist, load } from "../shared/lazy-module";
import { CARDS, isFrameMessage, PROTOCOL, type Detail, type FrameMessage, type PortOffer, type ShellMessage, type ViewModel } from "../shared/protocol";
import { applyTheme, resolvedTheme } from "../shared/theme";
import type { Options } from "./options";
import { readTheme, watchTheme } from "./theme";
import { View } from "./view";
import type * as Fallback from "../fallback/fallback";
import type * as Progress from "../progress/progress";

/** Longer than all tries to load the frame and its texts. */
const HANDSHAKE_MS = 35_000;
/** A frame that has loaded says hello at once: after this long its script does not run. */
const HELLO_MS = 700;
/** Before another try to load a frame whose service was in trouble. */
const PAUSES_MS = [500, 1000, 2000];
/** After this many the page's developer hears that a part does not come. */
const MAX_QUIET_TRIES = 4;
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

/** Tells the page's developer. */
function report(code: string, cause: string): void {
  console.error(`Dropin: ${code}: ${cause}`);
}

export class Dropin {
  private readonly view: View;
  private port: MessagePort | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Runs until the frame says hello; `undefined` from then on. */
  private hello: ReturnType<typeof setTimeout> | undefined;
  private tries = 0;
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
  /** Draws what follows the form; what there is for it to do meanwhile waits. */
  private progress: Progress.Progress | undefined;
  private waiting: ((progress: Progress.Progress) => void)[] | undefined;
  /** Where the shopper has to go at once, should the part that shows it not come. */
  private away = "";
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
    // In this order; the service chooses the first that there are texts for.
    const locale = this.languages().join().replaceAll("-", "_");
    source.search = new URLSearchParams({ session: options.id, locale }).toString();
    this.view = new View(source.href, options.headingLevel, (method) => this.select(this.selected === method ? "" : method));
    this.view.frame.addEventListener("load", () => this.connect(source.origin));
    document.addEventListener("securitypolicyviolation", this.blocked);
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
    this.progress?.stop();
  }

  private stopPolicy(): void {
    document.removeEventListener("securitypolicyviolation", this.blocked);
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

  /** The page's own Content-Security-Policy has blocked something, maybe the frame. */
  private readonly blocked = (event: SecurityPolicyViolationEvent): void => {
    const { origin } = this.base;
    const directive = event.effectiveDirective;
    if (event.disposition !== "enforce" || !event.blockedURI.startsWith(origin) || !/^(?:frame|child|default)-src/.test(directive)) return;
    this.refuse("FRAME_BLOCKED", `This page's Content-Security-Policy (${directive}) blocks the card form. Extend its frame-src directive: frame-src ${origin}`);
  };

  /** The frame has loaded, and its script does not run. */
  private async findCause(): Promise<void> {
    const { port, base } = this;
    const part = await this.fallback();
    const { code, cause, passes } = part ? await part.diagnose(base, this.options.id) : { code: "FRAME_UNAVAILABLE", cause: `Nothing answers at ${base.href}` };
    // Meanwhile it may have spoken, be ready, or be another.
    if (this.hello === undefined || this.port !== port || port === null) return;
    const pause = PAUSES_MS[this.tries++];
    if (passes && pause !== undefined) this.hello = setTimeout(() => this.view.loadAgain(this.tries), pause);
    else this.refuse(code, cause);
  }

  /** Tells the page's developer, with what there is to mend. */
  private async explain(code: string, message: string): Promise<void> {
    report(code, (await this.fallback())?.causeOf(code, message) ?? message);
  }

  private refuse(code: string, cause: string): void {
    if (this.state === "loading") this.fail(code, cause, "", "");
  }

  private fallback(): Promise<typeof Fallback | null> {
    return load<typeof Fallback>(FALLBACK, this.base).catch(() => null);
  }

  private watch(): void {
    this.stopWatching = watchTheme(this.host, () => (this.host.isConnected ? this.relayTheme() : this.leave()));
  }

  /** One span of time from the start, or from the loss of a frame that was ready. */
  private awaitFrame(): void {
    this.timer ??= setTimeout(() => {
      const cause = `The card form at ${this.base.href} did not load within ${HANDSHAKE_MS / 1000} s: the service is slow or away.`;
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
    this.send({ type: "theme", theme: resolvedTheme(this.view.element, theme) });
  }

  private heard(message: FrameMessage): void {
    if (this.state === "over") return;
    switch (message.type) {
      case "hello":
        this.stopPolicy();
        clearTimeout(this.hello);
        this.hello = undefined;
        return;
      case "size":
        return this.view.setHeight(message.height);
      case "choose":
        return this.select(message.open ? CARDS : "");
      case "enabled":
        return this.setEnabled(message.enabled, message.method);
      case "fail":
        this.progress?.heard(message);
        if (message.title !== "") this.view.speak(message.lang, message.dir);
        // Before there was a form it is the page's developer who can mend that.
        if (this.state === "loading") void this.explain(message.code, message.message);
        return this.fail(message.code, "", message.title, message.text);
      case "done":
        this.progress?.heard(message);
        this.end("done", message.title, message.text, message.details);
        return tell(() => this.options.onSuccess(Object.freeze({ ...message.paid })));
      case "ready":
        this.show(message.model);
        break;
      case "busy":
        this.busy = message.busy;
        this.view.setBusy(message.busy);
        break;
      case "attempt":
        return tell(() => this.options.onAttemptFailed?.({ errorCode: message.code, attemptsLeft: message.left }));
      case "away":
        this.away = message.now ? message.url : "";
    }
    this.draw((progress) => progress.heard(message));
  }

  /** Has the part that draws what follows the form do something; loads it when it is not there. */
  private draw(run: (progress: Progress.Progress) => void): void {
    if (this.progress) return run(this.progress);
    if (this.waiting) return void this.waiting.push(run);
    this.waiting = [run];
    void insist<typeof Progress>(PROGRESS, this.base, (tries) => this.missed(tries)).then((part) => {
      // Should the page put the drop-in back, its frame says everything anew.
      if (part === null) this.waiting = undefined;
      if (part === null || this.retired) return;
      const { base, options, view } = this;
      this.progress = new part.Progress(view, {
        base,
        load,
        session: options.id,
        hideButtons: options.hideSubmitButton === true,
        pressed: () => this.submitPayment(),
        send: (message) => this.send(message),
        selected: () => this.selected,
        leave: (url) => this.leaveFor(url),
      });
      for (const waiting of this.waiting ?? []) waiting(this.progress);
    });
  }

  /** That part did not come. It is asked for again, but a bank that waits for the shopper is gone to at once. */
  private missed(tries: number): boolean {
    if (tries === MAX_QUIET_TRIES) void this.explain("SCRIPT_BLOCKED", `${this.base.href}progress.js`);
    this.leaveFor(this.away);
    return !this.retired && this.host.isConnected;
  }

  /** The payment goes on elsewhere. The page hears of it while it is still there. */
  private leaveFor(url: string): void {
    if (!isWebAddress(url)) return;
    tell(() => this.options.onRedirect?.({ method: this.selected }));
    location.assign(url);
  }

  private show(model: ViewModel): void {
    this.stopTimer();
    const first = !this.readySent;
    this.state = "ready";
    this.view.setLoading(false);
    this.view.showModel(model);
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

  private select(method: string): void {
    if (this.state === "over" || this.busy || this.selected === method) return;
    this.choose(method);
  }

  private choose(method: string): void {
    this.selected = method;
    this.view.setSelected(method);
    this.send({ type: "select", method });
    if (this.readySent) tell(() => this.options.onMethodSelected?.({ method: method || null }));
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
    this.draw((progress) => progress.setEnabled(enabled));
    tell(() => this.options.onSubmitEnabledChange?.(enabled));
  }

  private end(kind: "done" | "fail", title: string, text: string, details: readonly Detail[] = []): void {
    this.stop();
    // What is drawn in the end follows the page's colours like anything before.
    this.watch();
    this.setEnabled(false);
    const end = this.view.showEnd(kind, title, text);
    this.draw((progress) => progress.dress(end, details, () => tell(() => this.options.onContinue?.())));
  }

  /** `cause` is told to the page's developer; the shopper, and `onFailure`, hear the words for shoppers. */
  private fail(errorCode: string, cause: string, title: string, text: string): void {
    // Taken away in the task that drew it, before anything was watched.
    if (!this.host.isConnected) return this.leave();
    if (this.state === "over") return;
    if (cause !== "") report(errorCode, cause);
    if (text !== "") return this.endFailed(errorCode, title, text);
    // Heard of no more, though there is nothing to read yet.
    this.state = "over";
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

  /** What to say without the frame's texts: from a part of ours that is loaded only then, or in English. */
  private async ownWords(): Promise<Fallback.Words> {
    const late = new Promise<null>((resolve) => setTimeout(resolve, WORDS_TIMEOUT_MS, null));
    const part = await Promise.race([this.fallback(), late]);
    const [title, text] = ENGLISH;
    return part?.wordsIn(this.languages()) ?? { lang: "en", dir: "ltr", title, text };
  }

  /** What the shopper may read, first of all what the page wants. */
  private languages(): string[] {
    return [this.options.locale ?? "", document.documentElement.lang, ...navigator.languages].filter(Boolean);
  }
}
