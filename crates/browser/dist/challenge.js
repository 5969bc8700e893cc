// Dropin: challenge.js. Built from crates/browser/src by `npm run build`; do not edit.
(() => {
function baseOf(source) {
	const url = new URL(source);
	const folder = /^.*\/v1\//.exec(url.pathname)?.[0];
	return new URL(folder ?? ".", url);
}
function isWebAddress(text) {
	return /^https?:\/\/[^\s/]/i.test(text);
}
var challenge_default = "html{color-scheme:light;background-color:#fff}html,body{block-size:100%;margin:0;overflow:hidden}progress{position:absolute;inset:0 0 auto;inline-size:100%;block-size:4px}iframe{display:block;inline-size:100%;block-size:100%;border:0}";
var PAUSE_MS = 2e3;
var SANDBOX = "allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-same-origin allow-scripts";
async function progress(address) {
	for (; ; ) {
		try {
			const response = await fetch(address, { cache: "no-store", credentials: "omit" });
			if (response.ok || response.status === 404) return Object(await response.json());
		} catch {
		}
		await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
	}
}
async function show(script) {
	const query = new URLSearchParams(location.search);
	const words = new URLSearchParams(location.hash.slice(1));
	const sheet = new CSSStyleSheet();
	sheet.replaceSync(challenge_default);
	document.adoptedStyleSheets = [sheet];
	document.documentElement.lang = words.get("lang") ?? "en";
	document.title = words.get("title") ?? document.title;
	const work = document.createElement("progress");
	work.setAttribute("aria-label", document.title);
	document.body.append(work);
	const session = encodeURIComponent(query.get("session") ?? "");
	const { State, Challenge, RedirectUrl } = await progress(new URL(`shopper/session/${session}/progress?wait=0`, baseOf(script)));
	if (State !== "REDIRECTED" || Challenge !== true || typeof RedirectUrl !== "string" || !isWebAddress(RedirectUrl)) return;
	const frame = document.createElement("iframe");
	frame.title = document.title;
	frame.setAttribute("sandbox", SANDBOX);
	frame.allow = "publickey-credentials-get *; payment *";
	frame.referrerPolicy = "no-referrer";
	frame.toggleAttribute("credentialless", query.has("isolated"));
	frame.addEventListener("load", () => work.remove(), { once: true });
	frame.src = RedirectUrl;
	document.body.append(frame);
}
void show(document.currentScript.src);
})();
