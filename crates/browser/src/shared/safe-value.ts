const PLAIN = /^[\p{L}\d\s#.,%()/+"'_-]{1,300}$/u;
const REACHING_OUT = /(?:url|image|set|var|env|attr)\s*\(/i;

/** Whether `value` is a plain CSS value that cannot load anything. */
export const isSafeValue = (value: string): boolean => PLAIN.test(value) && !REACHING_OUT.test(value);
