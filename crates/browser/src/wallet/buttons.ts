// The shell's part: the wallets' buttons above the other methods, and the payment sheets that they open.
//
// A sheet belongs to the top-level page and must be opened in the click itself. What comes of the payment is told by the same
// messages that the shell hears anyway.

import { h, setState } from "../shared/dom";
import type { TokenMethod, View } from "../payment/api";
import type { ViewModel, FrameMessage, WalletAsk } from "../shared/protocol";
import { say } from "../shared/strings";
import { addStyles } from "../shared/styles";
import { AppleSheet } from "./apple-sheet";
import { GoogleSheet } from "./google-sheet";
import css from "./wallet.css";

/** What a wallet does. */
export interface Sheet<M extends TokenMethod = TokenMethod> {
  readonly name: string;
  /** Its name in the catalogue and in the stash. */
  readonly type: M["Type"];
  /** Whether it can pay what is asked for now; it is about that from now on. */
  canPay(method: M, view: View): boolean | Promise<boolean>;
  /** The click on its button. */
  begin(): void;
  /** What the shell hears is news for an open sheet too. */
  heard(message: FrameMessage): void;
  /** The drop-in is gone from the page. */
  abort(): void;
}

export class WalletButtons {
  private readonly or = h("span");
  private readonly element = h("div", { class: "wallet", hidden: true });
  private readonly buttons = new Map<Sheet, HTMLButtonElement>();
  private busy = false;
  private turn = 0;

  constructor(place: Element, ask: (ask: WalletAsk) => void) {
    addStyles(place.getRootNode() as ShadowRoot, css);
    for (const sheet of [new AppleSheet(ask), new GoogleSheet(ask)] as Sheet[]) {
      const button = h("button", { type: "button", class: sheet.type.toLowerCase(), hidden: true });
      button.addEventListener("click", () => this.busy || sheet.begin());
      this.buttons.set(sheet, button);
    }
    this.element.append(...this.buttons.values(), h("div", { class: "or" }, this.or));
    place.prepend(this.element);
  }

  /** Shows the buttons of the wallets that can pay what is asked for now; where none can there is nothing to see. */
  show({ view, strings }: ViewModel): void {
    const turn = ++this.turn;
    this.or.textContent = say(strings, "walletOr");
    for (const [sheet, button] of this.buttons) {
      button.textContent = say(strings, "walletPay", { name: sheet.name });
      const method = view.TokenMethods?.find(({ Type }) => Type === sheet.type);
      const can = method === undefined ? false : sheet.canPay(method, view);
      // What another model says has come meanwhile counts.
      if (typeof can === "boolean") this.setShown(button, can);
      else void can.then((yes) => turn === this.turn && this.setShown(button, yes));
    }
  }

  heard(message: FrameMessage): void {
    if (message.type === "busy") this.busy = message.busy;
    for (const [sheet, button] of this.buttons) {
      setState(button, "aria-disabled", this.busy);
      sheet.heard(message);
    }
  }

  abort(): void {
    for (const sheet of this.buttons.keys()) sheet.abort();
  }

  private setShown(button: HTMLElement, shown: boolean): void {
    button.hidden = !shown;
    this.element.hidden = [...this.buttons.values()].every(({ hidden }) => hidden);
  }
}
