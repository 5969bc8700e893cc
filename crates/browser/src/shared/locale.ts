// Which language's texts serve which request. lib.rs chooses alike for the service's own pages; test/locale-choices.json holds both.

import { aliases, rightToLeft } from "../../languages.json";

export interface Locale {
  /** The language whose texts are shown, e.g. "de". */
  readonly tag: string;
  /** BCP 47 tag for numbers, currencies and `lang`, e.g. "de-AT": the language with the country that was asked for. */
  readonly format: string;
  readonly direction: "ltr" | "rtl";
}

const ALIASES: Readonly<Record<string, string>> = aliases;

const isLetters = (part: string | undefined, least: number, most = least): part is string =>
  part !== undefined && part.length >= least && part.length <= most && /^[a-z]+$/i.test(part);

/** Of `tags`, the one whose texts a request (a language, maybe a script, maybe a country, with - or _ between) gets; and as what. */
function choose(request: string, tags: readonly string[]): Locale | null {
  const [spoken, second, third] = request.split(/[-_]/);
  if (!isLetters(spoken, 2, 3)) return null;
  const language = spoken.toLowerCase();
  const script = isLetters(second, 4) ? second : undefined;
  const land = script === undefined ? second : third;
  const country = isLetters(land, 2) ? land.toUpperCase() : undefined;
  const wanted = [
    ...(script === undefined ? [] : [`${language}-${script.charAt(0).toUpperCase()}${script.slice(1).toLowerCase()}`]),
    // A script that is named outweighs what is usual in the country.
    ...(country === undefined || script !== undefined ? [] : [`${language}-${country}`]),
    language,
  ];
  const tag = wanted.map((one) => ALIASES[one] ?? one).find((one) => tags.includes(one));
  if (tag === undefined) return null;
  // The country that was asked for takes the place of the file's own.
  const format = country === undefined ? tag : `${tag.replace(/-[A-Z]{2}$/, "")}-${country}`;
  return { tag, format, direction: rightToLeft.includes(tag) ? "rtl" : "ltr" };
}

/** The first request that there are texts for; English when there is none. */
export function resolveLocale(requests: readonly (string | null | undefined)[], tags: readonly string[]): Locale {
  for (const request of requests) {
    const chosen = choose(request ?? "", tags);
    if (chosen !== null) return chosen;
  }
  return { tag: "en", format: "en", direction: "ltr" };
}
