// Where our own files live. Everything is derived from the address of the running script, because {asset_url} may carry a
// path prefix that no build knows.

/** The `…/v1/` folder that holds the script at `source`; also right for a script served below it (`…/v1/<version>/x.js`). */
export function baseOf(source: string): URL {
  const url = new URL(source);
  const folder = /^.*\/v1\//.exec(url.pathname)?.[0];
  return new URL(folder ?? ".", url);
}
