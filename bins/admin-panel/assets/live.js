// Keeps an open page as the server would show it now. The server says that something changed; the page asks for itself again, and takes over what
// differs. What somebody is typing into, and where the focus is, stays. Without this script the page works, and is loaded again by hand.

/** How long the page waits for itself. */
const PATIENCE = 10_000;

/** How long after a refresh that failed the page asks for itself again. */
const REFRESH_AGAIN = 5_000;

/** How long after its stream was refused the page asks for it again. */
const OPEN_AGAIN = 15_000;

const main = document.querySelector("main[data-live]");
const sign = document.getElementById("live");
const outdated = document.getElementById("outdated");

/** Whether a form in use was made for what is not there any more. */
let isOutdated = false;

/** Says whether the page is live: "on", "off" or "ended". */
function say(state) {
  if (sign.textContent !== sign.dataset[state]) sign.textContent = sign.dataset[state];
}

/** Whether a field holds something else than the server wrote into it. */
function isTyped(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.localName === "select") {
    const written = Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
    return field.selectedIndex !== written;
  }
  return "defaultValue" in field && field.type !== "hidden" && field.value !== field.defaultValue;
}

function isInUse(form) {
  return form.contains(document.activeElement) || [...form.elements].some(isTyped);
}

/** Whether something is, or has in it, a form that somebody uses. */
function hasFormInUse(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return false;
  return [node, ...node.querySelectorAll("form")].some((one) => one.localName === "form" && isInUse(one));
}

/** By what an element is known again: its name, where a form goes to, what a row leads to, or the form that it opens. */
function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return "";
  const inside = (selector, name) => node.querySelector(selector)?.getAttribute(name);
  const part = ["tr", "li"].includes(node.localName) ? inside("a[href]", "href") : node.localName === "details" && inside("form", "action");
  return node.id || node.getAttribute("aria-labelledby") || node.getAttribute("action") || part || "";
}

const isAlike = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName && keyOf(one) === keyOf(other);

function mergeAttributes(now, next) {
  // Whoever opened or closed something did so.
  const isOwn = (name) => now.localName === "details" && name === "open";
  for (const { name } of [...now.attributes]) if (!next.hasAttribute(name) && !isOwn(name)) now.removeAttribute(name);
  for (const { name, value } of next.attributes) if (now.getAttribute(name) !== value && !isOwn(name)) now.setAttribute(name, value);
}

function mergeChildren(now, next) {
  const left = new Set(now.childNodes);
  const pairs = [...next.childNodes].map((wanted) => {
    const found = [...left].find((node) => isAlike(node, wanted));
    left.delete(found);
    return [found, wanted];
  });
  for (const node of left) {
    // What was typed into a form that is not offered any more stays; the server refuses it.
    if (hasFormInUse(node)) isOutdated = true;
    else {
      left.delete(node);
      node.remove();
    }
  }
  let place = now.firstChild;
  for (const [found, wanted] of pairs) {
    while (left.has(place)) place = place.nextSibling;
    if (found === undefined) now.insertBefore(document.importNode(wanted, true), place);
    else if (found === place) place = place.nextSibling;
    else now.insertBefore(found, place);
    if (found !== undefined) merge(found, wanted);
  }
}

/** Makes `now` what `next` is. */
function merge(now, next) {
  if (now.isEqualNode(next)) return;
  if (now.nodeType !== Node.ELEMENT_NODE) {
    now.nodeValue = next.nodeValue;
    return;
  }
  if (now.hasAttribute("data-keep")) return;
  if (now.localName === "form" && isInUse(now)) {
    if (now.dataset.revision !== next.dataset.revision) isOutdated = true;
    return;
  }
  mergeAttributes(now, next);
  mergeChildren(now, next);
}

function take(next) {
  const focused = document.activeElement;
  isOutdated = false;
  merge(main, next);
  outdated.hidden = !isOutdated;
  if (focused === document.activeElement || focused === document.body) return;
  // Moved with its row, or gone with it.
  (focused.isConnected ? focused : main).focus({ preventScroll: true });
}

let source = null;
let isAsking = false;
let later = 0;
let isAskedAgain = false;

/** Asks for the page as it is now. The address is this page's, so the server decides as it does for anybody. */
function refresh() {
  if (isAsking) {
    isAskedAgain = true;
    return;
  }
  isAsking = true;
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.responseType = "document";
  request.timeout = PATIENCE;
  request.setRequestHeader("Dropin-Live", "refresh");
  request.addEventListener("loadend", () => {
    isAsking = false;
    const next = request.status === 200 ? request.response?.querySelector("main[data-live]") : null;
    if (next) {
      take(next);
      if (source?.readyState === EventSource.OPEN) say("on");
    } else if (request.status === 0 || request.status >= 500) {
      say("off");
      clearTimeout(later);
      later = setTimeout(() => source !== null && refresh(), REFRESH_AGAIN);
    }
    if (!isAskedAgain) return;
    isAskedAgain = false;
    refresh();
  });
  request.send();
}

let reopening = 0;
let isEnded = false;

function close() {
  clearTimeout(reopening);
  source?.close();
  source = null;
}

function open() {
  if (source !== null || isEnded || document.hidden) return;
  source = new EventSource(main.dataset.live);
  source.addEventListener("open", () => say("on"));
  source.addEventListener("error", () => {
    say("off");
    // A browser asks again by itself after a connection broke, and never after an answer that is no stream: 204, or that of a proxy.
    if (source?.readyState !== EventSource.CLOSED) return;
    close();
    reopening = setTimeout(open, OPEN_AGAIN);
  });
  source.addEventListener("changed", refresh);
  // Four newer pages of the same operator are open. Whoever comes back to this one has it live again.
  source.addEventListener("replaced", () => {
    close();
    say("off");
  });
  source.addEventListener("ended", () => {
    isEnded = true;
    close();
    say("ended");
  });
}

// A page that nobody looks at holds no connection; whoever comes back to it sees it as it is then.
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("focus", open);
addEventListener("pagehide", close);
addEventListener("pageshow", ({ persisted }) => persisted && open());
open();
