// What the shell draws on the merchant's page: an accordion of payment methods with a skeleton under the frame; in its place,
// how the payment stands; and in the end a final panel.

import { CHECK, CROSS, h, icon, setNotice, type Child } from "../shared/dom";
import { load } from "../shared/lazy-module";
import { CARDS, type Detail, type ViewModel, type Method } from "../shared/protocol";
import { say, type Strings } from "../shared/strings";
import { detailList } from "./bank";
import { Entry, heading, type Drawn, type EntryEvents } from "../shared/entry";
import accordionCss from "../shared/accordion.css";
import tokensCss from "../shared/tokens.css";
import shellCss from "./shell.css";
import type * as Dialog from "../dialog/dialog";

let sheet: CSSStyleSheet | undefined;

/** One sheet for all instances. Constructed style sheets need no permission of the page's CSP. */
function styles(): CSSStyleSheet {
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(tokensCss + accordionCss + shellCss);
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
  /** By method. An entry that is offered no more is hidden. */
  private readonly entries = new Map<string, Entry>();
  readonly accordion = h("div", { class: "accordion" });
  /** What is to be read while no method is open. */
  private readonly notice = h("div", { class: "notice", hidden: true });
  private readonly test = h("span", { class: "test", hidden: true });
  private readonly live = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
  private readonly status = h("section", { class: "end status", tabindex: "-1", "aria-labelledby": "status" });
  /** There once a bank has asked. */
  private challenge: Dialog.Challenge | undefined;
  private turn = 0;
  private strings: Strings = {};
  private merchant = "";
  private enabled = false;

  constructor(source: string, private readonly events: EntryEvents) {
    this.frame = h("iframe", { src: source, title: "Card details", referrerpolicy: "origin", scrolling: "no" });
    this.entryOf({ id: CARDS, icon: "card", drawing: "" }, [skeleton(), this.frame]).setOpen(true);
    this.element = h("div", { class: "root loading" }, this.notice, this.accordion, this.status, this.live);
  }

  /** Draws into `root` in the same task, before anything is loaded. */
  mount(root: ShadowRoot): void {
    root.adoptedStyleSheets = [styles()];
    root.replaceChildren(this.element);
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
  showModel(model: ViewModel): void {
    this.strings = model.strings;
    this.merchant = model.view.MerchantName;
    this.speak(model.lang, model.dir);
    this.frame.title = model.frameTitle;
    this.test.textContent = model.testMode;
    this.test.hidden = model.testMode === "";
    this.showMethods(model.methods);
    this.entries.get(CARDS)?.setBare(model.listed);
  }

  speak(lang: string, dir: string): void {
    this.element.lang = lang;
    this.element.dir = dir;
  }

  /** `method` is the open one; "" closes all. */
  setSelected(method: string): void {
    for (const [id, entry] of this.entries) entry.setOpen(id === method);
  }

  /** `text` is announced; the frame speaks for its own button. */
  setBusy(busy: boolean, text: string): void {
    for (const entry of this.entries.values()) entry.setBusy(busy);
    if (busy && text !== "") this.live.textContent = text;
    if (!busy) this.showMethodsAgain();
  }

  /** What the buttons of methods other than the card say of themselves. */
  setEnabled(enabled: boolean): void {
    this.enabled = enabled;
    for (const entry of this.entries.values()) entry.setEnabled(enabled);
  }

  setNotice(method: string, text: string): void {
    setNotice(this.notice, method === "" ? text : "");
    for (const [id, entry] of this.entries) entry.setNotice(id === method ? text : "");
    if (text !== "") this.live.textContent = text;
  }

  setHeight(height: number): void {
    this.frame.style.blockSize = `${height}px`;
  }

  /** Takes the place of the methods. `ways` is what the shopper may do meanwhile; without it there is a sign of work instead. */
  showStatus(title: string, text: string, ways?: { readonly goOn: () => void; readonly another: () => void }): void {
    this.closeChallenge();
    // Said once, however often the frame says it.
    if (ways === undefined && this.isWaiting && this.status.querySelector(".title")?.textContent === title) return;
    const { focused } = this;
    const words = [this.title("status", title), h("p", {}, text)];
    const buttons = ways ? [this.wayOn("pay", "goOn", ways.goOn), this.wayOn("plain", "another", ways.another)] : [];
    this.status.replaceChildren(...(ways ? [] : [h("span", { class: "spinner" })]), ...words, ...buttons);
    this.element.classList.add("waiting");
    this.live.textContent = `${title}. ${text}`;
    if (focused) (buttons[0] ?? this.status).focus({ preventScroll: true });
  }

  private title(id: string, text: string): HTMLElement {
    return heading(this.events.headingLevel, { id }, text);
  }

  private wayOn(kind: "pay" | "plain", text: string, pressed: () => void): HTMLButtonElement {
    const button = h("button", { type: "button", class: kind }, say(this.strings, text));
    button.addEventListener("click", pressed);
    return button;
  }

  /** The bank's page in a dialog; `source` is the page that nests it. `elsewhere` leaves for it, and is the way where there is no dialog. */
  async openChallenge(source: URL, elsewhere: () => void): Promise<void> {
    const turn = ++this.turn;
    const part = await load<typeof Dialog>(DIALOG, source).catch(() => null);
    // The payment may have gone on meanwhile, or the drop-in be gone.
    if (turn !== this.turn || !this.element.isConnected) return;
    if (part === null) return elsewhere();
    this.challenge ??= new part.Challenge(this.element);
    this.challenge.open(source, this.element.lang, this.strings, elsewhere);
  }

  closeChallenge(): void {
    this.turn += 1;
    this.challenge?.close();
  }

  /** Replaces everything, the frame with what was typed in it included. Details stay in sight until the shopper goes on. */
  showEnd(kind: "done" | "fail", title: string, text: string, details: readonly Detail[], goOn: () => void): void {
    this.closeChallenge();
    const { focused } = this;
    const badge = h("span", { class: "badge" }, icon("", kind === "done" ? CHECK : CROSS));
    const end = h("section", { class: `end ${kind}`, tabindex: "-1", "aria-labelledby": "end" }, badge, this.title("end", title), h("p", {}, text));
    if (details.length > 0) end.append(detailList(details, this.strings, (said) => (this.live.textContent = said)), this.wayOn("pay", "continue", goOn));
    this.setLoading(false);
    this.element.classList.remove("waiting");
    this.status.remove();
    this.notice.remove();
    this.accordion.replaceChildren(h("div", { class: "entry" }, end));
    this.live.textContent = `${title}. ${text}`;
    if (focused) end.focus({ preventScroll: true });
  }

  /** In place of the details of a transfer, once they were read. */
  showThanks(): void {
    const merchant = this.merchant;
    this.showEnd("done", say(this.strings, "doneTitle"), say(this.strings, "doneText", { merchant }), [], () => {});
  }

  private get isWaiting(): boolean {
    return this.element.classList.contains("waiting");
  }

  private get focused(): boolean {
    return (this.element.getRootNode() as ShadowRoot).activeElement !== null;
  }

  /** Entries that stay are changed in place: a frame that is moved loads anew, and a button that is moved loses the focus. */
  private showMethods(methods: readonly Method[]): void {
    for (const method of methods) this.entryOf(method).show(method);
    for (const [id, entry] of this.entries) entry.element.hidden = !methods.some((method) => method.id === id);
    if (methods[0]) this.entryOf(methods[0]).tag(this.test);
  }

  private entryOf(method: Drawn, content?: readonly Child[]): Entry {
    const known = this.entries.get(method.id);
    if (known !== undefined) return known;
    const entry = new Entry(method, this.events, content);
    entry.setEnabled(this.enabled);
    this.entries.set(method.id, entry);
    this.accordion.append(entry.element);
    return entry;
  }

  private showMethodsAgain(): void {
    this.closeChallenge();
    if (!this.isWaiting) return;
    const { focused } = this;
    this.element.classList.remove("waiting");
    const shown = [...this.entries.values()].filter(({ element }) => !element.hidden);
    const entry = shown.find(({ open }) => open) ?? shown[0];
    if (focused) (entry?.bare ? this.frame : entry?.toggle)?.focus({ preventScroll: true });
  }
}
