/** Whether a number that begins with `digits` lies in one of `ranges`: prefixes, or ranges of prefixes of one length. */
export function isIn(digits: string, ranges: string): boolean {
  return ranges.split(" ").some((range) => {
    const [low = "", high = low] = range.split("-");
    const head = digits.slice(0, low.length);
    return head.length === low.length && head >= low && head <= high;
  });
}
