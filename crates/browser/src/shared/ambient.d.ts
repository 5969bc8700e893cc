// What build.mjs adds to the language: style sheets as text, and the locale files' index.

declare module "*.css" {
  const text: string;
  export default text;
}

/** The parts that only some shoppers need (`LazyModule` in lazy-module.ts); their addresses have what tells this build's from any other's. */
declare const WALLET: readonly [string, string];
declare const SAVED: readonly [string, string];
declare const DIALOG: readonly [string, string];
declare const PROGRESS: readonly [string, string];
declare const SCHEMES: readonly [string, string];
declare const POSTCODE: readonly [string, string];
declare const PAYMENT: readonly [string, string];
declare const FALLBACK: readonly [string, string];

declare module "virtual:fallback" {
  /** By the tags of all languages: a title and a text for a drop-in that could not load. */
  export const TEXTS: Readonly<Record<string, readonly [title: string, text: string]>>;
  /** Those of English. */
  export const ENGLISH: readonly [title: string, text: string];
}

declare module "virtual:co-badged" {
  /** By the ids of schemes: first digits of cards that bear their marks and have another scheme's numbers. */
  export const CO_BADGED: Readonly<Record<string, string>>;
}
