import { type TextKey, text } from '../texts/text.ts';
import type { Problem } from './automation-draft.ts';
import { durationWords } from './automation-words.ts';

/** What the hub says about a mistake in an automation, with the text of the page for it. The groups are the values of the text. */
const SAID: readonly (readonly [RegExp, TextKey])[] = [
  [/^Parameter "[^"]*" is missing/, 'form.fill_in'],
  [/^Parameter "[^"]*" is too small/, 'mistake.too_small'],
  [/^Parameter "[^"]*" is too large/, 'mistake.too_large'],
  [/^Parameter "[^"]*" has to be a whole number/, 'mistake.whole_number'],
  [/^Parameter "[^"]*" has to be /, 'mistake.wrong_type'],
  [/^Parameter "[^"]*" is not one of the allowed values/, 'mistake.wrong_choice'],
  [/^Parameter "[^"]*" does not have the required form/, 'mistake.wrong_form'],
  [/^Parameter "[^"]*" must not have fewer than (?<count>\d+) items/, 'mistake.too_few'],
  [/^Parameter "[^"]*" must not have more than (?<count>\d+) items/, 'mistake.too_many'],
  [/^Parameter "[^"]*" must not have fewer than (?<count>\d+) characters/, 'mistake.too_short'],
  [/^Parameter "[^"]*" must not have more than (?<count>\d+) characters/, 'mistake.too_long'],
  [/^Parameter "[^"]*" is not known/, 'mistake.unknown_member'],
  [/^No sensor fits "(?<id>[^"]*)"/, 'mistake.no_sensor'],
  [/no sensor "(?<id>[^"]*)"/, 'mistake.no_sensor'],
  [/(?:There is| it) no device "(?<id>[^"]*)"/, 'mistake.no_device'],
  [/: There is no tool "(?<id>[^"]*)"/, 'mistake.no_tool'],
];
const OUT_OF_RANGE =
  /is too (?:small|large); allowed: (?:(?<low>[\d.-]+) to (?<high>[\d.-]+)|at least (?<least>[\d.-]+)|at most (?<most>[\d.-]+))(?<unit> \S+)?$/;

/** Returns a mistake at its field in the form. What this page has no words for is said in those of the hub. */
export function mistakeWords({ pointer, message }: Pick<Problem, 'pointer' | 'message'>): string {
  const [found, key] = SAID.map(([form, one]) => [form.exec(message), one] as const).find(([match]) => match) ?? [];
  if (!found || !key) return message;
  const { count, ...values } = found.groups ?? {};
  return withRange(text(key, { ...values, ...(count !== undefined && { count: Number(count) }) }), { pointer, message });
}

function withRange(words: string, { pointer, message }: Pick<Problem, 'pointer' | 'message'>): string {
  const { low, high, least, most, unit = '' } = OUT_OF_RANGE.exec(message)?.groups ?? {};
  const amount = (limit: string) => (pointer.endsWith('seconds') ? durationWords(Number(limit)) : `${limit}${unit}`);
  if (low !== undefined && high !== undefined) return text('mistake.range', { words, low: amount(low), high: amount(high) });
  if (least !== undefined) return text('mistake.least', { words, low: amount(least) });
  return most === undefined ? words : text('mistake.most', { words, high: amount(most) });
}

/** Returns a mistake at its line in the text, where the name of the member is not beside it. */
export function namedMistakeWords(problem: Pick<Problem, 'pointer' | 'message'>): string {
  const words = mistakeWords(problem);
  const name = problem.pointer.split('/').findLast((key) => key !== '' && !/^\d+$/.test(key));
  return words === problem.message || name === undefined ? words : text('mistake.named', { name, words });
}
