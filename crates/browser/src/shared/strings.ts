export type Strings = Readonly<Record<string, string>>;

/** The text for `key` with its `{placeholders}` filled. A missing key shows itself: the parity test keeps that from shipping. */
export function say(strings: Strings, key: string, values: Readonly<Record<string, string>> = {}): string {
  return (strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
