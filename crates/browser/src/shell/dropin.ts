// One drop-in on the merchant's page: owns the frame and its port, turns messages into what the page sees and hears.

import { isFrameMessage, PROTOCOL, type FrameMessage, type PortOffer, type ShellMessage } from "../shared/protocol";
import { applyTheme } from "../shared/theme";
import type { Options } from "./options";
import { readTheme, watchTheme } from "./theme";
import { View } from "./view";

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

export class Dropin {
  private readonly view: View;
  private port: MessagePort | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopWatching: () => void = () => {};
  private sentTheme = "";
  private state: "loading" | "ready" | "over" = "loading";
  private selected = true;
  private busy = false;
  private enabled = false;

  constructor(
    private readonly host: Element,
    readonly root: ShadowRoot,
    private readonly options: Options,
    base: URL,
  ) {
    const source = new URL("frame.html", base);
    const lang = document.documentElement.lang;
    const locale = (options.locale ?? (lang || navigator.language)).replaceAll("-", "_");
    source.search = new URLSearchParams({ session: options.id, locale }).toString();
    // For the frame alone: the page's language, should there be no texts in the wanted one.
    source.hash = lang;
    this.view = new View(source.href, () => this.select(!this.selected));
    this.view.frame.addEventListener("load", () => this.connect(source.origin));
    applyTheme(this.view.element, readTheme(host));
    this.awaitFrame();
    this.view.mount(root);
  }

  submitPayment(): void {
    if (this.state === "ready" && this.selected) this.send({ type: "submit" });
  }

  unselectPaymentMethod(): void {
    this.select(false);
  }

  /** Another instance takes the place of this one: no callback is heard of any more. */
  retire(): void {
    this.state = "over";
    this.stopTimer();
    this.disconnect();
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
    this.send({ type: "select", selected: this.selected });
    this.sentTheme = "";
    this.relayTheme();
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
    switch (message.type) {
      case "ready":
        this.stopTimer();
        this.state = "ready";
        this.view.setLoading(false);
        return this.view.showFace(message.face);
      case "size":
        return this.view.setHeight(message.height);
      case "enabled":
        return this.setEnabled(message.enabled);
      case "busy":
        this.busy = message.busy;
        return this.view.setBusy(message.busy);
      case "done":
        this.end("done", message.title, message.text);
        return tell(() => this.options.onSuccess());
      case "fail":
        if (message.title !== "") this.view.speak(message.lang, message.dir);
        return this.fail(message.code, message.message, message.title, message.text);
    }
  }

  private select(selected: boolean): void {
    if (this.state === "over" || this.busy || this.selected === selected) return;
    this.selected = selected;
    this.view.setSelected(selected);
    this.send({ type: "select", selected });
  }

  private setEnabled(enabled: boolean): void {
    if (this.enabled === enabled) return;
    this.enabled = enabled;
    tell(() => this.options.onSubmitEnabledChange?.(enabled));
  }

  private end(kind: "done" | "fail", title: string, text: string): void {
    this.retire();
    this.setEnabled(false);
    this.view.showEnd(kind, title, text);
  }

  private fail(errorCode: string, errorMessage: string, title: string, text: string): void {
    // Without the frame there are no translations; the page, which knows its shopper, hears of it below.
    if (title === "") this.view.speak("en", "ltr");
    this.end("fail", title || "The payment form did not load", text || "Check your connection and load this page again.");
    tell(() => this.options.onFailure?.({ errorCode, errorMessage }));
  }
}
