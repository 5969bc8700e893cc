// What Playwright does inside Chromium, as a proxy before the other engines: requests that are watched, held, answered or cut off, scripts before a page's own, and a
// network that goes away. It says the same as Playwright's `BrowserContext` and `Route`.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createServer, request as ask } from "node:http";
import { createServer as createTlsServer } from "node:https";

/** As Playwright reads it: `*` is anything but a slash, `**` anything, braces a choice. */
export function globOf(glob) {
  const parts = { "**": ".*", "*": "[^/]*", "{": "(?:", "}": ")", ",": "|" };
  const text = glob.replace(/\*\*|[*{},]|[.?+^$()|[\]\\]/g, (part) => parts[part] ?? `\\${part}`);
  return new RegExp(`^${text}$`);
}

async function bytesOf(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Neither is true of what is written anew. */
const withoutLength = ({ "content-length": _, "transfer-encoding": __, ...headers }) => headers;

/** A key and what is signed by itself with it, made anew. */
function certificate() {
  const pem = String(execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "-", "-subj", "/CN=localhost", "-days", "1"], { stdio: ["ignore", "pipe", "ignore"] }));
  return { key: pem, cert: pem };
}

/** The server has answered nothing, or not to the end: a test may want that. */
class NoAnswer extends Error {}

export class Gateway {
  routes = [];
  /** Texts of scripts, or functions that make them. */
  scripts = [];
  listeners = [];
  isOffline = false;
  sockets = new Set();

  async start() {
    this.server = createServer((request, response) => void this.answer(request, response));
    this.server.on("connection", (socket) => {
      this.sockets.add(socket.on("close", () => this.sockets.delete(socket)).on("error", () => {}));
      if (this.isOffline) socket.destroy();
    });
    // What is asked for by TLS is answered by the routes, which a test has for it, or not at all.
    this.server.on("connect", ({ url }, socket) => {
      if (!this.routes.some(([pattern]) => pattern.test(`https://${url.replace(/:443$/, "")}/`))) return socket.destroy();
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      this.secure().emit("connection", socket);
    });
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.address = `127.0.0.1:${this.server.address().port}`;
    return this;
  }

  /** Speaks TLS for every host, with a certificate that the browsers are told to take. */
  secure() {
    this.tls ??= createTlsServer(certificate(), (request, response) => {
      request.url = `https://${request.headers.host}${request.url}`;
      void this.answer(request, response);
    });
    return this.tls;
  }

  stop() {
    this.cut();
    this.server.close();
  }

  cut() {
    for (const socket of this.sockets) socket.destroy();
  }

  setOffline(isOffline) {
    this.isOffline = isOffline;
    if (isOffline) this.cut();
  }

  tell(kind, request) {
    for (const [wanted, listener] of this.listeners) if (wanted === kind) listener(request);
  }

  /** Keeps as `error` what went wrong first here or in the handler of a route, but for what comes of a connection that the browser or `setOffline` has closed. */
  async answer(request, response) {
    try {
      await this.serve(request, response);
    } catch (error) {
      const isClosed = !request.complete || (request.socket.destroyed && !request.isAborted);
      if (!isClosed && !(error instanceof NoAnswer)) this.error ??= error;
      request.socket.destroy();
    }
  }

  async serve(request, response) {
    // Of the document that asks a request tells no more than its origin.
    const frame = { url: () => (request.headers["sec-fetch-site"] === "same-origin" ? new URL(request.url).origin : (request.headers.referer ?? "")) };
    const seen = { url: () => request.url, frame: () => frame, sizes: async () => seen.size };
    this.tell("request", seen);
    const body = await bytesOf(request);
    const finish = ({ status, headers, body }) => {
      const prepared = this.prepare(headers, body);
      response.writeHead(status, prepared.headers).end(prepared.body);
      seen.size = { responseBodySize: prepared.body.length, responseHeadersSize: String(Object.entries(prepared.headers).map(([name, value]) => `${name}: ${value}\r\n`)).length };
      this.tell("requestfinished", seen);
      this.tell("response", { url: () => request.url });
    };
    const fetch = (more) => this.fetch(request, response, body, more);
    // As in Playwright, what was registered last is asked first.
    const [, handler] = this.routes.findLast(([pattern]) => pattern.test(request.url)) ?? [];
    if (!handler) return finish(await fetch());
    await handler({
      request: () => seen,
      abort: async () => {
        request.isAborted = true;
        request.socket.destroy();
      },
      continue: async () => finish(await fetch()),
      fetch: async () => {
        const answer = await fetch({ "accept-encoding": "identity" });
        return { ...answer, text: async () => String(answer.body) };
      },
      fulfill: async ({ response: from, status = from?.status ?? 200, headers = from?.headers ?? {}, contentType, body = from?.body ?? "" }) =>
        finish({ status, headers: { ...headers, ...(contentType && { "content-type": contentType }) }, body: Buffer.from(body) }),
    });
  }

  /** What the server answers; a request that the browser gives up is given up there too. */
  async fetch(request, response, body, more) {
    const sent = ask(request.url, { method: request.method, headers: { ...request.headers, connection: "close", ...more }, agent: false });
    response.on("close", () => response.writableEnded || sent.destroy());
    try {
      const answer = await new Promise((resolve, reject) => sent.on("response", resolve).on("error", reject).end(body));
      const { connection: _, "keep-alive": __, ...headers } = answer.headers;
      return { status: answer.statusCode, headers: withoutLength(headers), body: await bytesOf(answer) };
    } catch (cause) {
      throw new NoAnswer(request.url, { cause });
    }
  }

  /** Puts the scripts into a document, and their digest into its policy. */
  prepare(headers, body) {
    if (!/^text\/html/.test(headers["content-type"] ?? "") || this.scripts.length === 0) return { headers, body };
    const code = `document.currentScript.remove();${this.scripts.map((one) => (typeof one === "function" ? one() : one)).join(";")}`.replaceAll("</script", "<\\/script");
    const digest = `'sha256-${createHash("sha256").update(code).digest("base64")}'`;
    const policy = headers["content-security-policy"]?.replace(/(^|; )script-src /, `$1script-src ${digest} `);
    const html = String(body).replace(/^(<!doctype[^>]*>)?/i, (doctype) => `${doctype}<script>${code}</script>`);
    return { headers: { ...headers, ...(policy && { "content-security-policy": policy }) }, body: Buffer.from(html) };
  }
}
