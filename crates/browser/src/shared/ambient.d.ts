// What build.mjs adds to the language: style sheets as text, and the locale files' index.

declare module "*.css" {
  const text: string;
  export default text;
}

/** The parts that only some shoppers need (`Part` in part.ts); their addresses have what tells this build's from any other's. */
declare const WALLET: readonly [string, string];
declare const DIALOG: readonly [string, string];

declare module "virtual:locales" {
  /** Tags of all locale files, e.g. "en", "pt-BR". */
  export const TAGS: readonly string[];
}
