import { isJsonObject, type Json } from './json.ts';

/**
 * Characters that a reader does not see, or that change how the following text looks. They are the Unicode category Other (control, format,
 * private use, unassigned, surrogates), line and paragraph separators, default-ignorable characters (variation selectors, fillers, joiners,
 * tags) and the blank Braille pattern. Line feed and tab count as visible.
 */
const HIDDEN_SET = '\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800';
const HIDDEN = new RegExp(`(?![\\n\\t])[${HIDDEN_SET}]`, 'u');
/** Matches characters beyond ASCII. This fast test comes first, because most texts are ASCII and some are long, such as base64 pictures. */
const BEYOND_ASCII = /[^\n\t\x20-\x7e]/;
const ALL_HIDDEN = new RegExp(HIDDEN, 'gu');
/** Matches invisible marks, which are deleted because they have no width. Other hidden characters may separate words and become a space. */
const UNSEEN_MARKS = /(?!\p{C})\p{Default_Ignorable_Code_Point}/gu;
const HIDDEN_RUNS = new RegExp(`(?:${HIDDEN.source})+`, 'gu');
/**
 * Matches hidden characters that writing systems need: the selector that makes a sign an emoji, the joiner between two emoji, and the
 * joiner or non-joiner between two letters, as in Persian and the languages of India.
 */
const NEEDED =
  /(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)\ufe0f|(?<=\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\ufe0f)?)\u200d(?=\p{Extended_Pictographic})|(?<=(?!\p{Script=Latin})\p{L}\p{M}*)[\u200c\u200d](?=(?!\p{Script=Latin})\p{L})/gu;

/** JSON Schema pattern of a name: one line without hidden characters, except those that writing systems need. */
export const WRITTEN_LINE = `^(?:${NEEDED.source}|[^${HIDDEN_SET}])+$`;

/** Returns whether a text contains no hidden characters. */
export function isVisible(text: string): boolean {
  return !BEYOND_ASCII.test(text) || !HIDDEN.test(text);
}

/** Returns whether a text contains no hidden characters except those that writing systems need. */
export function isWrittenVisibly(text: string): boolean {
  return isVisible(text) || isVisible(text.replace(NEEDED, ''));
}

/** Makes a text of another hub, a device or a service safe to show. Removes hidden characters and keeps at most `limit` code points. */
export function visibleText(text: string, limit = Number.POSITIVE_INFINITY): string {
  const visible = isVisible(text) ? text : text.replace(UNSEEN_MARKS, '').replace(HIDDEN_RUNS, ' ');
  return visible.length <= limit ? visible : [...visible].slice(0, limit).join('');
}

/** Returns a text like `visibleText`, for a name, a title or a label: one line, with single spaces, in Unicode form NFC. */
export function visibleLine(text: string, limit: number): string {
  const line = visibleText(text)
    .normalize('NFC')
    .replace(/[\s\p{Z}]+/gu, ' ')
    .trim();
  return line.length <= limit ? line : [...line].slice(0, limit).join('').trim();
}

/** Matches hidden characters without width. `givenName` deletes them, so that names which differ only in them become equal. */
const ROOMLESS = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** Returns a name as it is stored: one line of visible characters. The result is empty if the name has no visible character. */
export function givenName(text: string, limit = 64): string {
  return visibleLine(isVisible(text) ? text : text.replace(ROOMLESS, ''), limit);
}

// Matches all characters except letters, digits and plain punctuation. Quotes, brackets and other marks could end a quotation or look like
// markup or a link.
const NOT_PLAIN = /[^\p{L}\p{N}\p{Zs} .,:;!?+\-–/'’&()#°%_]/gu;

/** Returns text of a device or person in quotation marks: one line, at most 64 characters, without quotation marks inside. */
export function quoted(text: string): string {
  return `"${plain(text)}"`;
}

/** Returns text like `quoted`, without the quotation marks. */
export function plain(text: string): string {
  const clean = visibleText(text)
    .replace(NOT_PLAIN, '')
    .replace(/\/{2,}/g, '/')
    .replace(/\s+/g, ' ')
    .trim();
  return [...clean].slice(0, 64).join('').trim();
}

/** Applies `visibleText` to all texts and member names in JSON from another hub or a device, and returns the result. */
export function visibleJson(value: Json): Json {
  return mapTexts(value, visibleText);
}

/** Returns the text with hidden characters written like `\u{e0041}`, so that two different texts never look equal. */
export function escapeAllHidden(text: string): string {
  return text.replace(ALL_HIDDEN, codeOf);
}

/**
 * Returns JSON for a model, with hidden characters written like `\u{e0041}`. So the model and a person read the same text, and nothing is
 * lost. Hidden characters that writing systems need stay unchanged.
 */
export function escapeHidden(value: Json): Json {
  return mapTexts(value, (text) => withHiddenAs(text, codeOf));
}

/** Makes a text safe for a terminal. A hidden character becomes an escape such as `\u009b`, which JSON parsers read as that character. */
export function terminalText(text: string): string {
  return withHiddenAs(text, escapesOf);
}

function withHiddenAs(text: string, code: (hidden: string) => string): string {
  if (isWrittenVisibly(text)) return text;
  const kept = new Set(Array.from(text.matchAll(NEEDED), ({ index }) => index));
  return text.replace(ALL_HIDDEN, (hidden, index: number) => (kept.has(index) ? hidden : code(hidden)));
}

function codeOf(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function escapesOf(character: string): string {
  return Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
}

function mapTexts(value: Json, map: (text: string) => string): Json {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((item: Json) => mapTexts(item, map));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [map(name), mapTexts(item, map)]));
}
