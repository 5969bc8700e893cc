// Loads the parts that only some shoppers need. What a page checks of the script that it loads holds for them too: a part whose
// bytes are others than those of this build never runs.

/** Its address beside the running script, and the digest of its bytes; build.mjs writes both down. */
export type Part = readonly [address: string, digest: string];

/** By which a page's CSP may know our scripts; only told while the script first runs. */
const nonce = document.currentScript?.nonce ?? "";

/** The part, from the folder of `base`. Fails where it cannot be had, or is another. */
export async function load<T>([address, digest]: Part, base: string | URL): Promise<T> {
  const { href } = new URL(address, base);
  const link = document.createElement("link");
  // A browser without preloading of modules cannot check them.
  if (link.relList.supports("modulepreload")) {
    await new Promise((done, failed) => {
      Object.assign(link, { rel: "modulepreload", crossOrigin: "anonymous", integrity: digest, nonce, onload: done, onerror: failed, href });
      document.head.append(link);
    }).finally(() => link.remove());
  }
  // What was checked is what runs: the browser has it already, and asks for it no more.
  return (await import(href)) as T;
}
