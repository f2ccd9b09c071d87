/**
 * What steers a terminal instead of being shown (a line's end and a tab may), or turns the direction of what follows.
 */
const STEERS = /(?!\r\n)[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * As in JSON: words of others (a receiver's answer, a registry's reason, the id of a command) are read on the terminal
 * or on a page, and never obeyed by it.
 */
export const escaped = (text: string): string =>
  text.replace(STEERS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
