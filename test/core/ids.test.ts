import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDeviceId, parseSensorId } from '../../src/core/devices/device-names.ts';
import { slug } from '../../src/core/ids.ts';

test('a slug keeps Latin letters and digits, and spells umlauts out', () => {
  expect(slug('Küche – Lampe №2', '_')).toBe('kueche_lampe_no2');
  expect(slug('Crème brûlée', '-')).toBe('creme-brulee');
  expect(slug('  --Living  Room!! ', '-')).toBe('living-room');
  expect(slug('客厅', '_')).toBe('');
});

test('a slug of any text is made of words joined by the separator alone', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => /^([a-z0-9]+(_[a-z0-9]+)*)?$/.test(slug(text, '_'))));
});

test('ids of the wrong form are refused with the form', () => {
  expect(parseDeviceId('kitchen-light')).toBe('kitchen-light');
  expect(parseSensorId('kitchen-light/power')).toBe('kitchen-light/power');
  for (const bad of ['', 'Kitchen', '-x', 'a b', 'x'.repeat(65), '../x']) {
    expect(() => parseDeviceId(bad)).toThrow(/not of the form/);
    expect(() => parseSensorId(bad)).toThrow(/not of the form/);
  }
});
