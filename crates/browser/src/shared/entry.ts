// One entry of an accordion: a heading that opens and closes a panel. The card's panel holds the frame, and a saved card's its form.

import { BANK, CARD, CHEVRON, h, icon, LATER, LEAVE, setState, type Attributes, type Child } from "./dom";
import { draw } from "./mark";
import type { Method } from "./protocol";

const ICONS: Readonly<Record<Method["icon"], string>> = { card: CARD, leave: LEAVE, bank: BANK, later: LATER };

/** A title of a part, of level `level`; a heading for assistive technology where the page wants one, 0 for none. */
export function heading(level: number, attributes: Attributes, ...children: Child[]): HTMLElement {
  return h("div", { class: "title", ...(level > 0 && { role: "heading", "aria-level": String(level) }), ...attributes }, ...children);
}

/** What an entry is made of before its words are known. */
export type Drawn = Pick<Method, "id" | "icon" | "drawing">;

export class Entry {
  readonly element: HTMLElement;
  readonly toggle: HTMLButtonElement;
  /** What the panel shows. */
  readonly body: HTMLElement;
  private readonly panel: HTMLElement;
  private readonly marks = h("span", { class: "marks", role: "img" });
  private readonly name = h("span", { class: "bone label" });

  /** `toggled` hears that the heading of the entry was pressed. */
  constructor({ id, icon: shape, drawing }: Drawn, headingLevel: number, toggled: (id: string) => void, ...content: Child[]) {
    const key = id.toLowerCase();
    const panel = `${key}-panel`;
    const sign = drawing ? draw(drawing, "") : icon("method", ICONS[shape]);
    this.toggle = h("button", { type: "button", class: "toggle", id: key, "aria-controls": panel }, sign, this.name, icon("chevron", CHEVRON));
    this.toggle.addEventListener("click", () => toggled(id));
    this.body = h("div", { class: "body" }, ...content);
    this.panel = h("div", { id: panel, class: "panel", role: "group", "aria-labelledby": key }, h("div", { class: "clip" }, this.body));
    this.element = h("div", { class: "entry" }, h("div", { class: "head" }, heading(headingLevel, {}, this.toggle), this.marks), this.panel);
    this.setOpen(false);
  }

  show({ name, accepted, marks }: Method): void {
    this.setName(name);
    this.marks.setAttribute("aria-label", accepted);
    this.marks.replaceChildren(...marks.map(([drawing, text]) => draw(drawing, text)));
  }

  setName(...name: Child[]): void {
    this.name.className = "";
    this.name.replaceChildren(...name.map((part) => part ?? ""));
  }

  get isOpen(): boolean {
    return this.toggle.getAttribute("aria-expanded") === "true";
  }

  /** Without heading and border: what is in the panel draws entries of its own, and is always in sight. */
  setBare(bare: boolean): void {
    this.element.classList.toggle("bare", bare);
    this.setOpen(this.isOpen);
  }

  get isBare(): boolean {
    return this.element.classList.contains("bare");
  }

  /** Puts a word beside the name. */
  tag(word: HTMLElement): void {
    this.marks.before(word);
  }

  setOpen(open: boolean): void {
    this.toggle.setAttribute("aria-expanded", String(open));
    this.panel.inert = !open && !this.isBare;
  }

  setBusy(busy: boolean): void {
    setState(this.toggle, "aria-disabled", busy);
  }
}
