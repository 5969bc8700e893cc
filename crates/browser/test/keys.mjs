// Keys as WebDriver and WebDriver BiDi both write them.

const NAMED = { Backspace: "\uE003", Tab: "\uE004", Enter: "\uE007", Shift: "\uE008", Escape: "\uE00C", Space: " ", ArrowDown: "\uE015", F9: "\uE039" };

/** Each of `keys` is a character, or names such as `Tab` and `Shift+Tab`. */
export function keyActions(keys) {
  return keys.flatMap((key) => {
    const values = (key.length > 1 ? key.split("+") : [key]).map((name) => NAMED[name] ?? name);
    return [...values.map((value) => ({ type: "keyDown", value })), ...values.reverse().map((value) => ({ type: "keyUp", value }))];
  });
}
