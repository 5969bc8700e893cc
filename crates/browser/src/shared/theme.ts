// The 21 style variables (docs/SPECIFICATION.md#drop-in-styles): their names, what may pass for a value, and how a look is applied to an element.

import { isSafeValue } from "./safe-value";

function box(part: string): string[] {
  return ["color", "radius", "top-width", "right-width", "bottom-width", "left-width"].map((what) => `--${part}--border-${what}`);
}

/** Every variable a merchant may set. */
export const VARIABLES: readonly string[] = [
  ...["primary", "hover", "content", "app", "header"].map((what) => `--color-${what}`),
  "--font-color",
  ...box("accordion"),
  ...box("input"),
  "--input--font-color",
  "--input--background-color",
  "--button--border-radius",
];

const MAX_LENGTH = 64;
const FONTS = /^[\p{L}\d\s,"'-]{1,200}$/u;
/** What a page that never chose a font reports; ours is calmer. */
const UNCHOSEN_FONT = /^"?(?:times(?: new roman)?|serif)"?$/i;

/** What base.css and the parts' style sheets go by: tokens.css makes it of the variables, for the shell, which tells the frame. */
const TOKENS = "primary hover header content text muted line input input-text input-line input-radius button-radius error good notice notice-line notice-text on-primary on-hover font"
  .split(" ").map((what) => `--d-${what}`);

/** How a container looks. */
export interface Theme {
  readonly variables: Readonly<Record<string, string>>;
  readonly scheme: "light" | "dark";
  /** A CSS font-family list. */
  readonly font: string;
}

/** Whether `value` is a plain CSS value of the variable's kind that cannot load anything. */
function isSafe(name: string, value: string): boolean {
  const property = name.endsWith("width") ? "border-top-width" : name.endsWith("radius") ? "border-top-left-radius" : "color";
  return value.length <= MAX_LENGTH && isSafeValue(value) && CSS.supports(property, value);
}

/** Puts a theme on our root element. What is missing or unsafe is unset, so that the style sheet's own default applies. */
export function applyTheme(element: HTMLElement, theme: Theme): void {
  const { style } = element;
  for (const name of VARIABLES) {
    const value = theme.variables[name] ?? "";
    style.setProperty(name, isSafe(name, value) ? value : "initial");
  }
  const chosen = FONTS.test(theme.font) && !UNCHOSEN_FONT.test(theme.font);
  style.setProperty("--d-font", chosen ? `${theme.font}, sans-serif` : "");
  element.dataset["scheme"] = theme.scheme;
  inkButtons(element);
}

/** The look of `element` after `applyTheme`, for the frame. */
export function resolvedTheme(element: Element, { scheme }: Theme): Theme {
  const style = getComputedStyle(element);
  return { variables: Object.fromEntries([...VARIABLES, ...TOKENS].map((name) => [name, style.getPropertyValue(name)])), scheme, font: "" };
}

/** Button ink follows the merchant's colours, so that its text stays readable on any of them. `element` is in the document. */
function inkButtons(element: HTMLElement): void {
  const probe = element.appendChild(document.createElement("i"));
  for (const name of ["primary", "hover"]) {
    probe.style.backgroundColor = `var(--d-${name})`;
    element.style.setProperty(`--d-on-${name}`, inkOn(getComputedStyle(probe).backgroundColor));
  }
  probe.remove();
}

/** Near-black or white, whichever stands out more on `background` (a computed `rgb()` colour); white when it is not known. */
export function inkOn(background: string): string {
  const [r = 0, g = 0, b = 0] = (/^rgba?\((.*)\)$/.exec(background)?.[1] ?? "").split(/[\s,/]+/).map((channel) => (Number(channel) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.185 ? "#11151c" : "#fff";
}
