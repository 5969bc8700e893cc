// Loads the parts that only some shoppers need, or that are needed only once the form is there. What a page checks of the script that it loads
// holds for them too: a part whose bytes are others than those of this build never runs, but for WebKit: 2.50 preloads it without comparing.

/** Its address beside the running script, and the digest of its bytes; build.mjs writes both down. */
export type LazyModule = readonly [address: string, digest: string];

/** By which a page's CSP may know our scripts; only told while the script first runs. */
const nonce = document.currentScript?.nonce ?? "";

/** Some browsers might never say how the check went; then it is seen to where the part runs. */
const PRELOAD_TIMEOUT_MS = 3_000;

/** Between the first tries to load a part, and between all that follow. */
const PAUSES_MS = [500, 1000, 2000];
const LONG_PAUSE_MS = 4000;

/** The part, from the folder of `base`. Fails where it cannot be had, or is another. `tries` have failed: browsers keep what became of an address. */
export async function load<T>([address, integrity]: LazyModule, base: string | URL, tries = 0): Promise<T> {
  const { href } = new URL(address + (tries ? `&${tries}` : ""), base);
  const link = document.createElement("link");
  try {
    // A browser without preloading of modules cannot check them, and WebKit 2.50, which has it, does not look at `integrity`.
    if (link.relList.supports("modulepreload")) {
      await new Promise((onload, onerror) => {
        Object.assign(link, { rel: "modulepreload", crossOrigin: "anonymous", integrity, nonce, onload, onerror, href });
        document.head.append(link);
        setTimeout(onload, PRELOAD_TIMEOUT_MS);
      });
    }
    // Where it is checked, that is what runs: the browser has it already or is about to, and asks for it no more.
    return (await import(href)) as T;
  } finally {
    link.remove();
  }
}

/** The same, tried until it has come. `missed` hears of each try that failed, and says whether to go on; when not, there is no part. */
export async function insist<T>(part: LazyModule, base: string | URL, missed: (tries: number) => boolean): Promise<T | null> {
  for (let tries = 0; ; ) {
    try {
      return await load<T>(part, base, tries);
    } catch {
      if (!missed(++tries)) return null;
      await new Promise((resolve) => setTimeout(resolve, PAUSES_MS[tries - 1] ?? LONG_PAUSE_MS));
    }
  }
}
