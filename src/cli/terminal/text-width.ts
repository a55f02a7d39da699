const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Matches a character that is two columns wide: East Asian Width W or F (Unicode Standard Annex #11). */
const WIDE =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f1e6}-\u{1f1ff}\u{20000}-\u{3fffd}]/u;
const PICTURE = /^\p{Emoji_Presentation}|^\p{Emoji}\ufe0f/u;
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const ASCII = /^[\x20-\x7e]*$/;

/** Returns how many terminal columns a line needs. A wide character or emoji needs two columns, a combining character needs none. */
export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  return graphemesOf(text).reduce((width, grapheme) => width + graphemeWidth(grapheme), 0);
}

/** Returns the text in at most `columns` columns. A text that was cut ends in `…`. */
export function cutText(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const grapheme of graphemesOf(text)) {
    width += graphemeWidth(grapheme);
    if (width > columns - 1) break;
    kept += grapheme;
  }
  return columns > 0 ? `${kept.trimEnd()}…` : '';
}

/** Returns the text filled with spaces up to `columns` columns. */
export function padText(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - textWidth(text)));
}

/** Returns the text in lines of at most `columns` columns. Lines break between words. A word that is longer than a line is broken too. */
export function wrapText(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((long) => wordPieces(long, columns))) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (textWidth(longer) <= columns) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

function wordPieces(word: string, columns: number): readonly string[] {
  if (textWidth(word) <= columns) return [word];
  const pieces: string[] = [];
  let piece = '';
  for (const grapheme of graphemesOf(word)) {
    if (piece !== '' && textWidth(piece + grapheme) > columns) {
      pieces.push(piece);
      piece = '';
    }
    piece += grapheme;
  }
  return [...pieces, piece];
}

function graphemesOf(text: string): readonly string[] {
  return Array.from(GRAPHEMES.segment(text), ({ segment }) => segment);
}

function graphemeWidth(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  return WIDE.test(grapheme) || PICTURE.test(grapheme) ? 2 : 1;
}
