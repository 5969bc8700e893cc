// A small service, a small shop and a small bank for the browser tests: the shopper's calls on an asset origin with a path
// prefix, the stash, a merchant's page on another origin, and on a third the pages that shoppers are sent to. Sessions live in memory; each can be told to misbehave.

import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { load } from "./source.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "../dist");
/** The service chooses the language of the form (lib.rs), as the shell does for its own words. */
const { resolveLocale } = await load("shared/locale.ts");
const TAGS = readdirSync(join(dist, "locales")).filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length));
const { version, outputs } = JSON.parse(readFileSync(join(dist, "manifest.json"), "utf8"));
/** The pay-later provider's script, as its sandbox serves it. */
const onsite = join(here, "../../../bins/sandbox-processor/src/onsite/script.js");
const TYPES = { js: "text/javascript; charset=utf-8", html: "text/html; charset=utf-8", css: "text/css; charset=utf-8", json: "application/json" };

export const CARDS = [
  ["VISA", "Visa"], ["MC", "Mastercard"], ["AMEX", "American Express"], ["DISC", "Discover"], ["JCB", "JCB"], ["DINERS", "Diners Club"],
].map(([Id, Name]) => ({ Id, Name, Class: "Card" }));

export const OTHERS = [
  { Id: "PAYPAL", Name: "PayPal", Class: "Online" }, { Id: "IDEAL", Name: "iDEAL", Class: "Online" },
  { Id: "PAYLATER", Name: "Pay later", Class: "Online" }, { Id: "BANKTRANSFER", Name: "Bank transfer", Class: "Offline" },
];

export const BANK_DETAILS = {
  AccountHolder: "Dropin Sandbox", AccountNumber: "0648489890", BankName: "Bank of Trials", City: "Berlin", Country: "DE",
  Iban: "DE02120300000000202051", PaymentReference: "ORDER-4711", SwiftCode: "BYLADEM1001", ExtraBankData: "ABA 021000021",
};

/** What the buttons of the bank's pages make of a payment. */
const RESULTS = {
  confirm: { State: "COMPLETED" },
  fail: { failed: "AUTHENTICATION_FAILED" },
  cancel: { failed: "PAGE_CANCELLED" },
};

export const CHALLENGED = "4000000000003220";

/** A card of Visa and of Cartes Bancaires. */
export const CO_BADGED = "4000002500001001";

export const CB = { Id: "CB", Name: "Cartes Bancaires", Class: "Card" };

/** A saved card as the service tells of it: an AMEX or a Visa of this last four. */
export const savedCard = (last4, more = {}) => ({ ContractId: randomUUID(), PaymentMethod: "VISA", Scheme: "VISA", Last4: last4, Expiry: "2031-12", Removable: true, ...more });

const GOOGLE_PAY = {
  Type: "GOOGLEPAY",
  Parameters: { Environment: "TEST", Gateway: "example", GatewayMerchantId: "shop-17", SupportedNetworks: ["VISA", "MASTERCARD"], AuthMethods: ["CRYPTOGRAM_3DS"], CountryCode: "NL" },
};

/** The browser hears of all of them what it may: that the payment was declined. */
export const DECLINED = ["4000000000000002", "4000000000009995"];

const HOUR_MS = 3_600_000;

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function listen(server, host) {
  return new Promise((resolve) => server.listen(0, host, () => resolve(server.address().port)));
}

export class Mock {
  /** Everything the asset origin was asked: {method, path, body}. */
  requests = [];
  /** Pages of the shop that a test brings, by their paths: [headers, body]. */
  pages = new Map();
  sessions = new Map();
  stashed = new Map();

  async start() {
    this.assets = createServer((request, response) => void this.serve(request, response));
    this.shop = createServer((request, response) => this.servePage(request, response));
    this.bank = createServer((request, response) => this.serveBank(request, response));
    this.assetPort = await listen(this.assets, "127.0.0.1");
    this.shopPort = await listen(this.shop, "localhost");
    this.bankUrl = `http://127.0.0.1:${await listen(this.bank, "127.0.0.1")}`;
    this.assetUrl = `http://127.0.0.1:${this.assetPort}/asset`;
    this.shopUrl = `http://localhost:${this.shopPort}`;
    return this;
  }

  stop() {
    for (const server of [this.assets, this.shop, this.bank]) {
      server.closeAllConnections();
      server.close();
    }
  }

  /**
   * `faults` are answers to the next calls of a kind, used up one by one: "reset" drops the connection before the work,
   * "done-reset" after it, a number is answered as that status; "ask" are the progress calls of the page in the dialog. `slow`
   * keeps the payment PROCESSING until `finish`; `others` offers the methods beside cards, `wallet` Apple Pay, and Google Pay too where it is "google"; of its payment sessions
   * the `wallet` fault "empty" is one without members, and a `token` fault is what comes of a token. `view` faults are answers to the page of
   * the frame and to the view alike. A payment's result is what the service answers of it, or `{ failed: code }` for an attempt that another
   * one may follow; after `tries` of them the Session is over. `expiresIn` is in milliseconds.
   */
  session({ tries = 5, expiresIn = 24 * HOUR_MS, amount = 29.9, currency = "USD", minorUnits = 2, faults = {}, slow = false, others = false, wallet = false, ...rest } = {}) {
    const session = {
      SessionId: randomUUID(), State: "CREATED", Version: 1, MerchantId: randomUUID(), MerchantName: "Fern & Fjord",
      MerchantOrigins: [this.shopUrl], Currency: currency, MinorUnits: minorUnits, TotalAmount: amount, Items: [],
      PaymentMethods: others ? [...CARDS, ...OTHERS] : CARDS, StashUrl: `http://127.0.0.1:${this.assetPort}/stash`, Sandbox: false, ...rest,
    };
    if (wallet) session.TokenMethods = [this.tokenMethod(session.MerchantId)];
    if (wallet === "google") session.TokenMethods.push(GOOGLE_PAY);
    // As the service does: a Session that is over without an Order says why.
    const ErrorCode = { FAILED: "PAYMENT_DECLINED", CANCELLED: "SESSION_CANCELLED" }[session.State];
    const result = ErrorCode && { ErrorCode };
    this.sessions.set(session.SessionId, { session, faults, slow, tries, result, expiresAt: Date.now() + expiresIn, attempts: new Map(), payments: 0, waiting: [] });
    return session.SessionId;
  }

  tokenMethod(merchant) {
    const PaymentSessionUrl = `http://127.0.0.1:${this.assetPort}/asset/wallet/${merchant}/session`;
    return {
      Type: "APPLEPAY",
      Parameters: { MerchantIdentifier: "merchant.example", SupportedNetworks: ["visa", "masterCard"], MerchantCapabilities: ["supports3DS"], PaymentSessionUrl, CountryCode: "NL" },
    };
  }

  /** The wallet's payment sessions. */
  walletSession(merchant, request, response) {
    const entry = [...this.sessions.values()].find(({ session }) => session.MerchantId === merchant);
    const fault = entry.faults.wallet?.shift();
    if (fault === "reset") return request.socket.destroy();
    if (typeof fault === "number") return this.error(response, fault, "WALLET_UNAVAILABLE");
    this.json(response, 200, fault === "empty" ? {} : { merchantSessionIdentifier: "session-1" });
  }

  entry(id) {
    return this.sessions.get(id);
  }

  calls(method, ending) {
    return this.requests.filter((one) => one.method === method && one.path.endsWith(ending));
  }

  /** Moves a payment on, to its end unless `result` says otherwise. */
  finish(id, result = { State: "COMPLETED" }) {
    const entry = this.entry(id);
    entry.result = result.failed ? this.failed(entry, result.failed) : result;
    if (result.State === "COMPLETED") entry.result = { OrderId: entry.orderId, OrderState: "PAYMENT_AUTHORIZED", PaymentMethod: entry.method, ...result };
    entry.session.State = entry.result.State;
    for (const wake of entry.waiting.splice(0)) wake();
  }

  failed(entry, ErrorCode) {
    entry.tries -= 1;
    if (entry.tries === 0) return { State: "FAILED", ErrorCode };
    return { State: "CREATED", Attempt: { AttemptId: entry.attempt, ErrorCode, AttemptsLeft: entry.tries } };
  }

  /** The merchant's PUT. */
  change(id, amount) {
    const { session } = this.entry(id);
    session.TotalAmount = amount;
    session.Version += 1;
  }

  async serve(request, response) {
    const url = new URL(request.url, "http://asset");
    const body = await bodyOf(request);
    this.requests.push({ method: request.method, path: url.pathname, search: url.search, body, headers: request.headers });
    try {
      if (url.pathname.startsWith("/stash/")) return this.stash(url, body, response);
      const call = /^\/asset\/v1\/shopper\/session\/([^/]+)(?:\/(submit|progress|pay-another-way))?$/.exec(url.pathname);
      if (call) return await this.shopper(call[1], call[2] ?? "view", url, body, request, response);
      const removed = /^\/asset\/v1\/session\/([^/]+)\/contract\/([^/]+)$/.exec(url.pathname);
      if (removed && request.method === "DELETE") return this.removeCard(removed[1], removed[2], request, response);
      const asked = /^\/asset\/v1\/session\/([^/]+)\/embeddable$/.exec(url.pathname);
      if (asked) return this.embeddable(asked[1], request, response);
      const wallet = /^\/asset\/wallet\/([^/]+)\/session$/.exec(url.pathname);
      if (wallet) return this.walletSession(wallet[1], request, response);
      const returned = /^\/asset\/v1\/return\/([^/]+)$/.exec(url.pathname);
      if (returned) return this.comeBack(returned[1], url, request, response);
      this.file(url, request, response);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }

  json(response, status, value, headers = {}) {
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
  }

  error(response, status, code, fields, headers) {
    this.json(response, status, { Code: code, Message: `mock: ${code}`, ...(fields && { FieldErrors: fields }) }, headers);
  }

  async shopper(id, call, url, body, request, response) {
    const entry = this.entry(id);
    if (!entry) return this.error(response, 404, "SESSION_NOT_FOUND");
    const fault = entry.faults[call === "progress" && !url.searchParams.has("from") ? "ask" : call]?.shift();
    if (fault === "reset") return request.socket.destroy();
    if (typeof fault === "number") return this.error(response, fault, "SERVICE_UNAVAILABLE");
    if (call === "view") return this.json(response, 200, this.viewOf(entry));
    if (call === "progress") return this.progress(entry, url.searchParams, response);
    if (call === "pay-another-way") return this.payAnotherWay(entry, JSON.parse(body), fault, request, response);
    const answer = this.submit(entry, JSON.parse(body));
    if (fault === "done-reset") return request.socket.destroy();
    if (answer.error) return this.error(response, answer.status, answer.error, answer.fields);
    this.json(response, 200, answer);
  }

  viewOf(entry) {
    const { session, expiresAt, tries, result } = entry;
    if (session.State === "CREATED" && Date.now() > expiresAt) this.finish(session.SessionId, { State: "CANCELLED", ErrorCode: "SESSION_EXPIRED" });
    const times = { ExpiresAt: new Date(expiresAt).toISOString(), ServerTime: new Date().toISOString() };
    return { ...session, ...times, AttemptsLeft: tries, ...(session.State === "CREATED" && result?.Attempt && { Attempt: result.Attempt }) };
  }

  /** The shopper removes a saved card; a `remove` fault is another answer. */
  removeCard(id, contract, request, response) {
    const { session, faults } = this.entry(id);
    const fault = faults.remove?.shift();
    if (fault === "reset") return request.socket.destroy();
    if (typeof fault === "number") return this.error(response, fault, "SERVICE_UNAVAILABLE");
    if (session.State !== "CREATED") return this.error(response, 409, "INVALID_SESSION_STATE");
    const kept = (session.SavedCards ?? []).filter(({ ContractId, Removable }) => ContractId !== contract || !Removable);
    const gone = kept.length === session.SavedCards?.length;
    session.SavedCards = kept;
    if (fault === "done-reset") return request.socket.destroy();
    if (gone) return this.error(response, 404, "CONTRACT_NOT_FOUND");
    response.writeHead(204).end();
  }

  /** Whether pages of the caller's origin may embed the drop-in for the Session. */
  embeddable(id, request, response) {
    const any = { "Access-Control-Allow-Origin": "*" };
    const entry = this.entry(id);
    const fault = entry?.faults.embeddable?.shift();
    if (typeof fault === "number") return this.error(response, fault, "SERVICE_UNAVAILABLE", undefined, any);
    if (!entry) return this.error(response, 404, "SESSION_NOT_FOUND", undefined, any);
    if (!entry.session.MerchantOrigins.includes(request.headers.origin)) return this.error(response, 403, "ORIGIN_NOT_ALLOWED", undefined, any);
    this.json(response, 200, { Allowed: true }, any);
  }

  /** The page that the payment waits on can no longer be paid; what was paid before counts. */
  payAnotherWay(entry, { AttemptId }, fault, request, response) {
    if (entry.session.State === "REDIRECTED" && AttemptId === entry.attempt) this.finish(entry.session.SessionId, entry.paidMeanwhile ?? { failed: "PAGE_CANCELLED" });
    if (fault === "done-reset") return request.socket.destroy();
    this.json(response, 200, this.progressOf(entry));
  }

  submit(entry, order) {
    const { session, attempts } = entry;
    if (attempts.has(order.AttemptId)) return this.progressOf(entry);
    if (session.State !== "CREATED") return { status: 409, error: "INVALID_SESSION_STATE" };
    if (order.Version !== session.Version) return { status: 409, error: "SESSION_CHANGED" };
    if (entry.rateExpired) return { status: 409, error: "RATE_OFFER_EXPIRED" };
    const consent = this.consentError(entry, order);
    if (consent) return { status: 400, error: "INVALID_REQUEST", fields: [{ Field: "Consent", Code: consent, Message: `mock: ${consent}` }] };
    const address = this.addressError(entry, order);
    if (address) return { status: 400, error: "INVALID_REQUEST", fields: [{ Field: "BillingAddress.Postcode", Code: address, Message: `mock: ${address}` }] };
    const result = order.ContractId ? this.bySavedCard(entry, order) : order.StashId ? this.byStash(entry, order) : this.byMethod(session, order);
    if (result.error) return result;
    attempts.set(order.AttemptId, order);
    Object.assign(entry, { attempt: order.AttemptId, orderId: randomUUID(), method: order.PaymentMethod ?? "VISA" });
    entry.payments += 1;
    entry.paidAmount = session.TotalAmount;
    if (entry.slow) session.State = "PROCESSING";
    else this.finish(session.SessionId, result);
    return this.progressOf(entry);
  }

  /** As the service: a contract that must be opened needs consent, one that may be opened takes it, and a saved card never. */
  consentError({ session }, { Consent, ContractId }) {
    const may = (session.OpensContract ?? session.AllowsContract) && !ContractId;
    if (Consent && !may) return "VALUE_NOT_ALLOWED";
    return session.OpensContract && !ContractId && !Consent ? "MISSING" : null;
  }

  /** As the service: what the view asks for comes with a new card, and with nothing else. An `address` fault is what is wrong with the next one. */
  addressError({ session, faults }, { BillingAddress, ContractId, DeviceFingerprint, StashId }) {
    const fault = faults.address?.shift();
    if (fault) return fault;
    const stashed = this.stashed.get(`${session.MerchantId}/${StashId}/${DeviceFingerprint}`);
    const [asked] = !ContractId && stashed && stashed.Type === undefined ? (session.AddressFields ?? []) : [];
    if (!asked) return BillingAddress ? "VALUE_NOT_ALLOWED" : null;
    if (!BillingAddress) return "FIELD_MISSING";
    return new RegExp(`^(?:${asked.Pattern})$`).test(BillingAddress.Postcode) ? null : "FIELD_INVALID";
  }

  /** `dead` are contracts that the next payment finds to be no more; `lost` ones are closed by the decline that they meet. */
  bySavedCard({ session, dead = [], lost = [], ...entry }, order) {
    const refused = (Field, Code) => ({ status: 400, error: "INVALID_REQUEST", fields: [{ Field, Code, Message: `mock: ${Code}` }] });
    const drop = () => (session.SavedCards = session.SavedCards.filter(({ ContractId }) => ContractId !== order.ContractId));
    if (dead.includes(order.ContractId)) drop();
    const card = session.SavedCards?.find(({ ContractId }) => ContractId === order.ContractId);
    if (!card) return refused("ContractId", "NOT_FOUND");
    if (order.PaymentMethod) return refused("PaymentMethod", "VALUE_NOT_ALLOWED");
    const key = `${session.MerchantId}/${order.StashId}/${order.DeviceFingerprint}`;
    const stashed = this.stashed.get(key);
    this.stashed.delete(key);
    if (!stashed) return refused("StashId", "NOT_FOUND");
    const length = card.Scheme === "AMEX" ? 4 : 3;
    if (JSON.stringify(Object.keys(stashed)) !== '["VerificationCode"]' || stashed.VerificationCode.length !== length) return refused("StashId", "FIELD_INVALID");
    if (lost.includes(order.ContractId)) drop();
    return entry.faults.saved?.shift() ?? { State: "COMPLETED" };
  }

  byStash({ session, faults }, order) {
    const key = `${session.MerchantId}/${order.StashId}/${order.DeviceFingerprint}`;
    const card = this.stashed.get(key);
    if (!card) return { status: 400, error: "INVALID_REQUEST", fields: [{ Field: "StashId", Code: "NOT_FOUND", Message: "unseen, used or expired" }] };
    this.stashed.delete(key);
    // As the service: the scheme that is named beside a card is its own, or another whose mark it bears.
    const borne = card.Number === CO_BADGED ? ["VISA", "CB"] : [undefined, "VISA"];
    if (order.PaymentMethod && !borne.includes(order.PaymentMethod)) return { status: 400, error: "INVALID_REQUEST", fields: [{ Field: "PaymentMethod", Code: "CONFLICT", Message: "another card" }] };
    if (card.Type !== undefined) return faults.token?.shift() ?? { State: "COMPLETED" };
    if (card.Number === CHALLENGED) return { State: "REDIRECTED", RedirectUrl: this.bankPage(session.SessionId), Challenge: true };
    return DECLINED.includes(card.Number) ? { failed: "PAYMENT_DECLINED" } : { State: "COMPLETED" };
  }

  byMethod(session, { PaymentMethod }) {
    const method = session.PaymentMethods.find(({ Id, Class }) => Id === PaymentMethod && Class !== "Card");
    if (!method) return { status: 400, error: "INVALID_REQUEST", fields: [{ Field: "PaymentMethod", Code: "VALUE_NOT_ALLOWED", Message: "not offered" }] };
    if (method.Class === "Offline") return { State: "COMPLETED", OrderState: "PROCESSING", BankDetails: BANK_DETAILS };
    return { State: "REDIRECTED", RedirectUrl: this.bankPage(session.SessionId) };
  }

  bankPage(id) {
    return `${this.bankUrl}/confirm?session=${id}`;
  }

  /** Where the bank's buttons lead: the payment moves on, and the shopper back to the shop; in a frame there is nowhere to go. */
  comeBack(id, url, request, response) {
    const result = RESULTS[url.searchParams.get("result")];
    this.finish(id, result);
    if (request.headers["sec-fetch-dest"] === "document") {
      return response.writeHead(303, { Location: `${this.shopUrl}/?back=${this.entry(id).session.State}` }).end();
    }
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end("<!doctype html><title>Done</title><p>You can close this.");
  }

  progressOf({ session, result, attempt }) {
    return { ...result, State: session.State, ...(session.State === "REDIRECTED" && { AttemptId: attempt }) };
  }

  progress(entry, query, response) {
    const answer = () => this.json(response, 200, this.progressOf(entry));
    if (entry.session.State !== (query.get("from") ?? "PROCESSING")) return answer();
    const wake = () => (clearTimeout(timer), answer());
    const timer = setTimeout(() => {
      entry.waiting = entry.waiting.filter((one) => one !== wake);
      answer();
    }, Number(query.get("wait")) * 1000);
    // Nobody may be there any more to hear it: it keeps no finished run alive.
    timer.unref();
    entry.waiting.push(wake);
  }

  stash(url, body, response) {
    const [, , merchant, id] = url.pathname.split("/");
    const form = new URLSearchParams(body);
    const entry = [...this.sessions.values()].find(({ session }) => session.MerchantId === merchant);
    const headers = { "Access-Control-Allow-Origin": `http://127.0.0.1:${this.assetPort}` };
    const fault = entry.faults.stash?.shift();
    if (fault === "reset") return response.socket.destroy();
    const card = JSON.parse(form.get("card") ?? form.get("token_data"));
    this.stashed.set(`${merchant}/${id}/${form.get("DeviceFingerprint")}`, card);
    this.json(response, 200, { StashId: id, Last4: card.Number?.slice(-4) ?? "", Warnings: entry.faults.warnings?.shift() ?? (card.Number || card.Type ? [] : ["CardNumberInvalid", "CardMonthInvalid"]) }, headers);
  }

  file(url, request, response) {
    const [, folder = "", file = ""] = /^\/asset\/([^/]+)\/(.*)$/.exec(url.pathname) ?? [];
    const name = normalize(file);
    const path = join(dist, name);
    // Documents stand in v1 alone.
    const isThere = folder === "v1" || (folder === version && !name.endsWith(".html"));
    if (!isThere || name.startsWith("..") || !existsSync(path)) return response.writeHead(404).end();
    const headers = {
      "Content-Type": TYPES[name.split(".").at(-1)] ?? "text/plain",
      "Cross-Origin-Resource-Policy": "cross-origin",
      "X-Content-Type-Options": "nosniff",
    };
    if (/\.(?:js|css|json)$/.test(name)) headers["Access-Control-Allow-Origin"] = "*";
    if (name === "frame.html" || name === "challenge.html") {
      const form = name === "frame.html";
      const { origins, body } = this.document(url.searchParams.get("session"), form, request);
      const { tag, format, direction } = resolveLocale((url.searchParams.get("locale") ?? "").split(","), TAGS);
      const texts = (folder) => `${folder}/${tag}.json?${createHash("sha256").update(readFileSync(join(dist, `${folder}/${tag}.json`))).digest("hex").slice(0, 12)}`;
      if (typeof body === "number") return this.error(response, body, "SERVICE_UNAVAILABLE");
      const asset = `http://127.0.0.1:${this.assetPort}`;
      const reach = form ? `connect-src 'self' ${asset}` : "connect-src 'self'; frame-src http: https:";
      headers["Content-Security-Policy"] =
        `default-src 'none'; script-src 'self'; ${reach}; base-uri 'none'; form-action 'none'; frame-ancestors ${origins}; ` +
        "require-trusted-types-for 'script'; trusted-types 'none'";
      if (form || url.searchParams.has("isolated")) headers["Cross-Origin-Embedder-Policy"] = "require-corp";
      headers["Cache-Control"] = "no-store";
      headers["Referrer-Policy"] = "no-referrer";
      const embedded = JSON.stringify(body).replaceAll("<", "\\u003c");
      const filled = { lang: format, dir: direction, texts: texts("locales"), outcomes: texts("outcomes"), session: embedded };
      return response.writeHead(200, headers).end(readFileSync(path, "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => filled[name]));
    }
    // As the service does: what has its content's name in its address is kept, and written small.
    headers["Cache-Control"] = url.search || folder === version ? "public, max-age=31536000, immutable" : "public, max-age=300";
    const small = existsSync(`${path}.br`) && /\bbr\b/.test(request.headers["accept-encoding"] ?? "");
    if (small) headers["Content-Encoding"] = "br";
    response.writeHead(200, headers).end(readFileSync(small ? `${path}.br` : path));
  }

  /** Who may frame a document, and what is written into it: the Session, or why there is none. */
  document(id, form, { headers }) {
    const entry = this.entry(id);
    const anybody = (Code) => ({ origins: "*", body: { Code, Message: `mock: ${Code}` } });
    if (!entry) return anybody("SESSION_NOT_FOUND");
    const fault = form ? entry.faults.view?.shift() : undefined;
    if (fault !== undefined) return { origins: this.shopUrl, body: fault };
    if (form && !entry.anonymous && headers.referer && !entry.session.MerchantOrigins.includes(new URL(headers.referer).origin)) return anybody("ORIGIN_NOT_ALLOWED");
    return { origins: entry.frameAncestors ?? entry.session.MerchantOrigins.join(" "), body: this.viewOf(entry) };
  }

  /** The pages that shoppers are sent to. */
  serveBank(request, response) {
    const url = new URL(request.url, this.bankUrl);
    if (url.pathname.startsWith("/onsite/")) {
      const headers = { "Content-Type": TYPES.js, "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };
      return response.writeHead(200, headers).end(readFileSync(onsite));
    }
    const back = `${this.assetUrl}/v1/return/${url.searchParams.get("session")}`;
    const links = Object.keys(RESULTS).map((result) => `<p><a id="${result}" href="${back}?result=${result}">${result}</a></p>`);
    response.writeHead(url.pathname === "/confirm" ? 200 : 404, { "Content-Type": "text/html; charset=utf-8" }).end(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Bank</title><link rel="icon" href="data:,"></head>
<body><main aria-label="The bank"><h1>The bank</h1>${links.join("")}
<p><a id="out" target="_top" href="${this.bankUrl}/elsewhere">Leave</a></p></main></body></html>`);
  }

  /** The merchant's pages. `/strict` and `/isolated` send the strictest headers a merchant may, and `/strict` asks for the script by CORS; `/nonce`
   * knows its scripts by a nonce alone; `/fortress` does all of it at once, and pins the script. */
  servePage(request, response) {
    const url = new URL(request.url, this.shopUrl);
    const [brought, body] = this.pages.get(url.pathname) ?? [];
    if (brought) return response.writeHead(200, brought).end(body);
    const headers = { "Content-Type": "text/html; charset=utf-8" };
    const asset = new URL(this.assetUrl).origin;
    if (url.pathname === "/strict") {
      headers["Content-Security-Policy"] =
        `default-src 'none'; script-src ${asset} ${this.bankUrl}; frame-src ${asset}; require-trusted-types-for 'script'; trusted-types 'none'`;
    }
    if (url.pathname === "/nonce") headers["Content-Security-Policy"] = `script-src 'nonce-bm9uY2U'; frame-src ${asset}`;
    if (url.pathname === "/isolated") {
      headers["Cross-Origin-Opener-Policy"] = "same-origin";
      headers["Cross-Origin-Embedder-Policy"] = "require-corp";
    }
    if (url.pathname === "/fortress") {
      headers["Content-Security-Policy"] =
        `default-src 'none'; script-src 'nonce-bm9uY2U' 'strict-dynamic'; frame-src ${asset}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; `
        + "require-trusted-types-for 'script'; trusted-types 'none'";
      Object.assign(headers, { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp", "Referrer-Policy": "strict-origin" });
    }
    // A page that knows nothing of the frame.
    if (url.pathname === "/blocking") headers["Content-Security-Policy"] = `default-src 'self'; script-src ${asset}`;
    const lang = url.searchParams.get("lang") ?? "en";
    // Without an icon of its own Chromium asks for one, and complains of what it gets.
    const style = url.pathname === "/" ? `<link rel="icon" href="data:,"><link rel="stylesheet" href="/shop.css">` : "";
    if (url.pathname === "/shop.css") return response.writeHead(200, { "Content-Type": "text/css" }).end(SHOP_CSS);
    if (url.pathname === "/favicon.ico") return response.writeHead(204).end();
    response.writeHead(200, headers).end(`<!doctype html>
<html lang="${lang}" dir="${/^(?:ar|he)/.test(lang) ? "rtl" : "ltr"}"><head><meta charset="utf-8"><title>Shop</title>
<meta name="viewport" content="width=device-width, initial-scale=1">${style}
${this.script(url.pathname)}</head>
<body><main><h1>Fern &amp; Fjord</h1><h2>Payment</h2><div id="pay"></div>${this.messages(url.searchParams)}</main></body></html>`);
  }

  /** The drop-in's script, as the page loads it; `/fortress` pins the version and its bytes. */
  script(path) {
    const pinned = path === "/fortress";
    const integrity = pinned ? ` integrity="sha384-${outputs["dropin.js"].sha384}"` : "";
    return `<script nonce="bm9uY2U" src="${this.assetUrl}/${pinned ? version : "v1"}/dropin.js"${integrity}${pinned || path === "/strict" ? ' crossorigin="anonymous"' : ""}></script>`;
  }

  /** The pay-later provider's script and placements, where a test asks for them. */
  messages(query) {
    const region = query.get("onsite");
    if (region === null) return "";
    const text = (value) => value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
    const attributes = (one) => Object.entries(one).map(([name, value]) => ` ${name}="${text(value)}"`).join("");
    const tags = JSON.parse(query.get("placements")).map((one) => `<pay-later-placement${attributes(one)}></pay-later-placement>`);
    return `${tags.join("")}<script src="${this.bankUrl}/onsite/${region}/script.js" crossorigin="anonymous" data-client-id="${text(query.get("client"))}"></script>`;
  }
}

const SHOP_CSS = `
body { margin: 0; font-family: system-ui, sans-serif; background: #f5f6f8; color: #1a2030; }
main { max-width: 520px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 18px; font-weight: 600; }
h2 { font-size: 22px; margin: 20px 0 14px; }
body.dark { background: #0d1016; color: #eceff6; color-scheme: dark; }
body.styled { --color-primary: #0b7a5c; --color-hover: #075f47; --accordion--border-radius: 0; --input--border-radius: 2px;
  --button--border-radius: 999px; --color-header: #eef6f2; --input--border-color: #5d7f73; }`;
