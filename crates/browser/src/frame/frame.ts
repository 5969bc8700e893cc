// Start of the card frame: take the port, load the texts and the Session, check who embeds us, show the form.

import { TAGS } from "virtual:locales";
import { baseOf } from "../shared/address";
import { resolveLocale, type Locale } from "../shared/locale";
import type { Face } from "../shared/protocol";
import { say, type Strings } from "../shared/strings";
import { applyTheme, inkOn } from "../shared/theme";
import { Api, type View } from "./api";
import { markOf } from "./brands";
import { CardForm } from "./card-form";
import { Checkout } from "./checkout";
import { Link, portOffer, type Offer } from "./link";
import { Screen } from "./screen";

/** Tells the shell why there is no form; without texts the words are the shell's. */
function refuse(offer: Offer, strings: Strings, code: string, message: string): void {
  const text = strings[`failed.${code}`] ?? strings["failed.other"] ?? "";
  new Link(offer.port).fail(code, message, strings["failedTitle"] ?? "", text);
}

/** Button ink follows the merchant's colours, so that its text stays readable on any of them. */
function inkButtons(): void {
  const { style } = document.documentElement;
  const probe = document.body.appendChild(document.createElement("i"));
  for (const name of ["primary", "hover"]) {
    probe.style.backgroundColor = `var(--d-${name})`;
    style.setProperty(`--d-on-${name}`, inkOn(getComputedStyle(probe).backgroundColor));
  }
  probe.remove();
}

const isCard = (method: { readonly Class: string }): boolean => method.Class === "Card";

function faceOf(strings: Strings, locale: Locale, view: View, methods: View["PaymentMethods"]): Face {
  return {
    lang: locale.format,
    dir: locale.direction,
    card: say(strings, "card"),
    frameTitle: say(strings, "frameTitle"),
    accepted: say(strings, "acceptedCards", { names: methods.map((method) => method.Name).join(", ") }),
    marks: methods.map((method) => markOf(method.Id, method.Name)),
    testMode: view.Sandbox ? say(strings, "testMode") : "",
  };
}

function start(offer: Offer, api: Api, sessionId: string, strings: Strings, view: View, locale: Locale): void {
  const methods = view.PaymentMethods.filter(isCard);
  const link = new Link(offer.port);
  const form = new CardForm(strings, methods.map((method) => method.Id), {
    changed: () => checkout.tellEnabled(),
    submitted: () => void checkout.pay(),
    announce: (message) => screen.announce(message),
  });
  const screen = new Screen(form);
  const checkout = new Checkout(api, sessionId, link, screen, strings, locale.format, view);
  link.listen((message) => {
    if (message.type === "setup") form.hideButton(message.hideSubmitButton);
    else if (message.type === "theme") (applyTheme(document.documentElement, message.theme), inkButtons());
    else if (message.type === "select") checkout.select(message.selected);
    else void checkout.pay();
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) void checkout.reload();
  });
  link.send({ type: "ready", face: faceOf(strings, locale, view, methods) });
  checkout.begin();
  screen.watchHeight((height) => link.send({ type: "size", height }));
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
  if (!view.body.PaymentMethods.some(isCard)) return refuse(offer, strings, "NO_PAYMENT_METHOD", "No payment method fits the Session's country and currency.");
  start(offer, api, sessionId, strings, view.body, locale);
}

void boot((document.currentScript as HTMLScriptElement).src);
