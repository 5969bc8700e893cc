// What does not fit: run in a page and in the frame of the card form, by the tests here and by those of tests/browser.

/** Runs in the browser. */
function misfits() {
  const shadows = [...document.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ?? []);
  const everything = [document, ...shadows].flatMap((root) => [...root.querySelectorAll("body, body *, .root *")]);
  // A modal dialog is meant to lie over the page.
  const dialog = everything.find((element) => element.matches("dialog[open]"));
  const all = everything.filter((element) => dialog === undefined || dialog.contains(element));
  const shown = all.filter((element) => element.checkVisibility({ checkVisibilityCSS: true }) && !element.closest(".unseen, svg, script, style") && !element.querySelector("iframe"));
  const named = (what, element) => `${what}: ${element.tagName} ${element.id} ${element.className} ${element.innerText.slice(0, 30)}`;
  const wide = shown.filter((element) => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 && getComputedStyle(element).display !== "inline");
  // Where the rest is not drawn, or nothing follows that would move aside.
  const high = shown.filter((element) => element.matches("button, .head, .title") && element.scrollHeight > element.clientHeight + 1 && element.clientHeight > 0);
  const spoken = shown.filter((element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== ""));
  const signs = shown.filter((element) => element.matches("svg.chevron, .mark") || (element.localName === "svg" && element.closest(".head")));
  const boxes = [...spoken, ...signs].map((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const rects = element.localName === "svg" ? [element.getBoundingClientRect()] : [...range.getClientRects()];
    return [element, rects.filter(({ width, height }) => width > 0 && height > 0)];
  });
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const over = boxes.flatMap(([one, a], i) =>
    boxes.slice(i + 1)
      .filter(([other, b]) => !one.contains(other) && !other.contains(one) && a.some((rect) => b.some((another) => overlap(rect, another))))
      .map(([other]) => `${named("over another", one)} / ${named("", other)}`));
  return [...wide.map((element) => named("too wide", element)), ...high.map((element) => named("too high", element)), ...over]
    .concat(document.documentElement.scrollWidth > innerWidth ? ["the page is wider than its window"] : []);
}

/** What is wider or higher than its place, or over another text or sign, in each of `parts`: a page, or a frame of it. */
export async function cutOff(parts) {
  const found = await Promise.all(parts.map((part) => part.evaluate(misfits)));
  return found.flatMap((one) => one ?? []);
}
