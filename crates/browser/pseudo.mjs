// Languages that nobody speaks, made of English, to see what other languages do to a page: words half as long again, and letters with marks
// above and below. A placeholder stays as it is.

const ACCENTED = Object.fromEntries([..."aeiouyAEIOUYcnsCNS"].map((letter, i) => [letter, [..."áéíóúýÁÉÍÓÚÝçñšÇÑŠ"][i]]));
/** How much longer a text becomes, without the brackets that show where it is cut. */
const FACTOR = 1.5;

/** Changes a text, and leaves its placeholders alone. */
const between = (text, change) => text.split(/(\{\w+\})/).map((part, i) => (i % 2 === 0 ? change(part) : part)).join("");

/** Each vowel twice, so that words grow and not only lines; then a last word for what is missing. */
function longer(text) {
  const grown = between(text, (part) => part.replace(/[a-z]/gi, (letter) => (ACCENTED[letter] ?? letter).repeat(/[aeiou]/i.test(letter) ? 2 : 1)));
  let missing = Math.ceil(text.length * FACTOR) - grown.length;
  let more = "";
  for (; missing > 0; missing -= 1) more += more.length % 17 === 0 ? " " : "ö";
  return `[${(grown + more).trimEnd()}]`;
}

/** As tall as letters of any script get: two marks above each, one below. */
const taller = (text) => between(text, (part) => part.replace(/[a-z]/gi, (letter) => `${letter}\u0302\u0301\u0323`));

/** By their tags, whose country no country has: "en-XA" is long, "en-XC" has combining marks. */
export function pseudoLocales(english) {
  const made = (change) => Object.fromEntries(Object.entries(english).map(([key, text]) => [key, change(text)]));
  return { "en-XA": made(longer), "en-XC": made(taller) };
}
