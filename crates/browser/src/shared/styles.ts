/** Adds a part's own style sheet to the shadow root that `place` is in. Constructed sheets need no permission of the page's CSP. */
export function addStyles(place: Element, css: string): void {
  const root = place.getRootNode() as ShadowRoot;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
