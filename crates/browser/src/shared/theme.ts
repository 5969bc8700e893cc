// The 21 style variables of the contract: their names, what may pass for a value, and how a look is applied to an element.

type Kind = "color" | "length" | "radius";

const SIDES = ["top", "right", "bottom", "left"] as const;

function box(part: string): [string, Kind][] {
  const sides = SIDES.map((side): [string, Kind] => [`--${part}--border-${side}-width`, "length"]);
  return [[`--${part}--border-color`, "color"], [`--${part}--border-radius`, "radius"], ...sides];
}

const COLORS = ["--color-primary", "--color-hover", "--color-content", "--color-app", "--color-header", "--font-color"];

/** Every variable a merchant may set, with the kind of value it takes. */
export const VARIABLES: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ...COLORS.map((name): [string, Kind] => [name, "color"]),
  ...box("accordion"),
  ...box("input"),
  ["--input--font-color", "color"],
  ["--input--background-color", "color"],
  ["--button--border-radius", "radius"],
]);

const PROPERTY = { color: "background-color", length: "border-top-width", radius: "border-top-left-radius" } as const;
const PLAIN = /^[#\w\s.,%()/+-]{1,64}$/;
const REACHING_OUT = /(?:url|image|image-set|var|env|attr|expression)\s*\(/i;
const FONTS = /^[\p{L}\d\s,"'-]{1,200}$/u;
/** What a page that never chose a font reports; ours is calmer. */
const UNCHOSEN_FONT = /^"?(?:times(?: new roman)?|serif|initial|inherit)"?$/i;

/** How a container looks: what the shell reads from the merchant's page and relays to the frame. */
export interface Theme {
  readonly variables: Readonly<Record<string, string>>;
  readonly scheme: "light" | "dark";
  /** A CSS font-family list, or "" for our own. */
  readonly font: string;
}

/** Whether `value` is a plain CSS value of the variable's kind that cannot load anything. */
export function isSafeValue(name: string, value: string): boolean {
  const kind = VARIABLES.get(name);
  if (kind === undefined || !PLAIN.test(value) || REACHING_OUT.test(value)) return false;
  return CSS.supports(PROPERTY[kind], value);
}

function isSafeFont(value: string): boolean {
  return FONTS.test(value) && !UNCHOSEN_FONT.test(value.trim());
}

/** Puts a theme on our root element. What is missing or unsafe is unset, so that the style sheet's own default applies. */
export function applyTheme(element: HTMLElement, theme: Theme): void {
  for (const name of VARIABLES.keys()) {
    const value = (theme.variables[name] ?? "").trim();
    element.style.setProperty(name, isSafeValue(name, value) ? value : "initial");
  }
  if (isSafeFont(theme.font)) element.style.setProperty("--d-font", `${theme.font}, system-ui, sans-serif`);
  else element.style.removeProperty("--d-font");
  element.dataset["scheme"] = theme.scheme;
}

/** Near-black or white, whichever stands out more on `background` (a computed `rgb()` colour); white when it is not known. */
export function inkOn(background: string): string {
  const channels = background.match(/[\d.]+/g)?.slice(0, 3).map(Number);
  if (!background.startsWith("rgb") || channels === undefined || channels.length < 3) return "#fff";
  const [r = 0, g = 0, b = 0] = channels.map((c) => (c / 255 <= 0.04045 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const [white, dark] = [1.05 / (luminance + 0.05), (luminance + 0.05) / 0.0566];
  return white >= dark ? "#fff" : "#11151c";
}
