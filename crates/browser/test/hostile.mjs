// Messages that nobody should send, for both ends of the protocol. Runs in node and, as text, in a page: it imports nothing.

/** Members of the messages that each end takes, by the kinds that `typeof` tells; an object names the members that are needed in turn. */
export const KINDS = {
  frame: {
    hello: {}, ready: { model: {} }, size: { height: "number" }, choose: { open: "boolean" }, enabled: { enabled: "boolean", method: "string" }, busy: { busy: "boolean", text: "string" },
    notice: { text: "string" }, status: { title: "string", text: "string" }, away: { title: "string", text: "string", url: "string", challenge: "boolean", now: "boolean" },
    attempt: { code: "string", left: "number" }, wallet: { session: {} }, done: { title: "string", text: "string", details: {}, paid: {} },
    fail: { code: "string", message: "string", title: "string", text: "string", lang: "string", dir: "string" },
  },
  shell: { setup: { hideSubmitButton: "boolean" }, theme: { theme: { variables: {}, scheme: "string" } }, select: { method: "string" }, submit: {}, another: {}, wallet: { ask: {} } },
};

/** An endless supply, the same for the same seed: `next()` is a message for the end whose `kinds` are given. */
export function hostile(seed, kinds) {
  let state = seed;
  const random = (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const pick = (all) => all[random(all.length)];
  const garbage = () => pick([
    null, undefined, 0, -1, NaN, Infinity, 2 ** 53, true, false, "", "x".repeat(5_000), "__proto__", "constructor", "toString", "submit", "javascript:alert(1)", "<img src=x onerror=alert(1)>",
    "url(https://evil.example)", "\u202e\u0000", [], ["submit"], [[[]]], {}, { toString: 1, valueOf: 1 }, { length: 1e9 }, { type: "submit" }, new Date(0), new Map([["a", 1]]), new Set([1]), /x/g,
    new Error("x"), new ArrayBuffer(8), new Uint8Array(3), JSON.parse('{"__proto__":{"isAdmin":true}}'),
  ]);
  const sample = (kind) => {
    if (typeof kind === "object") return Object.fromEntries([...Object.entries(kind).map(([name, one]) => [name, sample(one)]), ...(random(2) ? [[`--${pick(["color-primary", "x", "constructor"])}`, garbage()]] : [])]);
    return { number: random(3) ? random(2_000) : pick([NaN, -1, Infinity]), boolean: random(2) === 0, string: pick(["CARD", "IDEAL", "", "light", "dark", "x"]) }[kind];
  };
  /** What an end must take, and nothing else. */
  const fits = (value, kind) => (typeof kind === "string" ? typeof value === kind : typeof value === "object" && value !== null && Object.entries(kind).every(([name, one]) => fits(value[name], one)));
  const isTaken = (message) => typeof message === "object" && message !== null && typeof message.type === "string" && Object.hasOwn(kinds, message.type) && fits(message, kinds[message.type]);
  const spoil = (message) => {
    const names = Object.keys(message);
    const name = pick(names);
    if (random(4) === 0) delete message[name];
    else if (random(3) === 0 && message[name]?.constructor === Object && Object.keys(message[name]).length > 0) spoil(message[name]);
    else message[name] = garbage();
  };
  const next = () => {
    if (random(5) === 0) return garbage();
    const type = pick(Object.keys(kinds));
    const message = { type, ...sample(kinds[type]) };
    for (let times = random(4); times > 0 && Object.keys(message).length > 0; times -= 1) spoil(message);
    return message;
  };
  return { next, isTaken };
}
