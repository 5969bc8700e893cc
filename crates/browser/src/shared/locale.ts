// Which locale file serves which request. Used by the shell (which sees the merchant page) and by the frame (which does not).

export interface Locale {
  /** Tag of the locale file, e.g. "de". */
  readonly file: string;
  /** BCP 47 tag for numbers and currencies, e.g. "de-AT": the file's language with the country that was asked for. */
  readonly format: string;
  readonly direction: "ltr" | "rtl";
}

/** Languages by their older or wider names, and the countries that write Chinese in the traditional way. */
const RENAMED: Readonly<Record<string, string>> = { no: "nb", iw: "he", in: "id" };
const TRADITIONAL = /Hant|TW|HK|MO/i;
const SHAPE = /^([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}))?\b/i;

/** The first request that a file exists for; English when there is none. */
export function resolveLocale(requests: readonly (string | null)[], files: readonly string[]): Locale {
  for (const request of requests) {
    const match = SHAPE.exec(request ?? "");
    if (match === null) continue;
    const [whole, spoken = "", , land] = match;
    const language = RENAMED[spoken.toLowerCase()] ?? spoken.toLowerCase();
    const exact = land === undefined ? language : `${language}-${land.toUpperCase()}`;
    const written = language === "zh" ? [TRADITIONAL.test(whole) ? "zh-Hant" : "zh-Hans"] : [exact, language, "pt-PT"];
    const file = written.find((tag) => tag.startsWith(language) && files.includes(tag));
    if (file === undefined) continue;
    return { file, format: land === undefined ? file : exact, direction: /^(ar|he)/.test(file) ? "rtl" : "ltr" };
  }
  return { file: "en", format: "en", direction: "ltr" };
}
