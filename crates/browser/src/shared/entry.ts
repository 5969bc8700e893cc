// One entry of the accordion: a heading that opens and closes a panel. The card's panel holds the frame, and a saved card's its form; that of
// any other method says what will happen and has a button.

import { BANK, CARD, CHEVRON, h, icon, LATER, LEAVE, payButton, setNotice, setState, type Attributes, type Child } from "./dom";
import { draw } from "./mark";
import type { Method } from "./protocol";

const ICONS: Readonly<Record<Method["icon"], string>> = { card: CARD, leave: LEAVE, bank: BANK, later: LATER };

export interface EntryEvents {
  /** The heading of `method` was pressed. */
  readonly toggled: (method: string) => void;
  /** A button of ours was pressed. */
  readonly pressed: () => void;
  readonly hideButtons: boolean;
  /** Of what titles a part of the drop-in; 0 for none. */
  readonly headingLevel: number;
}

/** A title of a part; a heading for assistive technology where the page wants one. */
export function heading(level: number, attributes: Attributes, ...children: Child[]): HTMLElement {
  return h("div", { class: "title", ...(level > 0 && { role: "heading", "aria-level": String(level) }), ...attributes }, ...children);
}

/** What an entry is made of before its words are known. */
export type Drawn = Pick<Method, "id" | "icon" | "drawing">;

export class Entry {
  readonly element: HTMLElement;
  readonly toggle: HTMLButtonElement;
  private readonly head: HTMLElement;
  private readonly panel: HTMLElement;
  private readonly marks = h("span", { class: "marks", role: "img" });
  private readonly name = h("span", { class: "bone label" });
  private readonly line = h("p", { class: "line" });
  private readonly notice = h("div", { class: "notice", hidden: true });
  private readonly label = h("span");
  private readonly button = payButton("button", this.label);

  constructor({ id, icon: shape, drawing }: Drawn, events: EntryEvents, content?: readonly Child[]) {
    const key = id.toLowerCase();
    const panel = `${key}-panel`;
    const sign = drawing ? draw(drawing, "") : icon("method", ICONS[shape]);
    this.toggle = h("button", { type: "button", class: "toggle", id: key, "aria-controls": panel }, sign, this.name, icon("chevron", CHEVRON));
    this.toggle.addEventListener("click", () => events.toggled(id));
    this.head = h("div", { class: "head" }, heading(events.headingLevel, {}, this.toggle), this.marks);
    this.button.addEventListener("click", events.pressed);
    this.button.hidden = events.hideButtons;
    const body = h("div", { class: "body" }, ...(content ?? [this.line, this.notice, this.button]));
    this.panel = h("div", { id: panel, class: "panel", role: "group", "aria-labelledby": key }, h("div", { class: "clip" }, body));
    this.element = h("div", { class: "entry" }, this.head, this.panel);
    this.setOpen(false);
  }

  show(method: Method): void {
    this.setName(method.name);
    this.marks.setAttribute("aria-label", method.accepted);
    this.marks.replaceChildren(...method.marks.map(([drawing, name]) => draw(drawing, name)));
    this.line.textContent = method.line;
    this.label.textContent = method.button;
  }

  setName(...name: Child[]): void {
    this.name.className = "";
    this.name.replaceChildren(...name.map((part) => part ?? ""));
  }

  get open(): boolean {
    return this.toggle.getAttribute("aria-expanded") === "true";
  }

  /** Without heading and border: what is in the panel draws entries of its own, and is always in sight. */
  setBare(bare: boolean): void {
    this.element.classList.toggle("bare", bare);
    this.setOpen(this.open);
  }

  get bare(): boolean {
    return this.element.classList.contains("bare");
  }

  /** Puts a word beside the name. */
  tag(word: HTMLElement): void {
    this.marks.before(word);
  }

  setOpen(open: boolean): void {
    this.toggle.setAttribute("aria-expanded", String(open));
    this.panel.inert = !open && !this.bare;
  }

  setBusy(busy: boolean): void {
    setState(this.toggle, "aria-disabled", busy);
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
