// What build.mjs adds to the language: style sheets as text, and the locale files' index.

declare module "*.css" {
  const text: string;
  export default text;
}

/** The parts that only some shoppers need (`LazyModule` in lazy-module.ts); their addresses have what tells this build's from any other's. */
declare const WALLET: readonly [string, string];
declare const SAVED: readonly [string, string];
declare const DIALOG: readonly [string, string];

declare module "virtual:locales" {
  /** Addresses of all locale files by their tags, e.g. "en", "pt-BR". */
  export const ADDRESSES: Readonly<Record<string, string>>;
}

declare module "virtual:fallback" {
  /** By the tags of all locale files: a title and a text for a drop-in that could not load. */
  export const FALLBACK: Readonly<Record<string, readonly [title: string, text: string]>>;
}
