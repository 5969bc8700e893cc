// What the shell draws on the merchant's page: an accordion of payment methods with a skeleton under the frame, and in the end a final panel.
// Everything else is drawn by progress.ts, once the form is there.

import { h, type Child } from "../shared/dom";
import { CARDS, type Method, type ViewModel } from "../shared/protocol";
import { addStyles } from "../shared/styles";
import type { Strings } from "../shared/strings";
import { Entry, heading, type Drawn } from "../shared/entry";
import baseCss from "../shared/base.css";
import accordionCss from "../shared/accordion.css";
import tokensCss from "../shared/tokens.css";
import shellCss from "./shell.css";

function skeleton(): HTMLElement {
  const bone = (name: string): HTMLElement => h("span", { class: `bone ${name}` });
  const field = (): HTMLElement => h("span", { class: "bones" }, bone("label"), bone(""));
  return h("div", { class: "skeleton", "aria-hidden": "true" }, field(), h("span", { class: "two" }, field(), field()), field(), bone(""));
}

export class View {
  readonly element: HTMLElement;
  readonly frame: HTMLIFrameElement;
  /** By method. An entry that is offered no more is hidden. */
  readonly entries = new Map<string, Entry>();
  readonly accordion = h("div", { class: "accordion" });
  private readonly test = h("span", { class: "test", hidden: true });
  private readonly live = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
  strings: Strings = {};

  /** `toggled` hears that the heading of a method was pressed; headings are of `level`. */
  constructor(source: string, readonly level: number, private readonly toggled: (method: string) => void) {
    this.frame = h("iframe", { src: source, title: "Card details", referrerpolicy: "origin", scrolling: "no" });
    this.entryOf({ id: CARDS, icon: "card", drawing: "" }, skeleton(), this.frame).setOpen(true);
    this.element = h("div", { class: "root loading" }, this.accordion, this.live);
  }

  /** Draws into `root` in the same task, before anything is loaded. */
  mount(root: ShadowRoot): void {
    root.adoptedStyleSheets = [];
    root.replaceChildren(this.element);
    addStyles(root, tokensCss + baseCss + accordionCss + shellCss);
  }

  /** Loads the frame anew. The address changes: with the fragment that it has, the same one would load nothing. */
  loadAgain(tries: number): void {
    const source = new URL(this.frame.src);
    source.searchParams.set("try", String(tries));
    this.frame.src = source.href;
  }

  setLoading(loading: boolean): void {
    this.element.classList.toggle("loading", loading);
  }

  /** What the frame found out: the language, the methods, whether this is a test. */
  showModel({ strings, lang, dir, frameTitle, testMode, methods, listed }: ViewModel): void {
    this.strings = strings;
    this.speak(lang, dir);
    this.frame.title = frameTitle;
    this.test.textContent = testMode;
    this.test.hidden = testMode === "";
    this.showMethods(methods);
    this.entries.get(CARDS)?.setBare(listed);
  }

  speak(lang: string, dir: string): void {
    this.element.lang = lang;
    this.element.dir = dir;
  }

  /** `text` is announced. */
  say(text: string): void {
    this.live.textContent = text;
  }

  /** `method` is the open one; "" closes all. */
  setSelected(method: string): void {
    for (const [id, entry] of this.entries) entry.setOpen(id === method);
  }

  setBusy(busy: boolean): void {
    for (const entry of this.entries.values()) entry.setBusy(busy);
  }

  setHeight(height: number): void {
    this.frame.style.blockSize = `${height}px`;
  }

  /** Replaces everything, the frame with what was typed in it included. */
  showEnd(kind: "done" | "fail", title: string, text: string): HTMLElement {
    const { isFocused } = this;
    const end = h("section", { class: `end ${kind}`, tabindex: "-1", "aria-labelledby": "end" }, this.title("end", title), h("p", {}, text));
    this.setLoading(false);
    // The live region stays where it is: else nothing would be said.
    for (const child of [...this.element.children]) if (child !== this.accordion && child !== this.live) child.remove();
    this.accordion.replaceChildren(h("div", { class: "entry" }, end));
    this.say(`${title}. ${text}`);
    if (isFocused) end.focus({ preventScroll: true });
    return end;
  }

  title(id: string, text: string): HTMLElement {
    return heading(this.level, { id }, text);
  }

  get isFocused(): boolean {
    return (this.element.getRootNode() as ShadowRoot).activeElement !== null;
  }

  /** Entries that stay are changed in place: a frame that is moved loads anew, and a button that is moved loses the focus. */
  private showMethods(methods: readonly Method[]): void {
    for (const method of methods) this.entryOf(method).show(method);
    for (const [id, entry] of this.entries) entry.element.hidden = !methods.some((method) => method.id === id);
    if (methods[0]) this.entryOf(methods[0]).tag(this.test);
  }

  private entryOf(method: Drawn, ...content: Child[]): Entry {
    const known = this.entries.get(method.id);
    if (known !== undefined) return known;
    const entry = new Entry(method, this.level, this.toggled, ...content);
    this.entries.set(method.id, entry);
    this.accordion.append(entry.element);
    return entry;
  }
}
