// Start of the card frame: take the port, load the texts and the Session, check who embeds us, show the form.

import { TAGS } from "virtual:locales";
import { baseOf } from "../shared/address";
import { resolveLocale, type Locale } from "../shared/locale";
import type { Face } from "../shared/protocol";
import { say, type Strings } from "../shared/strings";
import { applyTheme, inkOn } from "../shared/theme";
import { Api, persist, type Answer, type View } from "./api";
import { markOf } from "./brands";
import { CardForm } from "./card-form";
import { Checkout, PAUSES } from "./checkout";
import { Link, portOffer, type Offer } from "./link";
import { Screen } from "./screen";

function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`frame.html lacks #${id}`);
  return element;
}

/** Tells the shell why there is no form; an empty title leaves the words to the shell. */
function refuse(offer: Offer, strings: Strings | null, code: string, message: string): void {
  const key = strings && `failed.${code}` in strings ? code : "other";
  const [title, text] = strings ? [say(strings, "failedTitle"), say(strings, `failed.${key}`)] : ["", ""] as const;
  new Link(offer.port).fail(code, message, title, text);
}

/** Button ink follows the merchant's colours, so that its text stays readable on any of them. */
function inkButtons(root: HTMLElement): void {
  const probe = document.createElement("i");
  root.append(probe);
  for (const name of ["primary", "hover"]) {
    probe.style.backgroundColor = `var(--d-${name})`;
    document.documentElement.style.setProperty(`--d-on-${name}`, inkOn(getComputedStyle(probe).backgroundColor));
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
  const app = byId("app");
  const link = new Link(offer.port);
  const form = new CardForm(strings, methods.map((method) => method.Id), {
    changed: () => checkout.tellEnabled(),
    submitted: () => void checkout.pay(),
    announce: (message) => screen.announce(message),
  });
  const screen = new Screen(app, byId("live"), form);
  const checkout = new Checkout(api, sessionId, link, screen, strings, locale.format, view);
  link.listen((message) => {
    if (message.type === "setup") form.hideButton(message.hideSubmitButton);
    else if (message.type === "theme") (applyTheme(document.documentElement, message.theme), inkButtons(app));
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
  const loads: [Promise<Answer<Record<string, string>>>, Promise<Answer<View>>] = [
    persist(() => api.strings(locale.file, signal), PAUSES, signal),
    persist(() => api.view(signal), PAUSES, signal),
  ];
  const [texts, view] = await Promise.all(loads);
  const offer = await offered;
  const strings = texts.kind === "ok" ? texts.body : null;
  if (view.kind === "refused") return refuse(offer, strings, view.code, view.message);
  if (view.kind === "unreachable" || strings === null) return refuse(offer, null, "SERVICE_UNAVAILABLE", "The payment service cannot be reached.");
  if (!view.body.MerchantOrigins.includes(offer.origin)) {
    const advice = `${offer.origin} is not among the origins of this Session's merchant. Register it, or open the shop from a registered one.`;
    return refuse(offer, strings, "ORIGIN_NOT_ALLOWED", advice);
  }
  document.title = say(strings, "frameTitle");
  if (!view.body.PaymentMethods.some(isCard)) return refuse(offer, strings, "NO_PAYMENT_METHOD", "This Session has no payment method for its country and currency.");
  start(offer, api, sessionId, strings, view.body, locale);
}

const script = document.currentScript;
if (script instanceof HTMLScriptElement) void boot(script.src);
