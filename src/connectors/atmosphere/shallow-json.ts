import { type Json, tryParseJson } from '../../core/json.ts';

const MAX_DEPTH = 32;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Character codes of `{` and `}`. The codes of `[` and `]` become equal to them when LOWERCASE_BIT is set. */
const OPENING = 0x7b;
const CLOSING = 0x7d;
const LOWERCASE_BIT = 0x20;

/**
 * Parses JSON that is nested at most 32 levels deep; returns undefined for other texts. Deeper JSON is refused because four megabytes of
 * brackets keep a parser busy for seconds, and because recursion over the parsed value would overflow the stack.
 */
export function parseShallowJson(text: string): Json | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if ((code | LOWERCASE_BIT) === OPENING) depth++;
    else if ((code | LOWERCASE_BIT) === CLOSING) depth--;
    if (depth > MAX_DEPTH) return undefined;
  }
  return tryParseJson(text);
}

/** Returns the index of the closing quote of the string that begins at `start`; the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
}
