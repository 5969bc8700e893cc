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
export function icon(name: string, ...paths: string[]): SVGSVGElement {
  const drawn = paths.map((d) => fill(document.createElementNS(SVG, "path"), { d }, []));
  const box = { class: `icon ${name}`, viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" };
  return fill(document.createElementNS(SVG, "svg"), box, drawn);
}

export const ICONS = {
  card: ["M3 7.5A2.5 2.5 0 0 1 5.5 5h13A2.5 2.5 0 0 1 21 7.5v9a2.5 2.5 0 0 1-2.5 2.5h-13A2.5 2.5 0 0 1 3 16.5z", "M3 10h18", "M7 15h3"],
  chevron: ["m7 10 5 5 5-5"],
  lock: ["M7 11V8a5 5 0 0 1 10 0v3", "M6.5 11h11a1.5 1.5 0 0 1 1.5 1.5v6a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 5 18.5v-6A1.5 1.5 0 0 1 6.5 11z"],
  warning: ["M12 8v5", "M12 16.5v.01", "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z"],
  check: ["m6.5 12.5 4 4 7.5-9"],
  cross: ["m8 8 8 8", "m16 8-8 8"],
} as const;
