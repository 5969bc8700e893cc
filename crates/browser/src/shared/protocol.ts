// Everything that may pass between the shell (merchant's page) and the frame (our origin).
//
// One window message hands over a MessagePort; all else goes through that port. No message has room for a card number,
// code, expiry or name: the guards below are the whole vocabulary, and both sides drop what they do not know.

import type { Theme } from "./theme";

export const PROTOCOL = 1;

/** The one window message, shell to frame, carrying one port. */
export interface PortOffer {
  readonly type: "dropin-port";
  readonly protocol: number;
}

/** Shell to frame. */
export type ShellMessage =
  | { readonly type: "setup"; readonly hideSubmitButton: boolean }
  | { readonly type: "theme"; readonly theme: Theme }
  | { readonly type: "select"; readonly selected: boolean }
  | { readonly type: "submit" };

/** What the shell shows around the form, in the shopper's language. */
export interface Face {
  readonly lang: string;
  readonly dir: string;
  readonly card: string;
  readonly frameTitle: string;
  /** Names of all schemes in one text, for assistive technology. */
  readonly accepted: string;
  /** One short mark per scheme. */
  readonly marks: readonly string[];
  /** "" unless this is a sandbox. */
  readonly testMode: string;
}

/** Frame to shell. Texts are finished (translated, amounts formatted). */
export type FrameMessage =
  | { readonly type: "ready"; readonly face: Face }
  | { readonly type: "size"; readonly height: number }
  | { readonly type: "enabled"; readonly enabled: boolean }
  | { readonly type: "busy"; readonly busy: boolean }
  | { readonly type: "done"; readonly title: string; readonly text: string }
  | { readonly type: "fail"; readonly code: string; readonly message: string; readonly title: string; readonly text: string; readonly lang: string; readonly dir: string };

/** The members of each message, with what `typeof` says of them. */
type Shapes = Readonly<Record<string, Readonly<Record<string, string>>>>;

const FRAME_SHAPES: Shapes = {
  ready: { face: "object" },
  size: { height: "number" },
  enabled: { enabled: "boolean" },
  busy: { busy: "boolean" },
  done: { title: "string", text: "string" },
  fail: { code: "string", message: "string", title: "string", text: "string", lang: "string", dir: "string" },
};

const SHELL_SHAPES: Shapes = {
  setup: { hideSubmitButton: "boolean" },
  theme: { theme: "object" },
  select: { selected: "boolean" },
  submit: {},
};

function matches(value: unknown, shapes: Shapes): boolean {
  const message = Object(value) as Record<string, unknown>;
  const type = String(message["type"]);
  return Object.hasOwn(shapes, type) && Object.entries(shapes[type] ?? {}).every(([member, kind]) => typeof message[member] === kind && message[member] !== null);
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
