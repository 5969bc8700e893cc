/** How many digits the longest of `prefixes` has by which `digits` begin: "36", or a range of prefixes of one length as "300-305". 0 where none fits. */
export function longestPrefix(digits: string, prefixes: readonly string[]): number {
  let longest = 0;
  for (const prefix of prefixes) {
    const [low = "", high = low] = prefix.split("-");
    const head = digits.slice(0, low.length);
    if (low.length > longest && head.length === low.length && head >= low && head <= high) longest = low.length;
  }
  return longest;
}
