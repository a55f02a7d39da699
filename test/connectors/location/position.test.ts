import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parsePosition, roundPosition } from '../../../src/connectors/location/location-tool.ts';

const HOME = { latitude: 48.208_174, longitude: 16.373_819, accuracyM: 10 };

test('a position is rounded to the requested accuracy', () => {
  expect(roundPosition(HOME, 'precise')).toEqual(HOME);
  expect(roundPosition(HOME, 'balanced')).toEqual({ latitude: 48.208, longitude: 16.374, accuracyM: 88.7 });
  expect(roundPosition(HOME, 'coarse')).toEqual({ latitude: 48.21, longitude: 16.37, accuracyM: 797.2 });
});

test('the true place is never farther away than the accuracy says', () => {
  const metres = (degrees: number) => degrees * 111_320;
  fc.assert(
    fc.property(fc.double({ min: -90, max: 90, noNaN: true }), fc.double({ min: -180, max: 180, noNaN: true }), (latitude, longitude) => {
      for (const accuracy of ['coarse', 'balanced'] as const) {
        const told = roundPosition({ latitude, longitude, accuracyM: 0 }, accuracy);
        const north = metres(told.latitude - latitude);
        const east = metres(told.longitude - longitude) * Math.cos((latitude * Math.PI) / 180);
        expect(Math.hypot(north, east)).toBeLessThanOrEqual(told.accuracyM + 0.1);
      }
    }),
  );
});

test('a report of gpsd with a fix is a place', () => {
  const report = { class: 'TPV', mode: 3, time: '2026-03-01T12:00:00.000Z', lat: 48.2, lon: 16.4, eph: 4.5 };
  expect(parsePosition(JSON.stringify(report))).toEqual({
    latitude: 48.2,
    longitude: 16.4,
    accuracyM: 4.5,
    atMs: Date.UTC(2026, 2, 1, 12),
  });
  const { eph: _, ...older } = report;
  expect(parsePosition(JSON.stringify({ ...older, epx: 3, epy: 4 }))?.accuracyM).toBe(5);
  expect(parsePosition(JSON.stringify(older))?.accuracyM).toBe(50);
});

test('other reports, a receiver without a fix, and nonsense are none', () => {
  const none = [
    { class: 'SKY' },
    { class: 'TPV', mode: 1, lat: 1, lon: 1 },
    { class: 'TPV', mode: 2 },
    { class: 'TPV', mode: 2, lat: 95, lon: 0 },
    7,
  ];
  for (const report of none) expect(parsePosition(JSON.stringify(report))).toBeUndefined();
  expect(parsePosition('$GPGGA,1')).toBeUndefined();
});
