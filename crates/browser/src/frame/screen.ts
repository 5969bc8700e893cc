// What the frame shows: the card form, or the state of a payment under way; and the one live region that says so.

import { h } from "../shared/dom";
import type { CardForm } from "./card-form";

export class Screen {
  private readonly title = h("h2");
  private readonly text = h("p");
  private readonly way = h("button", { type: "button", class: "pay", hidden: true });
  private readonly status: HTMLElement;

  constructor(
    private readonly app: HTMLElement,
    private readonly live: HTMLElement,
    readonly form: CardForm,
  ) {
    this.status = h("section", { class: "status", hidden: true }, h("span", { class: "spinner" }), this.title, this.text, this.way);
    app.append(form.element, this.status);
  }

  showForm(): void {
    this.form.element.hidden = false;
    this.status.hidden = true;
  }

  /** `way` is a button out of here, e.g. to the bank. False when this is what is shown already. */
  showStatus(title: string, text: string, way?: { readonly label: string; readonly go: () => void }): boolean {
    if (!this.status.hidden && this.title.textContent === title) return false;
    this.form.element.hidden = true;
    this.status.hidden = false;
    this.title.textContent = title;
    this.text.textContent = text;
    this.way.hidden = way === undefined;
    this.way.textContent = way?.label ?? "";
    this.way.onclick = way?.go ?? null;
    this.announce(`${title}. ${text}`);
    return true;
  }

  /** Says `message` politely; the same message twice in a row is said twice. */
  announce(message: string): void {
    this.live.textContent = this.live.textContent === message ? `${message}\u00a0` : message;
  }

  /** Calls back with the height of the content, now and whenever it changes. */
  watchHeight(tell: (height: number) => void): void {
    let told = 0;
    const measure = (): void => {
      const height = Math.ceil(this.app.getBoundingClientRect().height);
      if (height > 0 && height !== told) tell((told = height));
    };
    measure();
    // Silent while the frame is out of sight, so what matters at once is measured above.
    new ResizeObserver(measure).observe(this.app);
  }
}
