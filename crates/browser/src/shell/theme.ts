// How the merchant's container looks right now, and when that changes.

import { VARIABLES, type Theme } from "../shared/theme";

const DARK = "(prefers-color-scheme: dark)";

export function readTheme(host: Element): Theme {
  const style = getComputedStyle(host);
  const variables: Record<string, string> = {};
  for (const name of VARIABLES) {
    variables[name] = style.getPropertyValue(name).trim();
  }
  const [light, dark] = [/\blight\b/.test(style.colorScheme), /\bdark\b/.test(style.colorScheme)];
  const scheme = dark && (!light || matchMedia(DARK).matches) ? "dark" : "light";
  return { variables, scheme, font: style.fontFamily };
}

/** Calls `check` when anything may have changed the look of `host`, or took it away; returns the way to stop. */
export function watchTheme(host: Element, check: () => void): () => void {
  const media = matchMedia(DARK);
  const marks = new MutationObserver(check);
  for (let element: Element | null = host; element !== null; element = element.parentElement) {
    marks.observe(element, { attributes: true, attributeFilter: ["class", "style", "data-theme", "data-color-scheme"] });
  }
  // Also fires when the host leaves the page: its box is then empty.
  const size = new ResizeObserver(check);
  size.observe(host);
  media.addEventListener("change", check);
  window.addEventListener("load", check);
  return () => {
    marks.disconnect();
    size.disconnect();
    media.removeEventListener("change", check);
    window.removeEventListener("load", check);
  };
}
