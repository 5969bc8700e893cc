// How the engines beside Chromium find elements: run in a browser, as text. They say the same as Playwright's selectors, as far as tests here use them.

/** The elements that steps lead to. Selectors reach into open shadow roots. */
function find(steps) {
  const tidy = (text) => (text ?? "").replace(/\s+/g, " ").trim();
  const isSeen = (one) => one.checkVisibility({ visibilityProperty: true, checkVisibilityCSS: true }) && one.getBoundingClientRect().height > 0;
  /** Whether `text` is what is asked for: `{ text }` in it, `{ exact }` all of it, or `{ source, flags }` matches it. */
  const fits = (text, { text: part, exact, source, flags }) =>
    source !== undefined ? new RegExp(source, flags).test(tidy(text)) : exact ? tidy(text) === tidy(part) : tidy(text).toLowerCase().includes(tidy(part).toLowerCase());
  const below = (root, css) => {
    // The drop-in's target is the one place where a selector goes on behind a shadow root's edge.
    const inTarget = /^#pay (.+)/.exec(css);
    if (inTarget && root === document) return [...(document.querySelector("#pay")?.shadowRoot?.querySelectorAll(inTarget[1]) ?? [])];
    const shadows = [...root.querySelectorAll("*"), root].flatMap(({ shadowRoot }) => shadowRoot ?? []);
    return [...root.querySelectorAll(css), ...shadows.flatMap((shadow) => below(shadow, css))];
  };
  /** What is read of an element's content. */
  const spoken = (one) => [...one.childNodes].map((node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE || node.getAttribute("aria-hidden") === "true" || node.hidden) return "";
    const text = node.getAttribute("aria-label") ?? spoken(node);
    return getComputedStyle(node).display === "inline" ? text : ` ${text} `;
  }).join("");
  const named = (root, ids) => ids.split(" ").map((id) => root.getElementById(id)?.innerText ?? "").join(" ");
  const nameOf = (one) => {
    const by = one.getAttribute("aria-labelledby");
    if (by) return named(one.getRootNode(), by);
    const written = [...(one.labels ?? [])].map((label) => label.innerText).join(" ");
    return one.getAttribute("aria-label") ?? (written || one.querySelector(":scope > legend")?.innerText || spoken(one));
  };
  const roles = { button: "button, [role=button]", checkbox: "input[type=checkbox]", group: "fieldset, [role=group]", dialog: "dialog, [role=dialog]" };
  const take = {
    css: (all, { css }) => all.flatMap((root) => below(root, css.replace(/^> /, ":scope > "))),
    parent: (all) => all.map((one) => one.parentElement),
    visible: (all) => all.filter(isSeen),
    nth: (all, { index }) => [all.at(index)].filter(Boolean),
    hasText: (all, wanted) => all.filter((one) => fits(one.textContent, wanted)),
    role: (all, { role, name }) => take.css(all, { css: roles[role] }).filter((one) => isSeen(one) && (!name || fits(nameOf(one), name))),
    label: (all, wanted) => take.css(all, { css: "input, select, textarea" }).filter((one) => fits(nameOf(one), wanted)),
    /** The innermost elements with the text. */
    ownText: (all, wanted) => {
      const having = take.css(all, { css: "*" }).filter((one) => !["SCRIPT", "STYLE"].includes(one.tagName) && fits(one.textContent, wanted));
      return having.filter((one) => !having.some((other) => other !== one && one.contains(other)));
    },
  };
  return steps.reduce((all, { kind, ...wanted }) => [...new Set(take[kind](all, wanted))], [document]);
}

/** Whether an element has a box that is seen. */
export const SEEN = "(one) => one.checkVisibility({ visibilityProperty: true, checkVisibilityCSS: true }) && one.getBoundingClientRect().height > 0";

export const FIND = String(find);

const wanted = (value, exact) => (value instanceof RegExp ? { source: value.source, flags: value.flags } : { text: value, exact });

/** The steps of a selector, as Playwright writes it. */
export function steps(selector, { hasText } = {}) {
  if (selector === "xpath=..") return [{ kind: "parent" }];
  const css = selector.replace(/:visible$/, "");
  return [{ kind: "css", css }, ...(css === selector ? [] : [{ kind: "visible" }]), ...(hasText === undefined ? [] : [{ kind: "hasText", ...wanted(hasText) }])];
}

export const byRole = (role, { name, exact } = {}) => ({ kind: "role", role, ...(name !== undefined && { name: wanted(name, exact) }) });
export const byText = (text, { exact } = {}) => ({ kind: "ownText", ...wanted(text, exact) });
export const byLabel = (text, { exact } = {}) => ({ kind: "label", ...wanted(text, exact) });
export const nth = (index) => ({ kind: "nth", index });
