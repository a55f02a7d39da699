import { afterEach, expect, test } from 'vitest';
import { DEVICE_FAMILIES, kindInWords } from '../../../src/web/pages/tokens.ts';
import de from '../../../src/web/texts/de.json' with { type: 'json' };
import en from '../../../src/web/texts/en.json' with { type: 'json' };
import { speak } from '../../../src/web/texts/text.ts';

afterEach(() => speak('en', en));

test('every kind of devices is shown in the language of the page, and an unknown one as it is', () => {
  expect(['light', 'lock', 'dimmable_light'].map(kindInWords)).toEqual(['Light', 'Lock', 'dimmable_light']);
  speak('de', de);
  expect(['light', 'lock', 'dimmable_light'].map(kindInWords)).toEqual(['Licht', 'Schloss', 'dimmable_light']);
  for (const kind of DEVICE_FAMILIES) expect(kindInWords(kind)).not.toBe(kind);
});
