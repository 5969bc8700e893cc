// Entry of payment.js: what the frame does beside showing the form of a new card. It masks and checks what is typed, follows a payment from the press
// of the button to its end, and asks what the shopper agrees to. The frame loads it once the form is there, or beside the texts where there is more
// than a form to show.

import { addStyles } from "../shared/styles";
import noticeCss from "../shared/notice.css";
import { insist } from "../shared/lazy-module";
import type { Frame } from "../frame/frame";
import type * as Postcode from "../postcode/postcode";
import { AgreementBox } from "./agreement";
import { Api, type View } from "./api";
import { brandNamed } from "./brands";
import { cardForm } from "./card-form";
import { Checkout } from "./checkout";
import { codeForm } from "./code-form";
import { Forms, type CardList } from "./forms";
import { drawingOf } from "./marks";
import { Field } from "./field";
import { toDigits } from "./mask";
import { Texts } from "./texts";
import css from "./payment.css";

/** Takes the frame over. `isPressed` says that the shopper has pressed the button already. */
export function begin(frame: Frame, isPressed: boolean): void {
  const { form, link, strings, view } = frame;
  addStyles(document, noticeCss + css);
  const schemes = view.PaymentMethods.filter(frame.isCard);
  const events = {
    changed: () => checkout.tellEnabled(),
    submitted: () => void checkout.pay(),
    announce: frame.announce,
  };
  let headingLevel: number | undefined;
  const cardList = async (): Promise<CardList | null> => {
    const part = await frame.saved();
    if (part === null || headingLevel === undefined) return null;
    const list = new part.SavedCards(strings, frame.cardEntry(strings, schemes), form.element, {
      codeForm: (label, suffix, length) => codeForm(frame, events, label, suffix, length),
      brandNamed,
      drawingOf: (id) => drawingOf(frame, id),
      announce: frame.announce,
      toggled: (contract) => checkout.toggle(contract),
      remove: (contract) => checkout.remove(contract),
      headingLevel,
    });
    frame.show(list.element);
    return list;
  };
  const api = new Api(frame.base, view.SessionId);
  const texts = new Texts(api, strings, frame.address, frame.later);
  const card = cardForm(frame, schemes.map((method) => method.Id), events);
  /** Has the field there that a Session asks for, before the form is shown, and none that it does not ask for. */
  const askAddress = async (now: View): Promise<void> => {
    if (now.AddressFields && card.address === null) {
      const part = await insist<typeof Postcode>(POSTCODE, location.href, () => true);
      await texts.wait(new AbortController().signal);
      card.address ??= part && new part.Postcode(frame, (parts, setup) => new Field(parts, setup, strings, events.changed, frame.announce), toDigits);
    }
    card.address?.show(now);
  };
  const forms = new Forms(card, new AgreementBox(strings, form), frame.hideButton, cardList, askAddress);
  const checkout = new Checkout(frame, api, forms, texts);
  card.start();
  frame.submitted = events.submitted;
  frame.heard = (message) => {
    if (message.type !== "setup") return checkout.heard(message);
    forms.hideButton(message.hideSubmitButton);
    ({ headingLevel } = message);
  };
  const start = async (): Promise<void> => {
    await forms.prepare(view, true);
    await checkout.start();
    if (!frame.isShown) frame.watchHeight((height) => link.send({ type: "size", height }));
  };
  // Of what was chosen meanwhile, the last counts; the press is seen to below.
  const chosen = frame.said.filter(({ type }) => type === "select").at(-1);
  for (const message of frame.said) if (message.type !== "submit" && (message.type !== "select" || message === chosen)) frame.heard(message);
  void start().then(() => (isPressed ? checkout.pay() : undefined));
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) void checkout.reload();
  });
  document.addEventListener("visibilitychange", () => checkout.checkExpiry());
}
