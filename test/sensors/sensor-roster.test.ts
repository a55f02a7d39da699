import { describe, expect, test } from 'vitest';
import type { BoardDeviceConfig } from '../../src/sensors/device-config.ts';
import { sensorRegistryOf } from '../../src/sensors/sensor-registry.ts';
import type { FoundSensor } from '../../src/sensors/sensor-source.ts';

const chip = (place: string, channel: string, reading = channel): FoundSensor => ({
  address: `iio:bme280@${place}/${channel}`,
  device: `bme280-${place}`,
  reading,
  kind: reading,
  unit: reading === 'temperature' ? '°C' : '%',
  title: `bme280 ${reading}`,
});
const FOUND = [chip('1-0076', 'temp', 'temperature'), chip('1-0076', 'humidity'), chip('1-0077', 'temp', 'temperature')];
const entry = (source: string, more: Partial<BoardDeviceConfig> = {}): BoardDeviceConfig => ({ source, readings: {}, ...more });
const roster = (devices: Record<string, BoardDeviceConfig>, { discover = true, found = FOUND } = {}) =>
  sensorRegistryOf(found, { devices, discover, pollSeconds: 30 });
const idsOf = (devices: Record<string, BoardDeviceConfig>, options = {}) =>
  roster(devices, options).sensors.map(({ address, info }) => [address, info.id]);

describe('what is found', () => {
  test('has ids of its own without an entry, and is left out without discovery', () => {
    expect(idsOf({})).toEqual([
      ['iio:bme280@1-0076/temp', 'bme280-1-0076/temperature'],
      ['iio:bme280@1-0076/humidity', 'bme280-1-0076/humidity'],
      ['iio:bme280@1-0077/temp', 'bme280-1-0077/temperature'],
    ]);
    expect(idsOf({}, { discover: false })).toEqual([]);
  });

  test('is listed where the owner configured it in another part', () => {
    const line: FoundSensor = { ...chip('x', 'contact'), address: 'gpio:front_door', device: 'front_door', isConfigured: true };
    expect(idsOf({}, { discover: false, found: [line] })).toEqual([['gpio:front_door', 'front_door/contact']]);
  });

  test('is calibrated where it is a line of the board, too', () => {
    const line: FoundSensor = { ...chip('x', 'power_meter'), address: 'gpio:power_meter', device: 'gpio', isConfigured: true };
    const house = entry('gpio:power_meter', { readings: { power_meter: { factor: 1, offset: 18_250.4 } } });
    const [meter] = roster({ house }, { found: [line] }).sensors;
    expect([meter?.info.id, meter?.calibrate(2.5)]).toEqual(['house/power_meter', 18_252.9]);
  });

  test('has the ids of the entry that names it, a chip as a whole or one channel', () => {
    const devices = { greenhouse: entry('iio:bme280@1-0076'), cellar: entry('iio:bme280@1-0077/temp') };
    expect(idsOf(devices, { discover: false })).toEqual([
      ['iio:bme280@1-0076/temp', 'greenhouse/temperature'],
      ['iio:bme280@1-0076/humidity', 'greenhouse/humidity'],
      ['iio:bme280@1-0077/temp', 'cellar/temperature'],
    ]);
  });

  test('goes to the entry that names it most exactly', () => {
    const devices = { both: entry('iio:bme280@1-0076'), air: entry('iio:bme280@1-0076/humidity') };
    expect(idsOf(devices, { discover: false })).toEqual([
      ['iio:bme280@1-0076/temp', 'both/temperature'],
      ['iio:bme280@1-0076/humidity', 'air/humidity'],
    ]);
  });

  test('needs its place only where there are two of a kind', () => {
    const devices = { greenhouse: entry('iio:bme280') };
    expect(idsOf(devices, { discover: false, found: FOUND.slice(0, 2) })).toHaveLength(2);
    expect(roster(devices, { discover: false })).toEqual({
      sensors: [],
      problems: ['sensors.devices.greenhouse: iio:bme280 may be iio:bme280@1-0076 or iio:bme280@1-0077; write which'],
    });
  });

  test('is reported where an entry matches nothing', () => {
    expect(roster({ attic: entry('iio:bmp180@1-0077') }, { found: FOUND.slice(0, 1) }).problems).toEqual([
      'sensors.devices.attic: iio:bmp180@1-0077 was not found; there is iio:bme280@1-0076',
    ]);
    expect(roster({ attic: entry('w1:28-0') }, { found: [] }).problems).toEqual([
      'sensors.devices.attic: w1:28-0 was not found; there is no sensor of this kind',
    ]);
  });

  test('keeps one of two that would have the same id', () => {
    const twin = { ...chip('1-0077', 'temp', 'temperature'), device: 'bme280-1-0076' };
    const { sensors, problems } = roster({}, { found: [...FOUND.slice(0, 1), twin] });
    expect(sensors.map(({ address }) => address)).toEqual(['iio:bme280@1-0076/temp']);
    expect(problems).toEqual([
      'iio:bme280@1-0077/temp would be bme280-1-0076/temperature, which iio:bme280@1-0076/temp is; name it in sensors.devices',
    ]);
  });
});

describe('what the owner says of it', () => {
  const readings = {
    temperature: { factor: 1.02, offset: -0.4, kind: 'soil_temperature', title: 'Bed' },
    humidity: { factor: 1, offset: 2 },
  };
  const devices = { greenhouse: entry('iio:bme280@1-0076', { title: 'Glass house', area: 'Garden', pollSeconds: 5, readings }) };
  const [temperature, humidity] = roster(devices, { discover: false }).sensors;

  test('is its title, area, kind and how often it is read', () => {
    expect(temperature?.info).toEqual({
      id: 'greenhouse/temperature',
      device: 'greenhouse',
      name: 'temperature',
      kind: 'soil_temperature',
      unit: '°C',
      title: 'Bed',
      area: 'Garden',
    });
    expect(humidity?.info.title).toBe('Glass house humidity');
    expect(temperature?.periodMs).toBe(5000);
  });

  test('is how far off it is, for numbers', () => {
    expect(temperature?.calibrate(20)).toBe(20);
    expect(temperature?.calibrate(-10)).toBe(-10.6);
    expect(humidity?.calibrate(43.817)).toBe(45.817);
    expect(humidity?.calibrate(true)).toBe(true);
    expect(humidity?.calibrate('dry')).toBe('dry');
  });

  test('control characters of a chip stay out of its title', () => {
    const [sensor] = roster({}, { found: [{ ...chip('1', 'x'), title: 'bad\u001b[31m\nchip' }] }).sensors;
    expect(sensor?.info.title).toBe('bad [31m chip');
  });
});
