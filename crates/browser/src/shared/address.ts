// Where our own files live, and where a shopper may be sent. Our own addresses are derived from the running script's, because
// {asset_url} may carry a path prefix that no build knows.

/** The `…/v1/` folder that holds the script at `source`; also right for a script served below it (`…/v1/<version>/x.js`). */
export function baseOf(source: string): URL {
  const url = new URL(source);
  const folder = /^.*\/v1\//.exec(url.pathname)?.[0];
  return new URL(folder ?? ".", url);
}

/** Whether `text` is an absolute http or https address: nothing else (a script, data, an app) is ever opened. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\/[^\s/]/i.test(text);
}
