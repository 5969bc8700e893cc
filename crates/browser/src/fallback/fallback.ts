// Entry of fallback.js: what the shell says in each language when the frame cannot say anything, and what the page's developer has to change where
// there is no form. Nobody loads it whose form works.

import { TEXTS } from "virtual:fallback";
import { resolveLocale } from "../shared/locale";

export { causeOf } from "./cause";
export { diagnose } from "./diagnosis";

export interface Words {
  readonly lang: string;
  readonly dir: string;
  readonly title: string;
  readonly text: string;
}

/** In the first of the languages that there are words in; else in English. */
export function wordsIn(languages: readonly string[]): Words {
  const { tag, format: lang, direction: dir } = resolveLocale(languages, Object.keys(TEXTS));
  const [title = "", text = ""] = TEXTS[tag] ?? [];
  return { lang, dir, title, text };
}
