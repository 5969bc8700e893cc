const PLAIN = /^[\p{L}\d\s#.,%()/+"'_-]{1,300}$/u;
const REACHING_OUT = /(?:url|image|set|var|env|attr)\s*\(/i;

/** Whether `value` is a plain CSS value that cannot load anything. */
export const isSafeValue = (value: unknown): value is string => typeof value === "string" && PLAIN.test(value) && !REACHING_OUT.test(value);
