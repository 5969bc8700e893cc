// Which locale file serves which request. Used by the shell (which sees the merchant page) and by the frame (which does not).

export interface Locale {
  /** Tag of the locale file, e.g. "de". */
  readonly file: string;
  /** BCP 47 tag for numbers and currencies, e.g. "de-AT": the file's language with the country that was asked for. */
  readonly format: string;
  readonly direction: "ltr" | "rtl";
}

const RENAMED: Readonly<Record<string, string>> = { no: "nb", nn: "nb", iw: "he", in: "id" };
const TRADITIONAL = new Set(["TW", "HK", "MO"]);
const RIGHT_TO_LEFT = new Set(["ar", "he"]);
const SHAPE = /^([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}|\d{3}))?(?:[-_.@]|$)/i;

/** The file tags that could serve one language, best first. */
function candidates(language: string, script: string | undefined, country: string | undefined): string[] {
  const exact = country === undefined ? [] : [`${language}-${country}`];
  if (language === "zh") {
    const traditional = script === "Hant" || (script === undefined && TRADITIONAL.has(country ?? ""));
    return [traditional ? "zh-Hant" : "zh-Hans"];
  }
  if (language === "pt") return [...exact, "pt-PT", "pt"];
  return [...exact, language];
}

/** The first request that a file exists for; English when there is none. */
export function resolveLocale(requests: readonly (string | null | undefined)[], files: readonly string[]): Locale {
  for (const request of requests) {
    const match = SHAPE.exec(request ?? "");
    if (match === null) continue;
    const spoken = (match[1] ?? "").toLowerCase();
    const language = RENAMED[spoken] ?? spoken;
    const script = match[2] && match[2].charAt(0).toUpperCase() + match[2].slice(1).toLowerCase();
    const country = match[3]?.toUpperCase();
    const file = candidates(language, script, country).find((tag) => files.includes(tag));
    if (file === undefined) continue;
    const format = country === undefined ? file : `${language}-${country}`;
    return { file, format, direction: RIGHT_TO_LEFT.has(language) ? "rtl" : "ltr" };
  }
  return { file: "en", format: "en", direction: "ltr" };
}
