import en from './en.json' with { type: 'json' };
import { speak, type TextTable } from './text.ts';

/** A language that the page speaks. */
interface OfferedLanguage {
  /** The language's name in itself, as a person looks for it in a list. */
  readonly name: string;
  load(): Promise<TextTable>;
}

/** All languages of the page, by their tags (BCP 47). To add one, add its file and a line here. Only the chosen one is loaded. */
export const LANGUAGES: Readonly<Record<string, OfferedLanguage>> = {
  en: { name: 'English', load: async () => en },
  de: { name: 'Deutsch', load: async () => (await import('./de.json', { with: { type: 'json' } })).default },
};
const FALLBACK = 'en';
const STORAGE_KEY = 'atmosphere-language';
const REPORTED_KEY = 'atmosphere-language-reported';

/** Where the choice of this browser is kept. */
export interface LanguageStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** Returns the language that a person chose in this browser; undefined if the browser's own languages decide. */
export function chosenLanguage(storage: LanguageStorage): string | undefined {
  const chosen = storage.getItem(STORAGE_KEY);
  return chosen !== null && Object.hasOwn(LANGUAGES, chosen) ? chosen : undefined;
}

/** Keeps the choice for this browser. Without a language, the browser's own languages decide again. It is spoken from the next load on. */
export function chooseLanguage(storage: LanguageStorage, language: string | undefined): void {
  if (language === undefined) storage.removeItem(STORAGE_KEY);
  else storage.setItem(STORAGE_KEY, language);
}

/**
 * Reports the language of the page to the hub, which then writes notices to the person in it. Reports it once for each person and language
 * of this browser; while `report` resolves with false or rejects, the next load reports it again.
 */
export async function reportLanguage(
  storage: LanguageStorage,
  { person, tag, report }: { readonly person: string; readonly tag: string; readonly report: (language: string) => Promise<boolean> },
): Promise<void> {
  const language = baseOf(tag);
  const reported = `${language} ${person}`;
  if (storage.getItem(REPORTED_KEY) === reported) return;
  const isTaken = await report(language).catch(() => false);
  if (isTaken) storage.setItem(REPORTED_KEY, reported);
}

/** Loads the language that was chosen, or else the first of `wanted` that the page has. Returns its tag with the region of `wanted`. */
export async function loadLanguage(storage: LanguageStorage, wanted: readonly string[]): Promise<string> {
  const chosen = chosenLanguage(storage) ?? wanted.map(baseOf).find((base) => Object.hasOwn(LANGUAGES, base)) ?? FALLBACK;
  const tag = wanted.find((one) => baseOf(one) === chosen) ?? chosen;
  const table = await LANGUAGES[chosen]?.load().catch(() => undefined);
  // A language that cannot be loaded, for example because the hub is away, must not keep the page from opening.
  if (table) speak(tag, table);
  return table ? tag : FALLBACK;
}

function baseOf(tag: string): string {
  return tag.split('-', 1)[0]?.toLowerCase() ?? '';
}
