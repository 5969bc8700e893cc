// Small marks of card schemes that the service does not offer, for a number that is typed all the same. We drew them of plain shapes; no file of a
// scheme was copied.

import type { Frame } from "../frame/frame";

/** By id, in the form that `draw` in shared/mark.ts takes. */
const DRAWINGS: Readonly<Record<string, string>> = {
  UNIONPAY: "b fff|p d3202f M8 3h8l-4 18H4z|p 13497f M16 3h8l-4 18h-8z|p 0b7f84 M24 3h8l-4 18h-8z|t fff 12 14.6 12 7 UP",
  MAESTRO: "b fff|c 1387c9 14 12 7.5|c e0362c 22 12 7.5|p 6f5aa8 M18 5.66a7.5 7.5 0 0 1 0 12.68a7.5 7.5 0 0 1 0-12.68z",
  ELO: "b 16181d|p f5c518 M11 8a8 8 0 0 1 9-3.7l-1 3.1a5 5 0 0 0-5 2z|p 23a7df M21.5 5a8 8 0 0 1 4 9l-3.2-1a5 5 0 0 0-2.3-5.2z|p e5352d M24 17a8 8 0 0 1-10.5 1.6l2-2.7a5 5 0 0 0 6.3-1z",
  HIPERCARD: "b b3131b|p fff M11 5h4v5h6V5h4v14h-4v-5.5h-6V19h-4z",
  MIR: "b fff|p 1b8f4d M5 8h3l2 4 2-4h3v8h-2.6v-4l-1.6 3h-1.6l-1.6-3v4H5zM16.5 8h2.5v4l3-4h2.5v8H22v-4l-3 4h-2.5zM26 8h5.5a3 3 0 0 1-3 3.6V16H26z",
  RUPAY: "b fff|t 1d2b6b 3.5 15 17 8 Ru|p f07f1c M22 5h3.5L31 12l-5.5 7H22l4-7z|p 17894a M27 5h2l5 7-5 7h-2l4.5-7z",
  TROY: "b 0d9aa6|c fff 12 12 5|c 0d9aa6 12 12 2.6|p fff M20 8h11v2.6h-4V17h-3v-6.4h-4z",
  DANKORT: "b fff|p d4202f M4 12a8 8 0 0 1 8-8h12a8 8 0 0 1 0 16H12a8 8 0 0 1-8-8z|p fff M11 8h4a4 4 0 0 1 0 8h-4zM20 8h2.5v3l2.7-3h3l-3.5 4 3.5 4h-3l-2.7-3v3H20z",
};

/** The drawing for a scheme, "" where there is none. */
export const drawingOf = (frame: Frame, id: string): string => frame.drawingOf(id) || ((Object.hasOwn(DRAWINGS, id) && DRAWINGS[id]) || "");
