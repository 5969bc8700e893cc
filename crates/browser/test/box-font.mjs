// A font of which every character is a box, of half an em and as high as a letter. What is drawn with it is the same on every machine: fonts, and what makes
// pixels of them, differ; places, sizes and colours do not.

const EM = 1000;
const [ADVANCE, ASCENT, DESCENT] = [500, 800, 200];
/** Left, bottom, right, top of the box. */
const BOX = [50, 0, 450, 700];

/** Numbers one after the other: `B`, `H`, `h`, `I`, `q` are unsigned bytes, unsigned and signed words, long words, and a date, all big-endian. */
function packed(kinds, ...values) {
  const size = { B: 1, H: 2, h: 2, I: 4, q: 8 };
  const bytes = Buffer.alloc([...kinds].reduce((sum, kind) => sum + size[kind], 0));
  let at = 0;
  for (const [index, kind] of [...kinds].entries()) {
    const value = values[index];
    if (kind === "B") bytes.writeUInt8(value, at);
    else if (kind === "H") bytes.writeUInt16BE(value, at);
    else if (kind === "h") bytes.writeInt16BE(value, at);
    else if (kind === "I") bytes.writeUInt32BE(value, at);
    else bytes.writeBigInt64BE(BigInt(value), at);
    at += size[kind];
  }
  return bytes;
}

const [left, bottom, right, top] = BOX;
/** One contour of four points on the curve; the points are differences. */
const box = packed("hhhhhHHBBBBhhhhhhhhB", 1, left, bottom, right, top, 3, 0, 1, 1, 1, 1, left, 0, right - left, 0, bottom, top - bottom, 0, bottom - top, 0);

/** From, to, glyph: format 13 of a character map has many characters for one glyph. Spaces are empty. Without the forms of Arabic letters
 * (from U+FB50 on) nobody makes ligatures of them. */
const CHARACTERS = [[0x20, 0x20, 1], [0x21, 0x9f, 2], [0xa0, 0xa0, 1], [0xa1, 0x1fff, 2], [0x2000, 0x200f, 1], [0x2010, 0x2029, 2], [0x202a, 0x202f, 1], [0x2030, 0x2065, 2], [0x2066, 0x2069, 1], [0x206a, 0xfaff, 2]];
const map = Buffer.concat([packed("HHIII", 13, 0, 16 + 12 * CHARACTERS.length, 0, CHARACTERS.length), ...CHARACTERS.map((group) => packed("III", ...group))]);

/** The name table needs a name; it is ASCII in UTF-16. */
const name = Buffer.from("Box", "utf16le").swap16();

const TABLES = {
  "OS/2": packed("HhHHHhhhhhhhhhhhBBBBBBBBBBIIIIIHHHhhhHHIIhhHHH", 4, ADVANCE, 400, 5, 0, 650, 600, 0, 75, 650, 600, 0, 350, 50, 300, 0, ...Array(10).fill(0), 1, 0, 0, 0, 0x426f7820, 0x40, 0x20, 0xfaff, ASCENT, -DESCENT, 0, ASCENT, DESCENT, 1, 0, 500, top, 0, 0x20, 1),
  cmap: Buffer.concat([packed("HHHHI", 0, 1, 3, 10, 12), map]),
  glyf: Buffer.concat([box, Buffer.alloc((4 - (box.length % 4)) % 4)]),
  head: packed("HHIIIHHqqhhhhHHhhh", 1, 0, 0x10000, 0, 0x5f0f3cf5, 3, EM, 0, 0, left, bottom, right, top, 0, 8, 2, 1, 0),
  hhea: packed("HHhhhHhhhhhhhhhhhH", 1, 0, ASCENT, -DESCENT, 0, ADVANCE, 0, 0, right, 1, 0, 0, 0, 0, 0, 0, 0, 3),
  hmtx: packed("HhHhHh", ADVANCE, 0, ADVANCE, 0, ADVANCE, left),
  loca: packed("IIII", 0, 0, 0, Math.ceil(box.length / 4) * 4),
  maxp: packed("IHHHHHHHHHHHHHH", 0x10000, 3, 4, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0),
  name: Buffer.concat([packed("HHHHHHHHH", 0, 1, 18, 3, 1, 0x409, 1, name.length, 0), name]),
  post: packed("IIhhIIIII", 0x30000, 0, -100, 50, 1, 0, 0, 0, 0),
};

function checksum(bytes) {
  const padded = Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
  let sum = 0;
  for (let at = 0; at < padded.length; at += 4) sum = (sum + padded.readUInt32BE(at)) >>> 0;
  return sum;
}

/** The font as a TrueType file. */
export function boxFont() {
  const entries = Object.entries(TABLES);
  let offset = 12 + 16 * entries.length;
  const directory = [packed("IHHHH", 0x10000, entries.length, 128, 3, 16 * entries.length - 128)];
  const bodies = [];
  for (const [tag, bytes] of entries) {
    directory.push(Buffer.from(tag, "latin1"), packed("III", checksum(bytes), offset, bytes.length));
    const padding = Buffer.alloc((4 - (bytes.length % 4)) % 4);
    bodies.push(bytes, padding);
    offset += bytes.length + padding.length;
  }
  return Buffer.concat([...directory, ...bodies]);
}
