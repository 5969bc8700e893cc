/** Adds a style sheet to `root`. Constructed sheets need no permission of the page's CSP, and no request of their own. */
export function addStyles(root: DocumentOrShadowRoot, css: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
