// Start of the card frame: take the port, read the Session that came with the page, load the texts, check who embeds us, show the form.

import { FINGERPRINTS } from "virtual:locales";
import { baseOf } from "../shared/address";
import { resolveLocale, type Locale } from "../shared/locale";
import { load } from "../shared/lazy-module";
import { say, type Strings } from "../shared/strings";
import { applyTheme } from "../shared/theme";
import { Api, type View } from "./api";
import { brandNamed } from "./brands";
import { CardForm } from "./card-form";
import { Checkout } from "./checkout";
import { CodeForm } from "./code-form";
import { Forms } from "./forms";
import { drawingOf } from "./marks";
import { cardEntry, isCard } from "./view-model";
import { Link, portOffer, type Offer } from "./link";
import { announce, show, watchHeight } from "./screen";
import { Texts } from "./texts";
import type * as Saved from "../saved/saved";
import type * as Wallet from "../wallet/wallet";
import frameCss from "./frame.css";
import tokensCss from "../shared/tokens.css";

/** The shopper does not wait longer than this for the list of saved cards. */
const SAVED_TIMEOUT_MS = 5_000;
/** A refusal waits no longer for its words: the shell has some, and the cause is what the merchant needs. */
const WORDS_TIMEOUT_MS = 3_000;

/** What the service wrote into the page: the Session, or why there is none to show. */
type Embedded = View | { readonly Code: string; readonly Message: string };

/** What the page's developer has to change, by the code of the failure. */
const CAUSES: Readonly<Record<string, (origin: string, message: string) => string>> = {
  ORIGIN_NOT_ALLOWED: (origin) =>
    `Pages of ${origin} may not embed the drop-in for this Session. Either the Session is another merchant's, or the origin is not registered: `
    + `dropin merchant set MERCHANT_ID --origin ${origin} (repeat --origin for every origin of the shop: the list is replaced).`,
  SESSION_NOT_FOUND: (_origin, message) => `${message} Pass the SessionId that POST {base_url}/v1/session answered, of this deployment, as \`id\`.`,
  NO_PAYMENT_METHOD: () =>
    "No payment method fits the Session's billing country, currency, amount and AutoCapture: GET {checkout_url}/v2.22/getPaymentMethods lists what does.",
  SERVICE_UNAVAILABLE: () => "The payment service did not answer. Its /readyz says why.",
};

function embedded(): Embedded {
  const text = document.getElementById("session")?.textContent ?? "";
  try {
    return JSON.parse(text) as Embedded;
  } catch {
    return { Code: "SERVICE_UNAVAILABLE", Message: "" };
  }
}

/** Tells the shell why there is no form; without texts the words are the shell's. */
async function refuse({ origin }: Offer, link: Link, texts: Texts | null, code: string, message = ""): Promise<void> {
  const late = new Promise<false>((resolve) => setTimeout(resolve, WORDS_TIMEOUT_MS, false));
  const strings: Strings = texts !== null && (await Promise.race([texts.complete(), late])) ? texts.strings : {};
  const text = strings[`failed.${code}`] ?? strings["failed.other"] ?? "";
  link.fail(code, CAUSES[code]?.(origin, message) ?? message, strings["failedTitle"] ?? "", text);
}

let saved: Promise<typeof Saved | null> | undefined;

/** The part that draws saved cards. Without it, or where it does not come in time, there is a new card to pay with. */
function savedPart(): Promise<typeof Saved | null> {
  const late = new Promise<null>((resolve) => setTimeout(resolve, SAVED_TIMEOUT_MS, null));
  return (saved ??= Promise.race([load<typeof Saved>(SAVED, location.href).catch(() => null), late]));
}

function start(offer: Offer, link: Link, api: Api, sessionId: string, texts: Texts, view: View, locale: Locale): void {
  const { strings } = texts;
  const schemes = view.PaymentMethods.filter(isCard);
  const events = { changed: () => checkout.tellEnabled(), submitted: () => void checkout.pay(), announce };
  const form = new CardForm(strings, schemes.map((method) => method.Id), events);
  let headingLevel: number | undefined;
  const forms = new Forms(form, async () => {
    const part = await savedPart();
    if (part === null || headingLevel === undefined) return null;
    const list = new part.SavedCards(strings, cardEntry(strings, locale, schemes), form.element, {
      codeForm: (label, suffix, length) => new CodeForm(strings, events, label, suffix, length),
      brandNamed,
      drawingOf,
      announce,
      toggled: (contract) => checkout.toggle(contract),
      remove: (contract) => checkout.remove(contract),
      headingLevel,
    });
    show(list.element);
    return list;
  });
  show(form.element);
  // What there is to say has its place once the open method is known; the shell tells it first of all.
  let begin = async (): Promise<void> => {
    begin = async () => {};
    await forms.prepare(view, true);
    await checkout.start();
    watchHeight((height) => link.send({ type: "size", height }));
  };
  const checkout = new Checkout(api, sessionId, link, forms, texts, locale, view);
  link.listen((message) => {
    if (message.type === "setup") {
      forms.hideButton(message.hideSubmitButton);
      ({ headingLevel } = message);
    }
    else if (message.type === "theme") applyTheme(document.documentElement, message.theme);
    else if (message.type === "select") {
      checkout.select(message.method);
      void begin();
    }
    else if (message.type === "another") void checkout.payAnotherWay();
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
  document.addEventListener("visibilitychange", () => checkout.checkExpiry());
}

/** Constructed style sheets need no permission of the page's CSP, and no request of their own. */
function dress(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(tokensCss + frameCss);
  document.adoptedStyleSheets = [sheet];
}

async function boot(script: string): Promise<void> {
  const offered = portOffer();
  dress();
  const query = new URLSearchParams(location.search);
  const sessionId = query.get("session") ?? "";
  const locale = resolveLocale([query.get("locale"), location.hash.slice(1), ...navigator.languages], Object.keys(FINGERPRINTS));
  document.documentElement.lang = locale.format;
  document.documentElement.dir = locale.direction;
  const api = new Api(baseOf(script), sessionId);
  const view = embedded();
  // Beside the texts, which are waited for as well.
  if ("State" in view && view.SavedCards?.length) void savedPart();
  const loading = Texts.load(api, `locales/${locale.tag}.json?${FINGERPRINTS[locale.tag]}`);
  const offer = await offered;
  const link = new Link(offer.port);
  link.send({ type: "hello" });
  const texts = await loading;
  if (texts === null) return refuse(offer, link, null, "SERVICE_UNAVAILABLE");
  if (!("State" in view)) return refuse(offer, link, texts, view.Code === "VALIDATION_ERROR" ? "SESSION_NOT_FOUND" : view.Code, view.Message);
  if (!view.MerchantOrigins.includes(offer.origin)) return refuse(offer, link, texts, "ORIGIN_NOT_ALLOWED");
  document.title = say(texts.strings, "frameTitle");
  // A payment under way, or over, is followed even if nothing could pay it any more.
  if (view.State === "CREATED" && view.PaymentMethods.length === 0) return refuse(offer, link, texts, "NO_PAYMENT_METHOD");
  start(offer, link, api, sessionId, texts, view, locale);
}

void boot((document.currentScript as HTMLScriptElement).src);
