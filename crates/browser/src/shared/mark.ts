// Turns a mark's drawing, which is plain text, into SVG.

import { h, svg } from "./dom";

const [WIDTH, HEIGHT] = [36, 24];

/**
 * A mark of `WIDTH` by `HEIGHT`, hidden from assistive technology; `name` in a box where there is no drawing. A drawing is shapes from back
 * to front, separated by `|`: `b` fills the mark with a colour; `c` is a circle (colour, centre, radius); `p` a path (colour, data); `t` a text
 * (colour, left, baseline, length, height, words).
 */
export function draw(drawing: string, name: string): Element {
  if (drawing === "") return h("span", { class: "mark", "aria-hidden": "true" }, name);
  return svg("svg", { class: "mark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, ...drawing.split("|").map(shape));
}

function shape(text: string): SVGElement {
  const [kind, color = "", ...rest] = text.split(" ");
  const fill = `#${color}`;
  const [a = "", b = "", c = "", d = "", words = ""] = rest;
  if (kind === "b") return svg("path", { fill, d: `M0 0h${WIDTH}v${HEIGHT}H0z` });
  if (kind === "c") return svg("circle", { fill, cx: a, cy: b, r: c });
  if (kind === "p") return svg("path", { fill, d: rest.join(" ") });
  return svg("text", { fill, x: a, y: b, textLength: c, "font-size": d, "font-weight": "700", lengthAdjust: "spacingAndGlyphs" }, words);
}
