// The view model of the shell: the methods of the Session and the texts around them.

import { CARDS, type ViewModel, type Method } from "../shared/protocol";
import { say, type Strings } from "../shared/strings";
import type { View } from "../payment/api";
import { drawingOf } from "./marks";
import { amountOf } from "./money";

type Offered = View["PaymentMethods"][number];

export const isCard = (method: Offered): boolean => method.Class === "Card";

/** All card schemes together; without a locale their names stand with commas between them. */
export function cardEntry(strings: Strings, schemes: readonly Offered[], locale = document.documentElement.lang): Method {
  const all = schemes.map((method) => method.Name);
  const names = locale === "" ? all.join(", ") : new Intl.ListFormat(locale).format(all);
  const marks = schemes.map((method) => [drawingOf(method.Id), method.Name] as const);
  return { id: CARDS, name: say(strings, "card"), icon: "card", drawing: "", marks, accepted: say(strings, "acceptedCards", { names }), line: "", button: "" };
}

/** The text for `key` that a method has of its own, else the one of all methods of its kind. */
const keyOf = (strings: Strings, key: string, id: string): string => (`${key}.${id}` in strings ? `${key}.${id}` : key);

function entry(strings: Strings, { Id, Name, Class }: Offered, amount: string): Method {
  const transfer = Class === "Offline";
  const name = strings[`method.${Id}`] ?? Name;
  return {
    id: Id,
    name,
    icon: transfer ? "bank" : Id === "PAYLATER" ? "later" : "leave",
    drawing: drawingOf(Id),
    marks: [],
    accepted: "",
    line: say(strings, transfer ? "transferLine" : keyOf(strings, "leaveLine", Id), { name, amount }),
    button: say(strings, transfer ? "transferButton" : keyOf(strings, "leaveButton", Id), { name, amount }),
  };
}

/** All card schemes are one entry, the first; the others follow in the Session's order. `listed` are entries that the frame draws. */
export function viewModelOf(strings: Strings, { SavedCards: _saved, ...view }: View, listed: boolean, locale = document.documentElement.lang): ViewModel {
  const { lang, dir } = document.documentElement;
  const amount = amountOf(view, locale);
  const schemes = view.PaymentMethods.filter(isCard);
  const others = view.PaymentMethods.filter((method) => !isCard(method)).map((method) => entry(strings, method, amount));
  return {
    lang,
    dir,
    frameTitle: say(strings, "frameTitle"),
    testMode: view.Sandbox ? say(strings, "testMode") : "",
    listed,
    methods: schemes.length > 0 ? [cardEntry(strings, schemes, locale), ...others] : others,
    view,
    strings,
  };
}
