import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { chooseLanguage, LANGUAGES, loadLanguage, reportLanguage } from '../../../src/web/texts/language.ts';
import { hasText, languageTag, speak, type TextKey, type TextTable, text, textWith } from '../../../src/web/texts/text.ts';

const FOLDER = join(import.meta.dirname, '../../../src/web/texts');
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
const tables = new Map(files.map((name) => [basename(name, '.json'), JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as TextTable]));
const english = tables.get('en') ?? {};

/** Every text of a language by its name, with all its forms. */
function formsOf(table: TextTable): ReadonlyMap<string, readonly string[]> {
  return new Map(
    Object.entries(table).flatMap(([section, texts]) =>
      Object.entries(texts).map(([name, entry]): [string, readonly string[]] => [
        `${section}.${name}`,
        typeof entry === 'string' ? [entry] : Object.values(entry),
      ]),
    ),
  );
}

function placesOf(form: string): readonly string[] {
  return [...new Set([...form.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? ''))].toSorted();
}

/** The places of all forms together: `1 lamp` needs no `{count}`. */
function allPlaces(forms: readonly string[]): readonly string[] {
  return [...new Set(forms.flatMap(placesOf))].toSorted();
}

afterEach(() => speak('en', english));

describe.each([...tables])('the texts of %s', (tag, table) => {
  test('have exactly the names of the English ones', () => {
    expect([...formsOf(table).keys()].toSorted()).toEqual([...formsOf(english).keys()].toSorted());
  });

  test('have the same places for values', () => {
    const wanted = formsOf(english);
    for (const [key, forms] of formsOf(table)) {
      expect.soft({ key, places: allPlaces(forms) }).toEqual({ key, places: allPlaces(wanted.get(key) ?? []) });
    }
  });

  test('have the plural forms that the language needs, where English has them', () => {
    const needed = new Intl.PluralRules(tag).resolvedOptions().pluralCategories;
    for (const [section, texts] of Object.entries(english)) {
      for (const [name, entry] of Object.entries(texts)) {
        if (typeof entry === 'string') continue;
        const own = table[section]?.[name];
        expect.soft(Object.keys(typeof own === 'object' ? own : {}), `${section}.${name}`).toEqual(expect.arrayContaining(needed));
      }
    }
  });

  test('are no empty texts, and have no blank at an end', () => {
    for (const [key, forms] of formsOf(table)) for (const form of forms) expect.soft(form.trim() === form && form !== '', key).toBe(true);
  });

  test('are offered in the list of languages', () => {
    expect(Object.keys(LANGUAGES)).toContain(tag);
  });
});

test('every text is used somewhere in the page', () => {
  const pages = join(FOLDER, '..');
  const sources = readdirSync(pages, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const code = sources.map((name) => readFileSync(join(pages, name), 'utf8')).join('\n');
  // `section.${kind}` and `section.kind_${kind}` use every text that begins so.
  const prefixes = [...code.matchAll(/`(\w+\.\w*)\$\{/g)].map(([, prefix]) => prefix ?? '');
  const unused = [...formsOf(english).keys()].filter(
    (key) => !key.endsWith('.title') && !code.includes(`'${key}'`) && !prefixes.some((prefix) => key.startsWith(prefix)),
  );
  expect(unused).toEqual([]);
});

describe('a text', () => {
  const table: TextTable = {
    home: { lamps: { one: 'one lamp of {room}', other: '{count} lamps of {room}' }, plain: 'Costs {price}, not {price}.' },
  };
  const LAMPS = 'home.lamps' as TextKey;
  const PLAIN = 'home.plain' as TextKey;

  test('takes the plural form of its count, and writes numbers as the language does', () => {
    speak('en', table);
    expect(text(LAMPS, { count: 1, room: 'the hall' })).toBe('one lamp of the hall');
    expect(text(LAMPS, { count: 1200, room: 'the hall' })).toBe('1,200 lamps of the hall');
    speak('de', table);
    expect(text(LAMPS, { count: 1200, room: 'the hall' })).toBe('1.200 lamps of the hall');
    expect(languageTag()).toBe('de');
  });

  test('fills every place once, and never the places in a value', () => {
    speak('en', table);
    expect(text(PLAIN, { price: '{price}' })).toBe('Costs {price}, not {price}.');
    expect(text(PLAIN)).toBe('Costs {price}, not {price}.');
  });

  test('keeps templates as they are', () => {
    speak('en', table);
    const price = { template: true };
    expect(textWith(PLAIN, { price })).toEqual(['Costs ', price, ', not ', price, '.']);
  });

  test('is known by its name only', () => {
    expect(hasText('home.title')).toBe(true);
    expect(hasText('home.no such text')).toBe(false);
    expect(hasText('constructor.name')).toBe(false);
  });
});

describe('the language', () => {
  const storage = () => {
    const kept = new Map<string, string>();
    return {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    };
  };

  test('is the first one of the browser that the page has, with its region', async () => {
    expect(await loadLanguage(storage(), ['fr-FR', 'de-AT', 'en'])).toBe('de-AT');
    expect(text('home.title')).toBe('Zuhause');
    expect(await loadLanguage(storage(), ['fr'])).toBe('en');
    expect(text('home.title')).toBe('Home');
  });

  test('is the chosen one until the choice is taken back', async () => {
    const kept = storage();
    chooseLanguage(kept, 'de');
    expect(await loadLanguage(kept, ['en-GB'])).toBe('de');
    chooseLanguage(kept, undefined);
    expect(await loadLanguage(kept, ['en-GB'])).toBe('en-GB');
    kept.setItem('atmosphere-language', 'constructor');
    expect(await loadLanguage(kept, ['en-GB'])).toBe('en-GB');
  });

  test('is reported to the hub once for each person, and again when it changes or the hub did not take it', async () => {
    const kept = storage();
    const reported: string[] = [];
    let isAway = true;
    const report = async (language: string) => {
      if (isAway) throw new Error('away');
      reported.push(language);
      return true;
    };
    await reportLanguage(kept, { person: 'ann', tag: 'de-AT', report });
    isAway = false;
    for (const tag of ['de-AT', 'de', 'en-GB']) await reportLanguage(kept, { person: 'ann', tag, report });
    await reportLanguage(kept, { person: 'bob', tag: 'en', report });
    expect(reported).toEqual(['de', 'en', 'en']);
  });

  test('of a child, who gets no notices, is reported once the child has become an adult', async () => {
    const kept = storage();
    let isAdult = false;
    const reported: string[] = [];
    const report = async (language: string) => {
      if (isAdult) reported.push(language);
      return isAdult;
    };
    await reportLanguage(kept, { person: 'eve', tag: 'de', report });
    isAdult = true;
    for (let load = 0; load < 2; load++) await reportLanguage(kept, { person: 'eve', tag: 'de', report });
    expect(reported).toEqual(['de']);
  });
});
