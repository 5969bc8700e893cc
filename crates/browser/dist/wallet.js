// Dropin: wallet.js. Built from crates/browser/src by `npm run build`; do not edit.
function fill(element, attributes, children) {
	for (const [name, value] of Object.entries(attributes)) {
		if (value === true) element.setAttribute(name, "");
		else if (typeof value === "string") element.setAttribute(name, value);
	}
	for (const child of children) if (child !== null) element.append(child);
	return element;
}
function h(tag, attributes = {}, ...children) {
	return fill(document.createElement(tag), attributes, children);
}
function setState(element, name, on) {
	if (on) element.setAttribute(name, "true");
	else element.removeAttribute(name);
}
var decimals = ({ MinorUnits }) => ({ minimumFractionDigits: MinorUnits, maximumFractionDigits: MinorUnits });
function plainAmountOf(view, locale) {
	return new Intl.NumberFormat(locale, { useGrouping: false, numberingSystem: "latn", ...decimals(view) }).format(view.TotalAmount);
}
function say(strings, key, values = {}) {
	return (strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
function addStyles(place, css) {
	const root = place.getRootNode();
	const sheet = new CSSStyleSheet();
	sheet.replaceSync(css);
	root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
var VERSION = 3;
function appleSessions() {
	const { ApplePaySession: sessions } = window;
	try {
		return sessions?.canMakePayments() === true ? sessions : null;
	} catch {
		return null;
	}
}
var wallet_default = '.wallet{display:grid;gap:14px;padding-block-end:6px}.wallet button{min-block-size:52px;border:0;border-radius:var(--d-button-radius);background-color:#000;color:#fff;font:inherit;font-weight:600;cursor:pointer}[data-scheme=dark] .wallet button{background-color:#fff;color:#000;-apple-pay-button-style:white}.wallet button:focus-visible{outline:2px solid var(--d-primary);outline-offset:3px}.wallet button[aria-disabled]{opacity:.6;cursor:default}@supports (-webkit-appearance: -apple-pay-button){.wallet button{-webkit-appearance:-apple-pay-button;-apple-pay-button-type:pay;font-size:0}}.or{display:flex;align-items:center;gap:14px;color:var(--d-muted);font-size:14px}.or:before,.or:after{content:"";flex:1;block-size:1px;background-color:var(--d-line)}';
var NAME = "Apple Pay";
var TYPE = "APPLEPAY";
var SHEET_TIMEOUT_MS = 2e4;
var WalletButton = class {
	constructor(place, ask) {
		this.ask = ask;
		this.label = h("span");
		this.button = h("button", { type: "button" }, this.label);
		this.or = h("span");
		this.element = h("div", { class: "wallet", hidden: true }, this.button, h("div", { class: "or" }, this.or));
		this.request = null;
		this.busy = false;
		this.session = null;
		this.authorized = false;
		addStyles(place, wallet_default);
		this.button.addEventListener("click", () => this.begin());
		place.prepend(this.element);
	}
	show({ view, strings }) {
		const method = view.TokenMethods?.find(({ Type }) => Type === TYPE);
		this.request = method ? requestOf(method, view) : null;
		this.label.textContent = say(strings, "walletPay", { name: NAME });
		this.or.textContent = say(strings, "walletOr");
		this.element.hidden = this.request === null || appleSessions() === null;
	}
	heard(message) {
		if (message.type === "busy") {
			this.busy = message.busy;
			setState(this.button, "aria-disabled", message.busy);
		}
		const sessions = appleSessions();
		if (this.session === null || sessions === null) return;
		if (message.type === "wallet") this.validate(this.session, message.session);
		else if (message.type === "done") this.finish(sessions.STATUS_SUCCESS);
		else if (message.type === "fail" || message.type === "busy" && !message.busy) this.finish(sessions.STATUS_FAILURE);
		else if (message.type === "away") this.abort();
	}
	abort() {
		const session = this.forget();
		try {
			session?.abort();
		} catch {
		}
	}
	begin() {
		const sessions = appleSessions();
		if (sessions === null || this.request === null || this.busy || this.session !== null) return;
		const session = new sessions(VERSION, this.request);
		this.session = session;
		session.onvalidatemerchant = ({ validationURL }) => this.ask({ validationURL: String(validationURL) });
		session.onpaymentauthorized = ({ payment }) => this.pay(payment);
		session.oncancel = () => void this.forget();
		session.begin();
	}
	validate(session, answer2) {
		if (Object.keys(answer2).length === 0) this.abort();
		else session.completeMerchantValidation(answer2);
	}
	pay(payment) {
		this.authorized = true;
		this.timer = setTimeout(() => this.abort(), SHEET_TIMEOUT_MS);
		this.ask({ token: { Type: TYPE, Data: JSON.parse(JSON.stringify(payment)) } });
	}
	finish(status) {
		if (this.authorized) this.forget()?.completePayment({ status });
		else this.abort();
	}
	forget() {
		const { session } = this;
		clearTimeout(this.timer);
		[this.session, this.authorized] = [null, false];
		return session;
	}
};
function requestOf({ Parameters }, view) {
	const { CountryCode: countryCode, SupportedNetworks: supportedNetworks, MerchantCapabilities: merchantCapabilities } = Parameters;
	const total = { label: view.MerchantName, amount: plainAmountOf(view, "en"), type: "final" };
	return { countryCode, currencyCode: view.Currency, supportedNetworks, merchantCapabilities, total };
}
var SESSION_TIMEOUT_MS = 2e4;
async function answer(ask, view, origin, link, checkout) {
	if ("token" in ask) return checkout.pay(ask.token);
	link.send({ type: "wallet", session: await paymentSession(view, origin, ask.validationURL) });
}
async function paymentSession(view, origin, validationURL) {
	try {
		const url = new URL(view.TokenMethods?.[0]?.Parameters.PaymentSessionUrl ?? "");
		url.search = new URLSearchParams({ validationURL, displayName: view.MerchantName, domainName: new URL(origin).host }).toString();
		const given = await fetch(url, { cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(SESSION_TIMEOUT_MS) });
		const session = await given.json();
		return given.ok ? Object(session) : {};
	} catch {
		return {};
	}
}
export {
	WalletButton,
	answer
};
