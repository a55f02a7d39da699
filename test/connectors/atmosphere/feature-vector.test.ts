import { expect, test } from 'vitest';
import { featureVector } from '../../../src/connectors/atmosphere/announcement.ts';

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);

test('a text is a vector of 768 numbers and length 1, the same each time', () => {
  const vector = featureVector('Turns the hall lamp on');
  expect(vector).toHaveLength(768);
  expect(dot(vector, vector)).toBeCloseTo(1, 2);
  expect(featureVector('turns THE hall, lamp on!')).toEqual(vector);
});

test('texts with the same words are near, others are not', () => {
  const lamp = featureVector('Turns the hall lamp on');
  expect(dot(lamp, featureVector('Turns the hall lamp off'))).toBeGreaterThan(0.6);
  expect(dot(lamp, featureVector('Wetterbericht für morgen'))).toBeLessThan(0.3);
});

test('a text without words has a direction too: peers divide by the length', () => {
  expect(dot(featureVector(''), featureVector(''))).toBeCloseTo(1, 2);
});
