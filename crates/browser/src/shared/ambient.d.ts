// What build.mjs adds to the language: style sheets as text, and the locale files' index.

declare module "*.css" {
  const text: string;
  export default text;
}

declare module "virtual:locales" {
  /** Tags of all locale files, e.g. "en", "pt-BR". */
  export const TAGS: readonly string[];
}
