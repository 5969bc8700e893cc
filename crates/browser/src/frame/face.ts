// What the shell is told to show: the methods of the Session and the words around them.

import type { Locale } from "../shared/locale";
import { CARDS, type Face, type Method } from "../shared/protocol";
import { say, type Strings } from "../shared/strings";
import type { View } from "./api";
import { markOf } from "./brands";
import { amountOf } from "./money";

type Offered = View["PaymentMethods"][number];

export const isCard = (method: Offered): boolean => method.Class === "Card";

function cardEntry(strings: Strings, schemes: readonly Offered[]): Method {
  const names = schemes.map((method) => method.Name).join(", ");
  const marks = schemes.map((method) => markOf(method.Id, method.Name));
  return { id: CARDS, name: say(strings, "card"), icon: "card", marks, accepted: say(strings, "acceptedCards", { names }), line: "", button: "" };
}

function entry(strings: Strings, { Id, Name, Class }: Offered, amount: string): Method {
  const transfer = Class === "Offline";
  return {
    id: Id,
    name: Name,
    icon: transfer ? "bank" : "leave",
    marks: [],
    accepted: "",
    line: say(strings, transfer ? "transferLine" : "leaveLine", { name: Name, amount }),
    button: say(strings, "pay", { amount }),
  };
}

/** All card schemes are one entry, the first; the others follow in the Session's order. */
export function faceOf(strings: Strings, locale: Locale, view: View): Face {
  const amount = amountOf(view, locale.format);
  const schemes = view.PaymentMethods.filter(isCard);
  const others = view.PaymentMethods.filter((method) => !isCard(method)).map((method) => entry(strings, method, amount));
  return {
    lang: locale.format,
    dir: locale.direction,
    frameTitle: say(strings, "frameTitle"),
    testMode: view.Sandbox ? say(strings, "testMode") : "",
    methods: schemes.length > 0 ? [cardEntry(strings, schemes), ...others] : others,
    view,
    strings,
  };
}
