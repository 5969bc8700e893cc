// Loads the drop-in of a payment service into the page, once.

import type { Dropin } from "./dropin.js";

export type {
  Dropin, DropinAttempt, DropinChange, DropinError, DropinInstance, DropinOptions, DropinRedirect, DropinResult, DropinSelection,
} from "./dropin.js";

/** How the script is loaded. */
export interface LoadOptions {
  /** The version that the page pins (`dropin assets list`), with its `integrity`. Left out, the service's present one is loaded. */
  readonly version?: string | undefined;
  /** The digest of that version's `dropin.js`, `sha384-…`: the browser runs no other bytes. */
  readonly integrity?: string | undefined;
  /** By which the page's Content-Security-Policy knows its scripts. */
  readonly nonce?: string | undefined;
}

/** `dropin.js` did not come: the connection, a blocker, the page's Content-Security-Policy, or another version than the pinned one. */
export class DropinLoadError extends Error {
  override readonly name = "DropinLoadError";
  readonly errorCode = "SCRIPT_UNAVAILABLE";
}

interface Loading {
  readonly source: string;
  readonly dropin: Promise<Dropin>;
}

let loading: Loading | undefined;

/**
 * The drop-in of the service at `assetUrl` (`{asset_url}`, maybe with a path). Call it as often as you like: the script is loaded once, and again only after
 * it did not come.
 *
 * Rejects with a `TypeError` that says what to change, or with a `DropinLoadError`: then say so to the shopper, and offer to try again.
 */
export async function loadDropin(assetUrl: string, options: LoadOptions = {}): Promise<Dropin> {
  if (typeof document === "undefined") throw new TypeError("loadDropin: the drop-in is loaded in a browser; call it in an effect, not while a server renders");
  const folder = folderOf(assetUrl);
  const source = sourceOf(folder, options);
  if (loading === undefined) {
    const { dropin } = window as { readonly dropin?: Dropin };
    // The page has a script element of its own.
    if (dropin !== undefined) return checked(dropin, folder, options);
    loading = { source, dropin: load(source, options).then((loaded) => checked(loaded, folder)) };
    loading.dropin.catch(() => (loading = undefined));
  }
  if (loading.source !== source) throw new TypeError(`loadDropin: this page loads ${loading.source} already; a page has one drop-in service, and one version of it`);
  return loading.dropin;
}

/** `{asset_url}` with one slash at its end. */
function folderOf(assetUrl: string): string {
  let url: URL;
  try {
    url = new URL(assetUrl);
  } catch {
    throw new TypeError(`loadDropin: "${assetUrl}" is no address; give the {asset_url} of your payment service, such as https://pay.example`);
  }
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback)) throw new TypeError(`loadDropin: ${assetUrl} must be https, except on this machine`);
  if (url.username || url.password || url.search || url.hash) throw new TypeError("loadDropin: the {asset_url} has no user, query or fragment");
  return `${url.origin}${url.pathname.replace(/\/*$/, "")}/`;
}

function sourceOf(folder: string, { version, integrity }: LoadOptions): string {
  if (version === undefined && integrity === undefined) return `${folder}v1/dropin.js`;
  if (!/^[0-9a-f]{16}$/.test(version ?? "")) throw new TypeError("loadDropin: version is the 16 digits of `dropin assets list`, and stands with integrity");
  if (!/^sha(?:256|384|512)-[\w+/]+=*$/.test(integrity ?? "")) throw new TypeError("loadDropin: integrity is `sha384-…` of `dropin assets list`, and stands with version");
  return `${folder}${version}/dropin.js`;
}

/** That it is from the service which the page means, and speaks the interface of this package. */
function checked(dropin: Dropin, folder: string, { version }: LoadOptions = {}): Dropin {
  if (version !== undefined) throw new TypeError("loadDropin: a script element of this page has loaded dropin.js already; pin version and integrity there, or leave the element out");
  if (dropin.base !== `${folder}v1/`) throw new TypeError(`loadDropin: this page has a drop-in from ${dropin.base ?? "elsewhere"}, and not from ${folder}v1/`);
  return dropin;
}

function load(source: string, { integrity, nonce }: LoadOptions): Promise<Dropin> {
  const script = document.createElement("script");
  if (integrity !== undefined) Object.assign(script, { integrity, crossOrigin: "anonymous" });
  if (nonce !== undefined) script.nonce = nonce;
  script.async = true;
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      script.remove();
      reject(new DropinLoadError(`${source} ${why}`));
    };
    script.onerror = () => fail("did not load: look at the connection, at blockers, at script-src of the page's Content-Security-Policy, and whether a pinned version is still served");
    script.onload = () => {
      const { dropin } = window as { readonly dropin?: Dropin };
      if (dropin === undefined) fail("is not the drop-in's script");
      else resolve(dropin);
    };
    trust(script, source);
    document.head.append(script);
  });
}

interface TrustedTypes {
  readonly createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => Policy;
}

interface Policy {
  readonly createScriptURL: (url: string) => unknown;
}

let policy: Policy | undefined;

/** Where the page requires Trusted Types, its policy has to name `dropin-payment`. One that requires none and forbids policies takes the address as it is. */
function trust(script: HTMLScriptElement, source: string): void {
  const { trustedTypes } = window as { readonly trustedTypes?: TrustedTypes };
  try {
    policy ??= trustedTypes?.createPolicy("dropin-payment", { createScriptURL: (url) => url });
  } catch {
    // The page names other policies, or none.
  }
  script.src = (policy?.createScriptURL(source) ?? source) as string;
}
