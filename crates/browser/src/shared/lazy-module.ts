// Loads the parts that only some shoppers need. What a page checks of the script that it loads holds for them too: a part whose
// bytes are others than those of this build never runs.

/** Its address beside the running script, and the digest of its bytes; build.mjs writes both down. */
export type LazyModule = readonly [address: string, digest: string];

/** By which a page's CSP may know our scripts; only told while the script first runs. */
const nonce = document.currentScript?.nonce ?? "";

/** Some browsers might never say how the check went; then it is seen to where the part runs. */
const PRELOAD_TIMEOUT_MS = 3_000;

/** The part, from the folder of `base`. Fails where it cannot be had, or is another. */
export async function load<T>([address, integrity]: LazyModule, base: string | URL): Promise<T> {
  const { href } = new URL(address, base);
  const link = document.createElement("link");
  try {
    // A browser without preloading of modules cannot check them.
    if (link.relList.supports("modulepreload")) {
      await new Promise((onload, onerror) => {
        Object.assign(link, { rel: "modulepreload", crossOrigin: "anonymous", integrity, nonce, onload, onerror, href });
        document.head.append(link);
        setTimeout(onload, PRELOAD_TIMEOUT_MS);
      });
    }
    // What is checked is what runs: the browser has it already or is about to, and asks for it no more.
    return (await import(href)) as T;
  } finally {
    link.remove();
  }
}
