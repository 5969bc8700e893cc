// Start of the card frame: take the port, read the Session and the language that came with the page, load the texts, check who embeds us, show
// the form. What happens in it is for payment.ts, which comes once the form is there, or beside the texts where there is more than a form to show.

import { baseOf } from "../shared/address";
import { setNotice } from "../shared/dom";
import { insist, load } from "../shared/lazy-module";
import { isSafeValue } from "../shared/safe-value";
import type { ShellMessage } from "../shared/protocol";
import { say, type Strings } from "../shared/strings";
import { addStyles } from "../shared/styles";
import type { Theme } from "../shared/theme";
import { drawCardForm, drawField, drawForm, hideButton, type CardFormParts } from "./form";
import { drawingOf } from "./marks";
import { amountOf } from "./money";
import { cardEntry, isCard, viewModelOf } from "./view-model";
import { Link, portOffer, type Offer } from "./link";
import { announce, drawn, show, watchHeight } from "./screen";
import type { View } from "../payment/api";
import type * as Payment from "../payment/payment";
import type * as Saved from "../saved/saved";
import frameCss from "./frame.css";
import payCss from "../shared/pay.css";
import baseCss from "../shared/base.css";

/** A refusal waits no longer for its words: the shell has some. */
const WORDS_TIMEOUT_MS = 3_000;
const TEXTS_TIMEOUT_MS = 5_000;
/** Between tries to load texts; none after the last. */
const TEXTS_PAUSES_MS = [500, 1000, 2000, 0];

/** The shopper does not wait longer than this for the list of saved cards. */
const SAVED_TIMEOUT_MS = 5_000;

/** What the service wrote into the page: the Session, or why there is none to show. */
type Embedded = View | { readonly Code: string; readonly Message: string };

let savedPart: Promise<typeof Saved | null> | undefined;

/** The part that draws saved cards. Without it, or where it does not come in time, there is a new card to pay with. */
function saved(): Promise<typeof Saved | null> {
  const late = new Promise<null>((resolve) => setTimeout(resolve, SAVED_TIMEOUT_MS, null));
  return (savedPart ??= Promise.race([load<typeof Saved>(SAVED, location.href).catch(() => null), late]));
}

/** What this part has for the others, which share it. */
const kit = { announce, amountOf, cardEntry, drawField, drawForm, drawingOf, hideButton, isCard, saved, show, viewModelOf, watchHeight };

/** All of it, for one Session. */
export interface Frame extends Readonly<typeof kit> {
  readonly base: URL;
  readonly offer: Offer;
  readonly link: Link;
  /** More are added in place. */
  readonly strings: Record<string, string>;
  /** Where the texts are that follow the form, and what becomes of loading them. */
  readonly address: string;
  later: Promise<Strings | null>;
  readonly view: View;
  readonly form: CardFormParts;
  /** Whether the form is drawn, and the shell knows. */
  readonly isShown: boolean;
  /** What the shell has said so far; more is handed to `heard`. */
  readonly said: ShellMessage[];
  heard: (message: ShellMessage) => void;
  /** The button of the form was pressed. */
  submitted: () => void;
}

function embedded(): Embedded {
  const text = document.getElementById("session")?.textContent ?? "";
  try {
    return JSON.parse(text) as Embedded;
  } catch {
    return { Code: "SERVICE_UNAVAILABLE", Message: "" };
  }
}

/** One file of texts, known by its text `proof`; `null` when it cannot be had. */
async function textsAt(address: string, proof: string): Promise<Record<string, string> | null> {
  for (const pause of TEXTS_PAUSES_MS) {
    try {
      const body = Object(await (await fetch(address, { signal: AbortSignal.timeout(TEXTS_TIMEOUT_MS) })).json()) as Record<string, string>;
      if (proof in body) return body;
    } catch {
      // Nobody answers, or not our service.
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return null;
}

/** Whether there is a form of a new card to show, and nothing else to say. */
const isPlain = (view: View): boolean => view.State === "CREATED" && !view.Attempt && !view.SavedCards?.length && !view.OpensContract && !view.AllowsContract && !view.AddressFields;

/** Why there is nothing to show; "" when there is. */
function refusalOf(view: Embedded, { origin }: Offer, strings: Strings | null): string {
  if (strings === null) return "SERVICE_UNAVAILABLE";
  if (!("State" in view)) return view.Code === "VALIDATION_ERROR" ? "SESSION_NOT_FOUND" : view.Code;
  if (!view.MerchantOrigins.includes(origin)) return "ORIGIN_NOT_ALLOWED";
  // A payment under way, or over, is followed even if nothing could pay it any more.
  return view.State === "CREATED" && view.PaymentMethods.length === 0 ? "NO_PAYMENT_METHOD" : "";
}

/** Tells the shell why there is no form; without texts the words are the shell's. */
async function refuse(link: Link, code: string, view: Embedded, later: Promise<Strings | null>): Promise<void> {
  const late = new Promise<null>((resolve) => setTimeout(resolve, WORDS_TIMEOUT_MS, null));
  const words = (await Promise.race([later, late])) ?? {};
  link.fail(code, "Message" in view ? view.Message : "", words["failedTitle"] ?? "", words[`failed.${code}`] ?? words["failed.other"] ?? "");
}

async function boot(script: string): Promise<void> {
  const offered = portOffer();
  addStyles(document, baseCss + payCss + frameCss);
  const view = embedded();
  // The service chose the language, and wrote down where its texts are.
  const [first = "", second = ""] = [...document.querySelectorAll("link")].map(({ href }) => href);
  const loading = textsAt(first, "pay");
  const later = (): Promise<Strings | null> => textsAt(second, "doneTitle");
  const isShown = "State" in view && isPlain(view);
  const beside = isShown ? null : { later: later(), part: load(PAYMENT, script).catch(() => null) };
  if ("State" in view && view.SavedCards?.length) void saved();
  const offer = await offered;
  const link = new Link(offer.port);
  link.send({ type: "hello" });
  const strings = await loading;
  const code = refusalOf(view, offer, strings);
  if (code !== "" || strings === null || !("State" in view)) return refuse(link, code, view, beside?.later ?? later());
  document.title = say(strings, "frameTitle");
  await beside?.part;
  start({ base: baseOf(script), offer, link, strings, address: second, view, isShown }, beside ? () => beside.later : later);
}

/** Puts the page's look on the form. The shell has checked the values; what could load anything is left out here as well. */
function dress({ variables, scheme }: Theme): void {
  const root = document.documentElement;
  for (const [name, value] of Object.entries(variables)) if (name.startsWith("--")) root.style.setProperty(name, isSafeValue(value) ? value : "");
  root.dataset["scheme"] = scheme;
}

/** Shows the form as soon as the shell has said how, which it does first of all; then has the part that pays. */
function start(given: Pick<Frame, "base" | "offer" | "link" | "strings" | "address" | "view" | "isShown">, later: () => Promise<Strings | null>): void {
  const { base, link, strings, view, isShown } = given;
  const form = drawCardForm(strings);
  let isBegun = false;
  /** Whether the shopper has pressed the button of a form that cannot pay yet. */
  let isPressed = false;
  const setPressed = (pressed: boolean, text: string): void => {
    isPressed = pressed;
    form.element.setAttribute("aria-busy", String(pressed));
    setNotice(form.notice, text);
    if (text !== "") announce(text);
  };
  /**
   * Writes the amount, and tells the shell. The first use of Intl takes a browser as long as half of the form: without a locale the amount only
   * takes its room on the button, which takes no press.
   */
  const write = (locale?: string): void => {
    const amount = amountOf(view, locale);
    form.buttonText.textContent = say(strings, "pay", { amount });
    form.total.textContent = say(strings, "total", { amount });
    form.button.disabled = locale === "" || !form.total.hidden;
    link.send({ type: "ready", model: viewModelOf(strings, view, false, locale) });
  };
  const begin = async (): Promise<void> => {
    isBegun = true;
    if (isShown) {
      write("");
      watchHeight((height) => link.send({ type: "size", height }));
    }
    frame.later = later();
    const part = insist<typeof Payment>(PAYMENT, base, () => {
      if (isPressed) setPressed(false, say(strings, "notSent"));
      return true;
    });
    // Nothing is paid whose amount does not stand there.
    if (isShown) {
      await drawn();
      write();
    }
    (await part)?.begin(frame, isPressed);
  };
  const frame: Frame = {
    ...kit,
    ...given,
    form,
    said: [],
    later: Promise.resolve(null),
    submitted: () => setPressed(isShown, ""),
    heard: (message) => {
      frame.said.push(message);
      if (message.type === "submit") frame.submitted();
      // A browser whose Intl refuses the language: nothing is paid whose amount cannot be said.
      if (message.type === "select" && !isBegun) begin().catch(() => link.fail("FRAME_UNAVAILABLE", "", "", ""));
    },
  };
  form.element.addEventListener("submit", (event) => {
    event.preventDefault();
    frame.submitted();
  });
  show(form.element);
  link.listen((message) => {
    if (message.type === "theme") return dress(message.theme);
    if (message.type === "setup") hideButton(form, message.hideSubmitButton);
    frame.heard(message);
  });
}

void boot((document.currentScript as HTMLScriptElement).src);
