// All control characters but line feed and tab, C1 included, and what turns the direction of writing.
const STEERING = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Text that cannot steer the terminal that shows it: what could is written as `\u009b`, which in JSON still means the same. */
export function terminalText(text: string): string {
  return text.replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
