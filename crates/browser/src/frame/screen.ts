// What the frame shows: the card form, or the state of a payment under way; and the one live region that says so.

import { h } from "../shared/dom";
import type { CardForm } from "./card-form";

export class Screen {
  private readonly title = h("h2");
  private readonly text = h("p");
  private readonly status: HTMLElement;
  /** Both stand in frame.html; the live region has to be there before anything is said in it. */
  private readonly app = document.getElementById("app") as HTMLElement;
  private readonly live = document.getElementById("live") as HTMLElement;

  constructor(readonly form: CardForm) {
    this.status = h("section", { class: "status", hidden: true }, h("span", { class: "spinner" }), this.title, this.text);
    this.app.append(form.element, this.status);
  }

  showForm(): void {
    this.form.element.hidden = false;
    this.status.hidden = true;
  }

  showStatus(title: string, text: string): void {
    if (!this.status.hidden && this.title.textContent === title) return;
    this.form.element.hidden = true;
    this.status.hidden = false;
    this.title.textContent = title;
    this.text.textContent = text;
    this.announce(`${title}. ${text}`);
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
