import { describe, expect, test } from 'vitest';
import { compoundParts } from '../../../src/tools/search/lexicon.ts';
import { splitName, stem, wordsOf } from '../../../src/tools/search/words.ts';

const textsOf = (text: string) => wordsOf(text).map((word) => word.text);
const partsOf = (text: string) =>
  wordsOf(text)
    .flatMap(compoundParts)
    .map((part) => part.text);

describe('words', () => {
  test('lose marks and case, and know both spellings of umlauts', () => {
    expect(textsOf("Anna's Küchen-Lampe, 2. Straße")).toEqual(['anna', 'kuchen', 'lampe', '2', 'strasse']);
    expect(wordsOf('Küche')[0]).toEqual({ text: 'kuche', stem: 'kuch', variant: 'kuech' });
    expect(textsOf('Łazienka øst Żyrandol')).toEqual(['lazienka', 'ost', 'zyrandol']);
  });

  test('of scripts without spaces are pairs of characters', () => {
    expect(textsOf('寝室の灯')).toEqual(['寝室', '室の', 'の灯']);
    expect(textsOf('灯 on')).toEqual(['灯', 'on']);
    expect(textsOf('거실의')).toEqual(['거실', '실의']);
  });

  test('of type names are taken apart', () => {
    expect(splitName('DimmableLight OnOffPlugInUnit SmokeCOAlarm')).toBe('Dimmable Light On Off Plug In Unit Smoke CO Alarm');
  });

  test.each([
    ['lights', 'light'],
    ['batteries', 'battery'],
    ['switches', 'switch'],
    ['dimming', 'dim'],
    ['dimmed', 'dim'],
    ['closed', 'clos'],
    ['close', 'clos'],
  ])('of English lose their endings: %s', (word, expected) => expect(stem(word)).toBe(expected));

  test.each(['haus', 'ring', 'gris', 'bus', 'bed', 'wohnung', 'кухни', '寝室'])('of other languages stay: %s', (word) =>
    expect(stem(word)).toBe(word),
  );

  test('that are joined are taken apart where they end with a thing of a home', () => {
    expect(partsOf('Wohnzimmerlampe')).toEqual(['wohnzimmer', 'lampe']);
    expect(partsOf('Küchenlampe')).toEqual(['kuch', 'lampe']);
    expect(partsOf('Flurlicht')).toEqual(['flur', 'licht']);
    expect(partsOf('dishwasher bathroom table')).toEqual([]);
  });
});
