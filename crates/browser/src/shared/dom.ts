// Builds elements without markup strings, so that nothing here is ever parsed as HTML.

export type Child = Node | string | null;
export type Attributes = Readonly<Record<string, string | boolean | null>>;

const SVG = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (typeof value === "string") element.setAttribute(name, value);
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

/** An HTML element; `true` sets an empty attribute, `false` and `null` leave it out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Sets a boolean ARIA state to "true", or takes it away. */
export function setState(element: Element, name: string, on: boolean): void {
  if (on) element.setAttribute(name, "true");
  else element.removeAttribute(name);
}

/** A decorative 24 by 24 line icon made of path data, hidden from assistive technology. */
export function icon(name: string, d: string): SVGSVGElement {
  return svg("svg", { class: `icon ${name}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d }));
}

/** Shows `text` beside a warning sign in `box`; "" hides it. */
export function setNotice(box: HTMLElement, text: string): void {
  box.hidden = text === "";
  box.replaceChildren(...(text === "" ? [] : [icon("warning", WARNING), h("p", {}, text)]));
}

/** The button that pays; `text` is its changing label. */
export function payButton(type: string, text: HTMLElement): HTMLButtonElement {
  return h("button", { type, class: "pay" }, icon("lock", LOCK), h("span", { class: "spinner" }), text);
}

export const CARD = "M5 5h14a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2zM3 10h18M7 15h3";
export const LEAVE = "M14 4h6v6M20 4l-9 9M18 14v4a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2h4";
export const BANK = "m4 9 8-5 8 5zM6 12v5M10 12v5M14 12v5M18 12v5M4 20h16";
export const LATER = "M5 6h14a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1zM4 10.5h16M8 3.5v4M16 3.5v4M12 13v3l2 1.5";
export const CHEVRON = "m7 10 5 5 5-5";
export const LOCK = "M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z";
export const WARNING = "M12 8v5M12 16.5v.01M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z";
export const CHECK = "m6.5 12.5 4 4 7.5-9";
export const CROSS = "m8 8 8 8M16 8l-8 8";
