import { describe, expect, test } from 'vitest';
import { ageWords, countdown, numberWords, readingName, typeWords, valueWords } from '../../../src/web/components/formatting.ts';

const NOW = Date.parse('2026-05-03T12:00:00.000Z');
const ago = (ageMs: number): string => new Date(NOW - ageMs).toISOString();

describe('texts for people', () => {
  test('have the age of a time', () => {
    expect([null, ago(0), ago(42_000), ago(150_000), ago(7_300_000), ago(260_000_000)].map((at) => ageWords(at, NOW))).toEqual([
      'unknown',
      'just now',
      '42 sec. ago',
      '2 min. ago',
      '2 hr. ago',
      '3 days ago',
    ]);
    expect(ageWords(new Date(NOW + 5_000).toISOString(), NOW)).toBe('just now');
  });

  test('count down to zero', () => {
    expect([544_000, 59_001, -1].map((leftMs) => countdown(new Date(NOW + leftMs).toISOString(), NOW))).toEqual(['9:04', '1:00', '0:00']);
  });

  test('have values without underscores, with significant digits only', () => {
    expect([null, true, 'door_closed', 21.456, 0.0541, ['a', 1], { rgb_red: 3 }].map((value) => valueWords(value))).toEqual([
      '–',
      'yes',
      'Door closed',
      '21.5',
      '0.054',
      'a, 1',
      'rgb red 3',
    ]);
    expect(numberWords(1013.25)).toBe('1,013');
  });

  test('have names for readings and Matter types', () => {
    expect(['is_on', 'co2', 'heating_setpoint'].map(readingName)).toEqual(['On', 'CO₂', 'Heating setpoint']);
    expect(typeWords('ColorTemperatureLight')).toBe('Color temperature light');
    expect([typeWords('Cluster0xfff1fc01'), typeWords('Attr0xfff10002')]).toEqual(['Vendor 1', 'Attribute 2']);
  });
});
