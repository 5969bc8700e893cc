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

/** A decorative 24 by 24 line icon made of path data, hidden from assistive technology. */
export function icon(name: string, d: string): SVGSVGElement {
  const path = fill(document.createElementNS(SVG, "path"), { d }, []);
  return fill(document.createElementNS(SVG, "svg"), { class: `icon ${name}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, [path]);
}

export const CARD = "M5 5h14a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2zM3 10h18M7 15h3";
export const CHEVRON = "m7 10 5 5 5-5";
export const LOCK = "M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z";
export const WARNING = "M12 8v5M12 16.5v.01M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z";
export const CHECK = "m6.5 12.5 4 4 7.5-9";
export const CROSS = "m8 8 8 8M16 8l-8 8";
