// Small helpers: elements, states, money, requests to the shop's own server.

/** Makes an element. Strings become text, never markup. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** One of the drawings in the page. */
export function drawing(id, className) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", className);
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#${id}`);
  svg.append(use);
  return svg;
}

const OVER = ["PROCESSED", "PROCESSING_FAILED", "CANCELLED", "DECLINED", "FAILED", "CLOSED"];

/** Whether nothing more happens to what is in this state. */
export const isOver = (state) => OVER.includes(state);

/** A state of the payment service, with its mood. */
export function badge(state) {
  const mood = ["PROCESSED", "COMPLETED", "ACTIVE"].includes(state) ? "good" : isOver(state) ? "bad" : "calm";
  return h("span", { class: `badge ${mood}` }, state);
}

/** A row of a list of facts. */
export function fact(name, value) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

/** An id that can be copied. */
export function identifier(id) {
  return h("span", { class: "identifier" }, h("code", { title: id }, id), copyButton(id, `Copy ${id}`));
}

/** Shows an amount that the shop's price list gives in smallest units. For showing only: the server does the sums that count. */
export function money(amount, currency) {
  return text(amount / 10 ** currency.MinorUnits, currency.Code, currency.MinorUnits);
}

/** Shows an amount as the service wrote it, e.g. "29.90". */
export function total(amount, code) {
  const decimals = amount.includes(".") ? amount.split(".")[1].length : 0;
  return text(Number(amount), code, decimals);
}

function text(value, currency, decimals) {
  return new Intl.NumberFormat("en-IE", {
    style: "currency",
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).format(value);
}

/** Asks the shop's own server. Throws an Error whose message is for people. */
export async function ask(path, body) {
  const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, body === undefined ? {} : post);
  } catch {
    throw new Error("The shop does not answer. Check that it is running, then try again.");
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const error = new Error(content.Message ?? `The shop answered with an error (${answer.status}). Try again.`);
    error.code = content.Code;
    throw error;
  }
  return content;
}

/** Says something to people who listen instead of look. */
export function say(message) {
  document.getElementById("status").textContent = message;
}

/** A button that copies `value` and says so. */
export function copyButton(value, label) {
  const icon = drawing("i-copy", "icon");
  const button = h("button", { type: "button", class: "copy", "aria-label": label, title: label }, icon);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(value);
    } catch {
      say("The browser did not allow copying; select the text instead.");
      return;
    }
    say("Copied.");
    button.classList.add("copied");
    icon.firstChild.setAttribute("href", "#i-check");
    setTimeout(() => {
      button.classList.remove("copied");
      icon.firstChild.setAttribute("href", "#i-copy");
    }, 1400);
  });
  return button;
}
