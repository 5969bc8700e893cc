// The language of the payment form. The shop's own words are English; whoever pays may read the form in another one.

import { h } from "./kit.js";

const KEY = "stillwater.language";
const DEFAULT = "en";

/** By the languages of the drop-in, the `locale` that it is told: the language as it is written in the country where most of its readers live, and English as in the shop's own. */
export const LOCALES = {
  ar: "ar_EG", bg: "bg_BG", cs: "cs_CZ", da: "da_DK", de: "de_DE", el: "el_GR", en: "en_IE", es: "es_ES", et: "et_EE", fi: "fi_FI", fr: "fr_FR",
  he: "he_IL", hr: "hr_HR", hu: "hu_HU", id: "id_ID", it: "it_IT", ja: "ja_JP", ko: "ko_KR", lt: "lt_LT", lv: "lv_LV", ms: "ms_MY", nb: "nb_NO",
  nl: "nl_NL", pl: "pl_PL", "pt-BR": "pt_BR", "pt-PT": "pt_PT", ro: "ro_RO", ru: "ru_RU", sk: "sk_SK", sl: "sl_SI", sv: "sv_SE", th: "th_TH",
  tr: "tr_TR", vi: "vi_VN", "zh-Hans": "zh_CN", "zh-Hant": "zh_TW",
};

const chosen = () => (Object.hasOwn(LOCALES, localStorage.getItem(KEY) ?? "") ? localStorage.getItem(KEY) : DEFAULT);

/** What the drop-in is told. */
export const locale = () => LOCALES[chosen()];

/** A selector with each language in its own words; `changed` is called after another choice. */
export function languageChoice(changed) {
  const own = (tag) => new Intl.DisplayNames(tag, { type: "language" }).of(tag);
  const options = Object.keys(LOCALES).map((tag) => h("option", { value: tag, lang: tag, selected: tag === chosen() }, own(tag)));
  const select = h("select", { id: "language", onchange: () => {
    localStorage.setItem(KEY, select.value);
    changed();
  } }, options);
  return h("label", { class: "choose language" }, h("span", {}, "Language of the form"), select);
}
