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
  | { readonly type: "redirect"; readonly url: string }
  | { readonly type: "done"; readonly title: string; readonly text: string }
  | { readonly type: "fail"; readonly code: string; readonly message: string; readonly title: string; readonly text: string; readonly lang: string; readonly dir: string };

type Shape = Readonly<Record<string, (value: unknown) => boolean>>;

const text = (value: unknown): boolean => typeof value === "string" && value.length <= 2048;
const flag = (value: unknown): boolean => typeof value === "boolean";
const object = (value: unknown): boolean => typeof value === "object" && value !== null;

const FRAME_SHAPES: Readonly<Record<FrameMessage["type"], Shape>> = {
  ready: { face: isFace },
  size: { height: (value) => typeof value === "number" && value >= 0 && value <= 10_000 },
  enabled: { enabled: flag },
  busy: { busy: flag },
  redirect: { url: text },
  done: { title: text, text },
  fail: { code: text, message: text, title: text, text, lang: text, dir: text },
};

const SHELL_SHAPES: Readonly<Record<ShellMessage["type"], Shape>> = {
  setup: { hideSubmitButton: flag },
  theme: { theme: isTheme },
  select: { selected: flag },
  submit: {},
};

function isFace(value: unknown): boolean {
  const { marks, ...texts } = Object(value) as Record<string, unknown>;
  return Array.isArray(marks) && marks.every(text) && Object.values(texts).every(text);
}

function isTheme(value: unknown): boolean {
  const { variables, scheme, font } = Object(value) as Record<string, unknown>;
  return object(variables) && Object.values(Object(variables)).every(text) && text(font) && (scheme === "light" || scheme === "dark");
}

function matches(value: unknown, shapes: Readonly<Record<string, Shape>>): boolean {
  if (!object(value)) return false;
  const message = value as Record<string, unknown>;
  const type = message["type"];
  if (typeof type !== "string" || !Object.hasOwn(shapes, type)) return false;
  return Object.entries(shapes[type] ?? {}).every(([field, holds]) => holds(message[field]));
}

export function isPortOffer(value: unknown): value is PortOffer {
  return object(value) && (value as PortOffer).type === "dropin-port" && (value as PortOffer).protocol === PROTOCOL;
}

export function isFrameMessage(value: unknown): value is FrameMessage {
  return matches(value, FRAME_SHAPES);
}

export function isShellMessage(value: unknown): value is ShellMessage {
  return matches(value, SHELL_SHAPES);
}
