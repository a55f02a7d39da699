import { isJsonObject, type Json } from './json.ts';

/**
 * Everything that a reader does not see in a text, or that changes how the rest of it looks: all of the Unicode category Other
 * (control, format, private use, unassigned, halves of surrogate pairs), line and paragraph separators, characters that are ignored
 * where they cannot be shown (variation selectors, fillers, joiners, the tag block), and the blank Braille pattern. Line feed and tab
 * are seen.
 */
const HIDDEN_SET = '\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800';
const HIDDEN = new RegExp(`(?![\\n\\t])[${HIDDEN_SET}]`, 'u');
/** Most texts are ASCII, and base64 of a picture is long. */
const BEYOND_ASCII = /[^\n\t\x20-\x7e]/;
const ALL_HIDDEN = new RegExp(HIDDEN, 'gu');
/** Marks that are not seen take no room; what else is hidden may have stood between words. */
const UNSEEN_MARKS = /(?!\p{C})\p{Default_Ignorable_Code_Point}/gu;
const HIDDEN_RUNS = new RegExp(`(?:${HIDDEN.source})+`, 'gu');
/**
 * Hidden characters that writing needs: one that says that a sign is a picture, one that joins two pictures, and one between two
 * letters, which Persian and the languages of India write with it.
 */
const NEEDED =
  /(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)\ufe0f|(?<=\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\ufe0f)?)\u200d(?=\p{Extended_Pictographic})|(?<=(?!\p{Script=Latin})\p{L}\p{M}*)[\u200c\u200d](?=(?!\p{Script=Latin})\p{L})/gu;

/** Pattern of JSON Schema for one line without hidden characters, those apart that writing needs: what people call something. */
export const WRITTEN_LINE = `^(?:${NEEDED.source}|[^${HIDDEN_SET}])+$`;

/** True for text in which a reader sees every character. */
export function isVisible(text: string): boolean {
  return !BEYOND_ASCII.test(text) || !HIDDEN.test(text);
}

/** True also for text with the hidden characters that pictures and the scripts of Asia are written with. */
export function isWrittenVisibly(text: string): boolean {
  return isVisible(text) || isVisible(text.replace(NEEDED, ''));
}

/** Text of another hub, a device or a service as it may be shown: without hidden characters, at most `limit` code points. */
export function visibleText(text: string, limit = Number.POSITIVE_INFINITY): string {
  const visible = isVisible(text) ? text : text.replace(UNSEEN_MARKS, '').replace(HIDDEN_RUNS, ' ');
  return visible.length <= limit ? visible : [...visible].slice(0, limit).join('');
}

/** The same as one line, white space folded and composed as NFC: a name, a title, a label. */
export function visibleLine(text: string, limit: number): string {
  const line = visibleText(text)
    .normalize('NFC')
    .replace(/[\s\p{Z}]+/gu, ' ')
    .trim();
  return line.length <= limit ? line : [...line].slice(0, limit).join('').trim();
}

/** Of what is hidden, the characters that take no room: where two names differ in them alone, they are one name. */
const ROOMLESS = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** What people call something, as it is kept: one line of what a reader sees. Empty where nobody would see anything. */
export function givenName(text: string, limit = 64): string {
  return visibleLine(isVisible(text) ? text : text.replace(ROOMLESS, ''), limit);
}

// Letters, digits and plain punctuation: no quotes, brackets or marks that could end a quotation or look like markup or a link.
const NOT_PLAIN = /[^\p{L}\p{N}\p{Zs} .,:;!?+\-–/'’&()#°%_]/gu;

/** Text from a device or a person, quoted for use inside a description: one line, at most 64 characters, nothing that ends the quotation. */
export function quoted(text: string): string {
  return `"${plain(text)}"`;
}

/** The same without the quotation marks. */
export function plain(text: string): string {
  const clean = visibleText(text)
    .replace(NOT_PLAIN, '')
    .replace(/\/{2,}/g, '/')
    .replace(/\s+/g, ' ')
    .trim();
  return [...clean].slice(0, 64).join('').trim();
}

/** JSON of another hub or a device with all its texts, names of members too, as `visibleText`. */
export function visibleJson(value: Json): Json {
  return mapTexts(value, visibleText);
}

/** The text with every hidden character as `\u{e0041}`: two texts that are not the same never look it. */
export function escapeAllHidden(text: string): string {
  return text.replace(ALL_HIDDEN, codeOf);
}

/**
 * JSON for a model that reads it beside a person: hidden characters are written as `\u{e0041}`, so that both read the same, and nothing
 * is lost. Those that writing needs stay.
 */
export function escapeHidden(value: Json): Json {
  return mapTexts(value, (text) => withHiddenAs(text, codeOf));
}

/** Text that cannot steer the terminal that shows it: the same, with `\u009b`, which in JSON still means the hidden character. */
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
