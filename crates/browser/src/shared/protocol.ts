// Everything that may pass between the shell (merchant's page) and the frame (our origin).
//
// One window message hands over a MessagePort; all else goes through that port. No message has room for a card number,
// code, expiry or name: the guards below are the whole vocabulary, and both sides drop what they do not know.

import type { Strings } from "./strings";
import type { View } from "../payment/api";
import type { Theme } from "./theme";

export const PROTOCOL = 2;

/** The entry of all card schemes together, saved cards included; every other method has an entry under its own id. */
export const CARDS = "CARD";

/** The one window message, shell to frame, carrying one port. */
export interface PortOffer {
  readonly type: "dropin-port";
  readonly protocol: number;
}

/** Shell to frame. */
export type ShellMessage =
  /** `headingLevel` is that of the entries, 0 for none. A shell of before there were saved cards tells none, and shows no saved cards. */
  | { readonly type: "setup"; readonly hideSubmitButton: boolean; readonly headingLevel?: number }
  | { readonly type: "theme"; readonly theme: Theme }
  | { readonly type: "select"; readonly method: string }
  | { readonly type: "submit" }
  /** The shopper gives up the page that the payment waits on, to pay with something else. */
  | { readonly type: "another" }
  | { readonly type: "wallet"; readonly ask: WalletAsk };

/** What the wallet's sheet wants: a payment session, or to pay with what the shopper confirmed (encrypted for the processor). */
export type WalletAsk = { readonly validationURL: string } | { readonly token: object };


/** One entry of the accordion. */
export interface Method {
  readonly id: string;
  readonly name: string;
  /** Names one of the shell's own drawings. */
  readonly icon: "card" | "leave" | "bank" | "later";
  /** The method's own drawing in place of that one; "" when it has none. */
  readonly drawing: string;
  /** Drawing and name of every scheme of a card; else none. */
  readonly marks: readonly (readonly [drawing: string, name: string])[];
  /** Names of all schemes in one text, for assistive technology. */
  readonly accepted: string;
  /** What will happen; "" for cards, whose panel holds the frame. */
  readonly line: string;
  readonly button: string;
}

/** What the shell shows around the form, in the shopper's language. */
export interface ViewModel {
  readonly lang: string;
  readonly dir: string;
  readonly frameTitle: string;
  /** "" unless this is a sandbox. */
  readonly testMode: string;
  readonly methods: readonly Method[];
  /** The frame draws the entries of cards, saved ones first: the shell hides the one around it. */
  readonly listed: boolean;
  /** What the service tells of the Session, for a wallet's sheet; without the saved cards, of which the page learns nothing. */
  readonly view: View;
  /** The frame's texts, for what the shell draws by itself. */
  readonly strings: Strings;
}

/** One line of what a shopper has to put into a bank transfer. */
export interface Detail {
  readonly label: string;
  readonly text: string;
  /** What a copy of it is, "" when nobody types it anywhere. */
  readonly copy: string;
}

/** What `onSuccess` hears. */
export interface Paid {
  readonly state: string;
  readonly orderId: string;
  readonly method: string;
}

/** Frame to shell. Texts are finished (translated, amounts formatted). */
export type FrameMessage =
  /** The frame's script runs; sent before anything else. */
  | { readonly type: "hello" }
  /** Also again, when the Session was loaded again. */
  | { readonly type: "ready"; readonly model: ViewModel }
  | { readonly type: "size"; readonly height: number }
  /** The shopper opens one of the frame's own entries, or closes the one that is open. */
  | { readonly type: "choose"; readonly open: boolean }
  /** Whether the open method (`""` when none is) can be submitted. */
  | { readonly type: "enabled"; readonly enabled: boolean; readonly method: string }
  /** `text` is what to say of it, if the frame does not. Not busy means: the methods are there to choose from. */
  | { readonly type: "busy"; readonly busy: boolean; readonly text: string }
  /** What is to be read before trying again with the selected method; "" takes it away. */
  | { readonly type: "notice"; readonly text: string }
  /** Takes the place of the methods while a payment is under way. */
  | { readonly type: "status"; readonly title: string; readonly text: string }
  /** The same, while the payment waits for the shopper at `url`; `now` says to go there at once. A challenge may be framed. */
  | { readonly type: "away"; readonly title: string; readonly text: string; readonly url: string; readonly challenge: boolean; readonly now: boolean }
  /** An attempt failed that another may follow; `code` is the service's. */
  | { readonly type: "attempt"; readonly code: string; readonly left: number }
  /** The payment session that was asked for; without members when there is none. */
  | { readonly type: "wallet"; readonly session: object }
  | { readonly type: "done"; readonly title: string; readonly text: string; readonly details: readonly Detail[]; readonly paid: Paid }
  /** `text` is for the shopper; `message` is what the service says for the page's developer of a form that it refuses. */
  | { readonly type: "fail"; readonly code: string; readonly message: string; readonly title: string; readonly text: string; readonly lang: string; readonly dir: string };

/** The members of each message, each with a sample of its kind, and the members that it has in turn. */
type Shapes = Readonly<Record<string, object>>;

const FRAME_SHAPES: Shapes = {
  hello: {},
  ready: { model: {} },
  size: { height: 0 },
  choose: { open: true },
  enabled: { enabled: true, method: "" },
  busy: { busy: true, text: "" },
  notice: { text: "" },
  status: { title: "", text: "" },
  away: { title: "", text: "", url: "", challenge: true, now: true },
  attempt: { code: "", left: 0 },
  wallet: { session: {} },
  done: { title: "", text: "", details: {}, paid: {} },
  fail: { code: "", message: "", title: "", text: "", lang: "", dir: "" },
};

const SHELL_SHAPES: Shapes = {
  setup: { hideSubmitButton: true },
  theme: { theme: { variables: {}, scheme: "" } },
  select: { method: "" },
  submit: {},
  another: {},
  wallet: { ask: {} },
};

const fits = (value: unknown, sample: unknown): boolean =>
  typeof value === typeof sample && value !== null && Object.entries(sample as object).every(([member, one]) => fits((value as Record<string, unknown>)[member], one));

function matches(value: unknown, shapes: Shapes): boolean {
  const { type } = Object(value) as { readonly type?: unknown };
  return typeof type === "string" && Object.hasOwn(shapes, type) && fits(value, shapes[type]);
}

export function isPortOffer(value: unknown): value is PortOffer {
  const offer = Object(value) as PortOffer;
  return offer.type === "dropin-port" && offer.protocol === PROTOCOL;
}

export function isFrameMessage(value: unknown): value is FrameMessage {
  return matches(value, FRAME_SHAPES);
}

export function isShellMessage(value: unknown): value is ShellMessage {
  return matches(value, SHELL_SHAPES);
}
