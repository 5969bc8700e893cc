// What build.mjs adds to the language: style sheets as text, and the locale files' index.

declare module "*.css" {
  const text: string;
  export default text;
}

/** Addresses of the parts that only some shoppers need, beside the running script, with what tells this build's from any other's. */
declare const WALLET: string;
declare const DIALOG: string;

declare module "virtual:locales" {
  /** Tags of all locale files, e.g. "en", "pt-BR". */
  export const TAGS: readonly string[];
}
