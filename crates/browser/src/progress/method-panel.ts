// What stands in the panel of a method other than the card: what will happen, and a button.

import { h, payButton, setNotice, setState } from "../shared/dom";
import type { Method } from "../shared/protocol";

export class MethodPanel {
  private readonly line = h("p", { class: "line" });
  private readonly notice = h("div", { class: "notice", hidden: true });
  private readonly label = h("span");
  private readonly button = payButton("button", this.label);

  constructor(pressed: () => void, hideButton: boolean) {
    this.button.addEventListener("click", pressed);
    this.button.hidden = hideButton;
  }

  get parts(): readonly HTMLElement[] {
    return [this.line, this.notice, this.button];
  }

  show({ line, button }: Method): void {
    this.line.textContent = line;
    this.label.textContent = button;
  }

  setBusy(busy: boolean): void {
    setState(this.button, "aria-busy", busy);
  }

  /** A button at rest says that it does nothing for now. */
  setEnabled(enabled: boolean): void {
    setState(this.button, "aria-disabled", !enabled);
  }

  setNotice(text: string): void {
    setNotice(this.notice, text);
  }
}
