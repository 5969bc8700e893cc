// The way to remove a saved card, and the question whether the shopper means it. It is asked in place: a frame of another site has no
// windows of its own, and focus goes to the answer that changes nothing.

import { h, setState } from "../shared/dom";
import { say, type Strings } from "../shared/strings";

export class Removal {
  readonly element: HTMLElement;
  private readonly begin: HTMLButtonElement;
  private readonly question: HTMLElement;
  private readonly yes: HTMLButtonElement;
  private readonly no: HTMLButtonElement;
  private readonly error = h("p", { class: "error", hidden: true });
  private busy = false;

  /** `card` is the id of the heading that names the card. `remove` answers false when the card is still there. */
  constructor(private readonly strings: Strings, card: string, merchant: string, private readonly remove: () => Promise<boolean>, private readonly announce: (text: string) => void) {
    const button = (kind: string, key: string, pressed: () => void): HTMLButtonElement => {
      const element = h("button", { type: "button", class: `plain ${kind}`, id: `${key}-${card}`, "aria-labelledby": `${key}-${card} ${card}` }, say(strings, key));
      element.addEventListener("click", () => this.busy || pressed());
      return element;
    };
    this.begin = button("begin", "remove", () => this.ask());
    this.no = button("", "removeNo", () => this.keep());
    this.yes = button("yes", "removeYes", () => void this.confirm());
    const title = h("p", { class: "title", id: `removeTitle-${card}` }, say(strings, "removeTitle"));
    const text = h("p", { id: `removeText-${card}` }, say(strings, "removeText", { merchant }));
    const names = { "aria-labelledby": title.id, "aria-describedby": text.id };
    this.question = h("div", { class: "question", role: "group", hidden: true, ...names }, title, text, this.error, h("div", { class: "answers" }, this.no, this.yes));
    this.question.addEventListener("keydown", (event) => event.key === "Escape" && !this.busy && this.keep());
    this.element = h("div", { class: "removal" }, this.begin, this.question);
  }

  /** Back to the beginning, as when another card is chosen. */
  reset(): void {
    this.show(false);
  }

  setBusy(busy: boolean): void {
    this.busy = busy;
    for (const button of [this.begin, this.no, this.yes]) setState(button, "aria-disabled", busy);
  }

  private ask(): void {
    this.show(true);
    this.no.focus();
  }

  private keep(): void {
    this.show(false);
    this.begin.focus();
  }

  private show(asked: boolean): void {
    this.question.hidden = !asked;
    this.begin.hidden = asked;
    this.error.hidden = true;
  }

  private async confirm(): Promise<void> {
    this.setBusy(true);
    this.error.hidden = true;
    if (await this.remove()) return;
    this.setBusy(false);
    const text = say(this.strings, "notRemoved");
    this.error.textContent = text;
    this.error.hidden = false;
    this.announce(text);
  }
}
