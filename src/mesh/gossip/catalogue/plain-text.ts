/** All control characters but line feed and tab, C1 included, and what turns the direction of writing or does not show. */
const STEERING = /(?![\n\t])[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;
const ALL_STEERING = new RegExp(STEERING, 'gu');

/** True for text without characters that steer a terminal or mislead a reader. */
export function isPlainText(text: string): boolean {
  return !STEERING.test(text);
}

/** Text of another hub, fit to be shown: such characters become spaces, and at most `limit` code points remain. */
export function plainText(text: string, limit: number): string {
  if (text.length <= limit && isPlainText(text)) return text;
  return [...text.replace(ALL_STEERING, ' ')].slice(0, limit).join('');
}
