// Entry of progress.js: what the shell draws once the form is there. Panels of the methods beside the card, how a payment stands, the way to the
// bank, the wallet, and what is added to the final panel. The shell loads it as soon as the form is ready, and hands on all that it hears.

import { CHECK, CROSS, h, icon, setNotice } from "../shared/dom";
import type { load } from "../shared/lazy-module";
import { CARDS, type Detail, type FrameMessage, type ShellMessage, type ViewModel } from "../shared/protocol";
import { say } from "../shared/strings";
import { addStyles } from "../shared/styles";
import { detailList } from "./bank";
import { MethodPanel } from "./method-panel";
import type { View } from "../shell/view";
import noticeCss from "../shared/notice.css";
import payCss from "../shared/pay.css";
import plainCss from "../shared/plain.css";
import css from "./progress.css";
import type * as Dialog from "../dialog/dialog";
import type * as Wallet from "../wallet/wallet";

/** What the shell does for this part. */
export interface Shell {
  readonly base: URL;
  /** Knows the nonce of the page's policy, of which only the first script is told. */
  readonly load: typeof load;
  readonly session: string;
  readonly hideButtons: boolean;
  /** The button of a method was pressed. */
  readonly pressed: () => void;
  readonly send: (message: ShellMessage) => void;
  /** The open method; "" when none is. */
  readonly selected: () => string;
  /** Takes the shopper to where the payment goes on. */
  readonly leave: (url: string) => void;
}

type Away = Extract<FrameMessage, { type: "away" }>;

/**
 * Whether the bank's page may be nested here. On a page that is isolated from other origins a bank is shown only by browsers that
 * can frame it without its cookies.
 */
const canNest = (): boolean => !crossOriginIsolated || "credentialless" in HTMLIFrameElement.prototype;

export class Progress {
  private readonly panels = new Map<string, MethodPanel>();
  /** What is to be read while no method is open. */
  private readonly notice = h("div", { class: "notice", hidden: true });
  private readonly status = h("section", { class: "end status", tabindex: "-1", "aria-labelledby": "status" });
  /** There once a bank has asked. */
  private challenge: Dialog.Challenge | undefined;
  private turn = 0;
  private wallet: Wallet.WalletButtons | undefined;
  private merchant = "";
  private enabled = false;
  private isOver = false;

  constructor(private readonly view: View, private readonly shell: Shell) {
    addStyles(view.element.getRootNode() as ShadowRoot, noticeCss + payCss + plainCss + css);
    view.accordion.before(this.notice);
    view.accordion.after(this.status);
  }

  /** Everything that the frame says comes here, in its order. */
  heard(message: FrameMessage): void {
    this.wallet?.heard(message);
    switch (message.type) {
      case "ready":
        return this.showModel(message.model);
      case "busy":
        return this.setBusy(message.busy, message.text);
      case "notice":
        return this.setNotice(message.text);
      case "status":
        return this.showStatus(message.title, message.text);
      case "away":
        this.showStatus(message.title, message.text, message);
        if (message.now) this.goTo(message);
    }
  }

  /** What the buttons of methods other than the card say of themselves. */
  setEnabled(enabled: boolean): void {
    this.enabled = enabled;
    for (const panel of this.panels.values()) panel.setEnabled(enabled);
  }

  /** Adds to the final panel what a payment has come to. Details stay in sight until the shopper has read them, and goes on. */
  dress(end: HTMLElement, details: readonly Detail[], goOn: () => void): void {
    const { view } = this;
    this.stop();
    end.prepend(h("span", { class: "badge" }, icon("", end.matches(".done") ? CHECK : CROSS)));
    if (details.length === 0) return;
    const next = (): void => {
      const text = say(view.strings, "doneText", { merchant: this.merchant });
      this.dress(view.showEnd("done", say(view.strings, "doneTitle"), text), [], goOn);
      goOn();
    };
    end.append(detailList(details, view.strings, (said) => view.say(said)), this.button("pay", "continue", next));
  }

  /** The drop-in is gone from the page, or over. */
  stop(): void {
    this.isOver = true;
    this.closeChallenge();
    this.wallet?.abort();
    this.view.element.classList.remove("waiting");
  }

  private showModel(model: ViewModel): void {
    const { view, shell } = this;
    this.merchant = model.view.MerchantName;
    for (const method of model.methods) {
      if (method.id === CARDS) continue;
      const panel = this.panels.get(method.id) ?? new MethodPanel(shell.pressed, shell.hideButtons);
      if (!this.panels.has(method.id)) view.entries.get(method.id)?.body.replaceChildren(...panel.parts);
      this.panels.set(method.id, panel);
      panel.show(method);
      panel.setEnabled(this.enabled);
    }
    void this.offerWallet(model);
  }

  /** The wallet's part is loaded where there is a wallet. */
  private async offerWallet(model: ViewModel): Promise<void> {
    const { shell, view } = this;
    const { Sandbox, TokenMethods = [] } = model.view;
    // In a sandbox the page brings what stands for a wallet.
    if (TokenMethods.some(({ Type }) => (Type === "GOOGLEPAY" ? !Sandbox || "google" in window : "ApplePaySession" in window))) {
      // From our address: a script that the page loads without CORS has none of its own to begin from.
      const part = await shell.load<typeof Wallet>(WALLET, shell.base).catch(() => null);
      if (part !== null && !this.isOver) this.wallet ??= new part.WalletButtons(view.accordion, (ask) => shell.send({ type: "wallet", ask }));
    }
    this.wallet?.show(model);
  }

  /** `text` is announced; the frame speaks for its own button. */
  private setBusy(busy: boolean, text: string): void {
    for (const panel of this.panels.values()) panel.setBusy(busy);
    if (busy && text !== "") this.view.say(text);
    if (!busy) this.showMethodsAgain();
  }

  private setNotice(text: string): void {
    const method = this.shell.selected();
    setNotice(this.notice, method === "" ? text : "");
    for (const [id, panel] of this.panels) panel.setNotice(id === method ? text : "");
    if (text !== "") this.view.say(text);
  }

  /** Takes the place of the methods. `away` is where the shopper may go meanwhile; without it there is a sign of work instead. */
  private showStatus(title: string, text: string, away?: Away): void {
    const { view, status } = this;
    this.closeChallenge();
    // Said once, however often the frame says it.
    if (away === undefined && this.isWaiting && status.querySelector(".title")?.textContent === title) return;
    const { isFocused } = view;
    const words = [view.title("status", title), h("p", {}, text)];
    const buttons = away ? [this.button("pay", "goOn", () => this.goTo(away)), this.button("plain", "another", () => this.shell.send({ type: "another" }))] : [];
    status.replaceChildren(...(away ? [] : [h("span", { class: "spinner" })]), ...words, ...buttons);
    view.element.classList.add("waiting");
    view.say(`${title}. ${text}`);
    if (isFocused) (buttons[0] ?? status).focus({ preventScroll: true });
  }

  private button(kind: "pay" | "plain", text: string, pressed: () => void): HTMLButtonElement {
    const button = h("button", { type: "button", class: kind }, say(this.view.strings, text));
    button.addEventListener("click", pressed);
    return button;
  }

  /** Takes the shopper where the payment goes on: the bank's page in a dialog, any other in place of this page. */
  private goTo({ url, challenge }: Away): void {
    const { base, session } = this.shell;
    const leave = (): void => {
      this.closeChallenge();
      this.shell.leave(url);
    };
    if (!challenge || !canNest()) return leave();
    const source = new URL("challenge.html", base);
    source.search = new URLSearchParams({ session, ...(crossOriginIsolated && { isolated: "1" }) }).toString();
    void this.openChallenge(source, leave);
  }

  /** The bank's page in a dialog; `source` is the page that nests it. `elsewhere` leaves for it, and is the way where there is no dialog. */
  private async openChallenge(source: URL, elsewhere: () => void): Promise<void> {
    const { element, strings } = this.view;
    const turn = ++this.turn;
    const part = await this.shell.load<typeof Dialog>(DIALOG, source).catch(() => null);
    // The payment may have gone on meanwhile, or the drop-in be gone.
    if (turn !== this.turn || !element.isConnected) return;
    if (part === null) return elsewhere();
    this.challenge ??= new part.Challenge(element);
    this.challenge.open(source, element.lang, strings, elsewhere);
  }

  private closeChallenge(): void {
    this.turn += 1;
    this.challenge?.close();
  }

  private get isWaiting(): boolean {
    return this.view.element.classList.contains("waiting");
  }

  private showMethodsAgain(): void {
    const { view } = this;
    this.closeChallenge();
    if (!this.isWaiting) return;
    const { isFocused } = view;
    view.element.classList.remove("waiting");
    const shown = [...view.entries.values()].filter(({ element }) => !element.hidden);
    const entry = shown.find(({ isOpen }) => isOpen) ?? shown[0];
    if (isFocused) (entry?.isBare ? view.frame : entry?.toggle)?.focus({ preventScroll: true });
  }
}
