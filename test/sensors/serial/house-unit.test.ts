import { expect, test } from 'vitest';
import { storedUnit } from '../../../src/sensors/serial/serial-source.ts';

test.each([
  ['°F', 212, 100, '°C'],
  ['K', 0, -273.15, '°C'],
  ['Pa', 101_325, 1013.25, 'hPa'],
  ['kPa', 101.325, 1013.25, 'hPa'],
  ['bar', 1, 1000, 'hPa'],
  ['psi', 1, 68.948, 'hPa'],
  ['mV', 3300, 3.3, 'V'],
  ['kW', 1.5, 1500, 'W'],
  ['Wh', 250, 0.25, 'kWh'],
  ['J', 3_600_000, 1, 'kWh'],
  ['l/min', 10, 0.6, 'm³/h'],
  ['furlong', 8, 8, 'furlong'],
  ['constructor', 8, 8, 'constructor'],
  ['', 8, 8, ''],
])('%s', (unit, value, kept, keptUnit) => {
  const house = storedUnit(unit);
  expect(house.convert(value)).toBeCloseTo(kept, 3);
  expect(house.unit).toBe(keptUnit);
});
