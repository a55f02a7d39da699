import { isHomeWord } from './lexicon.ts';
import { STOP_WORDS } from './stop-words.ts';
import { wordsOf } from './words.ts';

/** Languages whose words the lexicon has. */
const KNOWN = 'English, German, French, Spanish, Dutch and Italian';
const FEWEST_WORDS = 3;
/** Of the words of a sentence, where less than this is known it is in another language. */
const KNOWN_SHARE = 0.2;

/**
 * What to say of a sentence that is in no language that is known here; undefined where it is in one. `isName` tells whether a term
 * stands somewhere in the home.
 */
export function unknownLanguage(text: string, isName: (term: string) => boolean): string | undefined {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  const foreign = text.match(/(?!\p{sc=Latin})\p{L}/gu)?.length ?? 0;
  const words = wordsOf(text).filter(({ text: word }) => !/^\d+$/.test(word));
  const known = words.filter(({ text: word, stem }) => STOP_WORDS.has(word) || isHomeWord(stem) || isName(stem)).length;
  const isForeign = letters > 0 && foreign > letters / 2;
  if (!isForeign && (words.length < FEWEST_WORDS || known / words.length >= KNOWN_SHARE)) return undefined;
  return `This language is not known here: the search reads ${KNOWN}, and in any language the names of devices and rooms`;
}
