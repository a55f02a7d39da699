const VOWEL = /[aeiouy]/;
const DOUBLED = /([bdfgkmnprt])\1$/;
const LONG_ENOUGH = 4;

/**
 * A word without the endings that English gives it: `dimming`, `dims` and `dimmed` are `dim`. Light on purpose, and only for
 * plain Latin letters: words of other languages mostly stay as they are, and are changed alike wherever they stand.
 */
export function stem(word: string): string {
  if (word.length < LONG_ENOUGH || !/^[a-z]+$/.test(word)) return word;
  return withoutFinalE(withoutTense(singular(word)));
}

function singular(word: string): string {
  if (/[^aeiou]ies$/.test(word) && word.length > LONG_ENOUGH) return `${word.slice(0, -3)}y`;
  if (/(?:ss|ch|sh|x|zz)es$/.test(word)) return word.slice(0, -2);
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word;
}

function withoutTense(word: string): string {
  const [, root] = /^(.{2,}?)(?:ing|(?<!e)ed)$/.exec(word) ?? [];
  if (root === undefined || !VOWEL.test(root) || word.length <= LONG_ENOUGH) return word;
  return root.replace(DOUBLED, '$1');
}

function withoutFinalE(word: string): string {
  return word.length >= LONG_ENOUGH && /[^aeiou]e$/.test(word) ? word.slice(0, -1) : word;
}
