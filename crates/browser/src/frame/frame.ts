// Start of the card frame: take the port, load the texts and the Session, check who embeds us, show the form.

import { TAGS } from "virtual:locales";
import { baseOf } from "../shared/address";
import { resolveLocale, type Locale } from "../shared/locale";
import { load } from "../shared/part";
import { say, type Strings } from "../shared/strings";
import { applyTheme } from "../shared/theme";
import { Api, type View } from "./api";
import { CardForm } from "./card-form";
import { Checkout } from "./checkout";
import { isCard } from "./face";
import { Link, portOffer, type Offer } from "./link";
import { announce, show, watchHeight } from "./screen";
import type * as Wallet from "../wallet/wallet";

/** Tells the shell why there is no form; without texts the words are the shell's. */
function refuse(offer: Offer, strings: Strings, code: string, message: string): void {
  const text = strings[`failed.${code}`] ?? strings["failed.other"] ?? "";
  new Link(offer.port).fail(code, message, strings["failedTitle"] ?? "", text);
}

function start(offer: Offer, api: Api, sessionId: string, strings: Strings, view: View, locale: Locale): void {
  const link = new Link(offer.port);
  const form = new CardForm(strings, view.PaymentMethods.filter(isCard).map((method) => method.Id), {
    changed: () => checkout.tellEnabled(),
    submitted: () => void checkout.pay(),
    announce,
  });
  show(form.element);
  const checkout = new Checkout(api, sessionId, link, form, strings, locale, view);
  link.listen((message) => {
    if (message.type === "setup") form.hideButton(message.hideSubmitButton);
    else if (message.type === "theme") applyTheme(document.documentElement, message.theme);
    else if (message.type === "select") checkout.select(message.method);
    else if (message.type === "wallet") {
      const answered = load<typeof Wallet>(WALLET, location.href).then((part) => part.answer(message.ask, view, offer.origin, link, checkout));
      // The sheet closes.
      answered.catch(() => link.send({ type: "wallet", session: {} }));
    }
    else void checkout.pay();
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) void checkout.reload();
  });
  checkout.begin();
  watchHeight((height) => link.send({ type: "size", height }));
}

async function boot(script: string): Promise<void> {
  const offered = portOffer();
  const query = new URLSearchParams(location.search);
  const sessionId = query.get("session") ?? "";
  const locale = resolveLocale([query.get("locale"), location.hash.slice(1), ...navigator.languages], TAGS);
  document.documentElement.lang = locale.format;
  document.documentElement.dir = locale.direction;
  const api = new Api(baseOf(script), sessionId);
  const { signal } = new AbortController();
  const [texts, view] = await Promise.all([api.strings(locale.file, signal), api.view(signal)]);
  const offer = await offered;
  const strings = texts.kind === "ok" ? texts.body : {};
  if (view.kind === "refused") return refuse(offer, strings, view.code, view.message);
  if (view.kind === "unreachable" || texts.kind !== "ok") return refuse(offer, {}, "SERVICE_UNAVAILABLE", "The payment service cannot be reached.");
  if (!view.body.MerchantOrigins.includes(offer.origin)) {
    return refuse(offer, strings, "ORIGIN_NOT_ALLOWED", `Register ${offer.origin} as an origin of this Session's merchant.`);
  }
  document.title = say(strings, "frameTitle");
  // A payment under way, or over, is followed even if nothing could pay it any more.
  if (view.body.State === "CREATED" && view.body.PaymentMethods.length === 0) return refuse(offer, strings, "NO_PAYMENT_METHOD", "No payment method fits the Session's country and currency.");
  start(offer, api, sessionId, strings, view.body, locale);
}

void boot((document.currentScript as HTMLScriptElement).src);
