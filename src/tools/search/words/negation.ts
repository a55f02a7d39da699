import { folded } from './words.ts';

/** Words that say that something is not to be done, in English, German, French, Spanish, Dutch and Italian. */
const NEGATIONS =
  /\b(?:do not|dont|not to|never|no longer|must not|mustnt|shouldnt|should not|wont|avoid|nicht|nie|niemals|keine?[nmrs]?|ne \w+ (?:pas|jamais|plus)|n[ae]? ?\w+ pas|pas|no|nunca|niet|nooit|geen|non|mai)\b/;
/** Where the same words forbid nothing. */
const HARMLESS =
  /\b(?:why (?:dont|not|do not)|(?:dont|do not) (?:forget|hesitate|mind|worry)|whether or not|or not|not only|no matter|no problem|no idea|nicht vergessen|vergiss nicht|noublie pas|no olvides|niet vergeten|non dimenticare)\b/g;

/** Does the text say that something is not to be done? */
export function isForbidding(text: string): boolean {
  const plain = folded(text.toLowerCase().replace(/['’]/g, ''));
  return NEGATIONS.test(plain.replace(HARMLESS, ' '));
}
