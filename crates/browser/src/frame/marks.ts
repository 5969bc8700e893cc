// Small marks of the schemes and methods that the service offers. We drew them of plain shapes; no file of a scheme was copied.

/** By id, in the form that `draw` in shared/mark.ts takes. */
const DRAWINGS: Readonly<Record<string, string | null>> = {
  // No id is a member that every object has.
  __proto__: null,
  VISA: "b 1b2f7d|p f2a900 M0 20h36v4H0z|p fff M4 6h3.2l1.5 6.2L11.4 6h3.2L10 16.5H7zM15.6 6h2.8l-1.6 10.5h-2.8zM19 8.8c0-2 2-3 4-3 1.2 0 2 .2 2.6.5l-.5 2.2c-1.5-.7-3-.7-3 0 0 1 3.2 1.3 3.2 4 0 2.5-2.2 4-4.6 4-1.3 0-2.3-.2-3-.5l.5-2.3c1.8.9 3.6.8 3.6-.2 0-1.2-2.8-1.3-2.8-4.7zM29 6h2.5l2.2 10.5H31l-.4-1.8h-2.7l-.9 1.8h-2.8zm.7 3-1.1 3.7h1.6z",
  MC: "b fff|c e0362c 14 12 7.5|c f5a02b 22 12 7.5|p ee6a26 M18 5.66a7.5 7.5 0 0 1 0 12.68a7.5 7.5 0 0 1 0-12.68z",
  AMEX: "b 1f6fc4|p fff M3 7h30v1.2H3zM3 15.8h30V17H3z|t fff 4.5 14.6 27 8 AMEX",
  DISC: "b fff|p f27a1a M36 12v12H13c10-1 19-5 23-12z|t 20232b 3 12.5 19 7 DISC|c f27a1a 26.5 9.8 3.6",
  JCB: "b fff|p 12519b M5 7a3 3 0 0 1 3-3h5v13a3 3 0 0 1-3 3H5z|p c4162e M14 7a3 3 0 0 1 3-3h5v13a3 3 0 0 1-3 3h-5z|p 2c8a3d M23 7a3 3 0 0 1 3-3h5v13a3 3 0 0 1-3 3h-5z|t fff 7.5 14.7 4 7 J|t fff 15.7 14.7 5 7 C|t fff 24.7 14.7 5 7 B",
  DINERS: "b fff|c 0f4ea0 18 12 9|c fff 18 12 7|p 0f4ea0 M16.5 6.9a5.3 5.3 0 0 0 0 10.2zM19.5 6.9a5.3 5.3 0 0 1 0 10.2z",
  CB: "b 1b2f7d|t fff 7 16 22 12 CB",
  PAYPAL: "b fff|p 14357d M13 4h7.5c3.5 0 5 2 4.5 4.8-.6 3.4-3 5-6.5 5h-2.7L14.9 19H10.6z|p 3f8fdc M16.5 8h6.8c3 0 4.2 1.9 3.7 4.4-.5 3-2.7 4.5-5.8 4.5h-2l-.8 4.1h-3.7l.6-3.4h2l.9-4.4h1.9c3.2 0 5.5-1.5 6.1-4.7z",
  IDEAL: "b fff|p 20232b M9 4h10a8 8 0 0 1 0 16H9a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1z|p d5186c M15 6.5h4a5.5 5.5 0 0 1 0 11h-4z|c fff 11.5 9 1.8|p fff M10 12h3v5.5h-3z",
};

/** The drawing for a scheme or method, "" where there is none. */
export const drawingOf = (id: string): string => DRAWINGS[id] ?? "";
