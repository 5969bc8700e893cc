// Runs in a browser before a page's own scripts, as text: a clock that a test moves, and what the page complains of.

/** As Playwright's clock: time goes on by itself, and a test may jump ahead. `offset` is how far it has jumped before; timers of `own` milliseconds are the driver's. */
function installClock(offset, own) {
  if (window.__clock) return;
  const real = { setTimeout: setTimeout.bind(window), clearTimeout: clearTimeout.bind(window), now: performance.now.bind(performance), Date };
  const timers = new Map();
  let last = 1_000_000;
  const now = () => real.now() + offset;
  const start = (id) => {
    const timer = timers.get(id);
    timer.real = real.setTimeout(run, Math.max(0, timer.due - now()), id);
  };
  function run(id) {
    const timer = timers.get(id);
    if (!timer) return;
    if (timer.every === undefined) timers.delete(id);
    else {
      timer.due = now() + timer.every;
      start(id);
    }
    timer.run();
  }
  const add = (isRepeated) => (code, ms = 0, ...given) => {
    if (ms === own) return real.setTimeout(code, ms);
    const id = (last += 1);
    timers.set(id, { run: () => code(...given), due: now() + Number(ms), every: isRepeated ? Number(ms) : undefined });
    start(id);
    return id;
  };
  const clear = (id) => {
    if (!timers.has(id)) return real.clearTimeout(id);
    real.clearTimeout(timers.get(id).real);
    timers.delete(id);
  };
  Object.assign(window, { setTimeout: add(false), setInterval: add(true), clearTimeout: clear, clearInterval: clear });
  performance.now = now;
  let dateOffset = offset;
  window.Date = class extends real.Date {
    constructor(...given) {
      if (given.length > 0) super(...given);
      else super(window.Date.now());
    }

    static now() {
      return real.Date.now() + dateOffset;
    }
  };
  window.__clock = {
    /** Jumps ahead; what is due meanwhile runs once. */
    fastForward(ms) {
      offset += ms;
      dateOffset += ms;
      const due = [...timers].filter(([, timer]) => timer.due <= now()).sort(([, one], [, other]) => one.due - other.due);
      for (const [id, timer] of timers) real.clearTimeout(timer.real);
      for (const [id] of due) run(id);
      for (const [id, timer] of timers) {
        real.clearTimeout(timer.real);
        start(id);
      }
    },
    /** The clock on the wall goes on; no timer does. */
    setSystemTime(time) {
      dateOffset = time - real.Date.now();
    },
  };
}

/** Keeps what Chromium writes to the console as an error, for `Page.on`. */
function keepProblems() {
  const kept = [];
  const { error } = console;
  console.error = (...given) => {
    kept.push(["console", given.map(String).join(" ")]);
    error.apply(console, given);
  };
  addEventListener("error", ({ target, message, error }) => {
    // A notice, and none of a script.
    if (message?.startsWith("ResizeObserver loop")) return;
    kept.push(target === window ? ["pageerror", String(error ?? message)] : ["console", `Failed to load resource: ${target.src ?? target.href}`]);
  }, true);
  addEventListener("unhandledrejection", ({ reason }) => kept.push(["pageerror", String(reason)]));
  document.addEventListener("securitypolicyviolation", ({ isTrusted, disposition, violatedDirective, blockedURI }) => {
    // Tests make some of their own, and Firefox asks for an icon by itself.
    if (isTrusted && disposition === "enforce" && !blockedURI.endsWith("/favicon.ico")) kept.push(["console", `The policy ${violatedDirective} refuses ${blockedURI}`]);
  });
  Object.defineProperty(window, "__problems", { value: kept });
}

/** WebKit's driver watches over scripts by a timer of the page: one that no page starts. */
export const SCRIPT_TIMEOUT_MS = 20_011;

/** A script that installs the clock. */
export const clock = (offset) => `(${installClock})(${offset}, ${SCRIPT_TIMEOUT_MS})`;
export const PROBLEMS = `(${keepProblems})()`;
