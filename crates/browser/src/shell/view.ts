// What the shell draws on the merchant's page: an accordion with one entry, a skeleton under the frame, a final panel.

import { CARD, CHECK, CHEVRON, CROSS, h, icon } from "../shared/dom";
import type { Face } from "../shared/protocol";
import shellCss from "./shell.css";
import tokensCss from "../shared/tokens.css";

let sheet: CSSStyleSheet | undefined;

/** One sheet for all instances. Constructed style sheets need no permission of the page's CSP. */
function styles(): CSSStyleSheet {
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(tokensCss + shellCss);
  }
  return sheet;
}

function skeleton(): HTMLElement {
  const bone = (name: string): HTMLElement => h("span", { class: `bone ${name}` });
  const field = (): HTMLElement => h("span", { class: "bones" }, bone("label"), bone(""));
  const pair = h("span", { class: "two" }, field(), field());
  return h("div", { class: "skeleton", "aria-hidden": "true" }, field(), pair, field(), bone(""));
}

export class View {
  readonly element: HTMLElement;
  readonly frame: HTMLIFrameElement;
  private readonly toggle: HTMLButtonElement;
  private readonly panel: HTMLElement;
  private readonly marks = h("span", { class: "marks", role: "img", hidden: true });
  private readonly test = h("span", { class: "test", hidden: true });
  private readonly name = h("span", { class: "bone label" });
  private readonly live = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
  private readonly accordion: HTMLElement;

  constructor(source: string, toggled: () => void) {
    this.frame = h("iframe", { src: source, title: "Card details", referrerpolicy: "origin", scrolling: "no" });
    this.toggle = h("button", { type: "button", id: "card", "aria-controls": "panel", "aria-expanded": "true" });
    this.toggle.append(icon("card", CARD), this.name, icon("chevron", CHEVRON));
    this.toggle.addEventListener("click", toggled);
    const head = h("div", { class: "head" }, h("h3", {}, this.toggle), this.test, this.marks);
    const body = h("div", { class: "body" }, skeleton(), this.frame);
    this.panel = h("div", { id: "panel", class: "panel", role: "region", "aria-labelledby": "card" }, h("div", { class: "clip" }, body));
    this.accordion = h("div", { class: "accordion" }, h("div", { class: "entry" }, head, this.panel));
    this.element = h("div", { class: "root loading" }, this.accordion, this.live);
  }

  /** Draws into `root` in the same task, before anything is loaded. */
  mount(root: ShadowRoot): void {
    root.adoptedStyleSheets = [styles()];
    root.replaceChildren(this.element);
  }

  setLoading(loading: boolean): void {
    this.element.classList.toggle("loading", loading);
  }

  /** What the frame found out: the language, the cards that are accepted, whether this is a test. */
  showFace(face: Face): void {
    this.speak(face.lang, face.dir);
    this.frame.title = face.frameTitle;
    this.name.className = "";
    this.name.textContent = face.card;
    this.marks.setAttribute("aria-label", face.accepted);
    this.marks.replaceChildren(...face.marks.map((mark) => h("span", { class: "mark", "aria-hidden": "true" }, mark)));
    this.marks.hidden = false;
    this.test.textContent = face.testMode;
    this.test.hidden = face.testMode === "";
  }

  speak(lang: string, dir: string): void {
    this.element.lang = lang;
    this.element.dir = dir;
  }

  setSelected(selected: boolean): void {
    this.toggle.setAttribute("aria-expanded", String(selected));
    this.panel.inert = !selected;
  }

  setBusy(busy: boolean): void {
    if (busy) this.toggle.setAttribute("aria-disabled", "true");
    else this.toggle.removeAttribute("aria-disabled");
  }

  setHeight(height: number): void {
    this.frame.style.blockSize = `${height}px`;
  }

  /** Replaces everything, the frame with what was typed in it included. */
  showEnd(kind: "done" | "fail", title: string, text: string): void {
    const root = this.element.getRootNode() as ShadowRoot;
    const focused = root.activeElement !== null;
    const badge = h("span", { class: "badge" }, icon("", kind === "done" ? CHECK : CROSS));
    const end = h("section", { class: `end ${kind}`, tabindex: "-1", "aria-labelledby": "end" }, badge, h("h3", { id: "end" }, title), h("p", {}, text));
    this.setLoading(false);
    this.accordion.replaceChildren(h("div", { class: "entry" }, end));
    this.live.textContent = `${title}. ${text}`;
    if (focused) end.focus({ preventScroll: true });
  }
}
