import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { speak, type TextKey, type TextTable, type TextValues, text } from '../../../src/web/texts/text.ts';

const FOLDER = join(import.meta.dirname, '../../../src/web/texts');

/** The locale of the browser in which each language of the page is looked at. */
export const LOCALES = { en: 'en-GB', de: 'de-DE' } as const;
export type Spoken = keyof typeof LOCALES;
export const SPOKEN = Object.keys(LOCALES) as readonly Spoken[];

/** Returns a text of the page in a language, as the page writes it. */
export type Words = (key: TextKey, values?: TextValues) => string;

/** Returns what finds texts of the page in a language: a person finds a button by its words. */
export function wordsIn(language: Spoken): Words {
  const table = JSON.parse(readFileSync(join(FOLDER, `${language}.json`), 'utf8')) as TextTable;
  return (key, values) => {
    speak(LOCALES[language], table);
    return text(key, values);
  };
}
