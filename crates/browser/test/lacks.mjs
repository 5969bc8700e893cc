// What an engine cannot do of what the tests ask for. README.md has the same list, which unit.test.mjs compares.

const BOTH = ["firefox", "webkit"];

export const ENGINE = process.env.DROPIN_ENGINE ?? "chromium";

/** In pixels; WebKitGTK's window has buttons beside each other. */
export const NARROWEST = ENGINE === "webkit" ? 290 : 280;

export const LACKS = {
  layoutShifts: [BOTH, "only Chromium tells of layout shifts"],
  census: [BOTH, "only Chromium's DevTools count the listeners and nodes that are left"],
  credentialless: [BOTH, "only Chromium has frames without credentials: the bank's page of an isolated shop takes the whole window"],
  failedLoad: [BOTH, "only Chromium tells a page of a frame that could not be loaded: elsewhere the drop-in fails after 35 s"],
  digests: [["webkit"], "WebKit checks no digest of a module that it preloads"],
  tlsProxy: [["webkit"], "WebKitGTK speaks TLS with its proxy where it is to pass TLS on"],
  scriptedFocus: [["webkit"], "WebKit lets no script give the focus to a button in a frame of another site"],
  forcedColors: [["webkit"], "WebKit has no forced colours"],
};

/** Options of a test that asks for one of them: the engines that cannot do it skip it, and say why. */
export function lacks(name) {
  const [engines, why] = LACKS[name] ?? [[]];
  return { skip: engines.includes(ENGINE) && why };
}
