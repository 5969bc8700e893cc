// Where our own files live, and where a shopper may be sent. Our own addresses are derived from the running script's, because
// {asset_url} may carry a path prefix that no build knows.

/** The `…/v1/` folder of the script at `source`, which stands there or in the folder of its version beside it (`…/0123456789abcdef/x.js`). */
export function baseOf(source: string): URL {
  return new URL("../v1/", source);
}

/** Whether `text` is an absolute http or https address: nothing else (a script, data, an app) is ever opened. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\/[^\s/]/i.test(text);
}
