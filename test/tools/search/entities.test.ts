import { describe, expect, test } from 'vitest';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { SensorInfo } from '../../../src/core/devices/sensor-readings.ts';
import type { DeviceId, SensorId } from '../../../src/core/ids.ts';
import { LexicalEntitySearch } from '../../../src/tools/search/entity-search.ts';
import { describeDeviceType } from '../../fixtures/describe-standard.ts';
import { namesOf } from './home-names-fixture.ts';

const device = (id: string, type: string, more: Partial<Device>): Device =>
  describeDeviceType(type, { device: { id: parseDeviceId(id), name: id, ...more } }).device;
const sensor = (id: string, kind: string, area: string): SensorInfo => ({
  id: `${id}/${kind}` as SensorId,
  device: id as DeviceId,
  name: kind,
  kind,
  unit: '°C',
  title: kind,
  area,
});
const home = {
  devices: [
    device('a', 'DimmableLight', { name: 'Lantern', area: 'Barn' }),
    device('b', 'DimmableLight', { name: 'Leselampe', area: 'Schlafzimmer' }),
    device('c', 'BasicVideoPlayer', { name: 'Bravia', area: 'Den' }),
    device('d', 'DoorLock', { name: 'Front door', area: 'Porch' }),
    device('e', 'TemperatureSensor', { name: 'Probe', area: 'Barn' }),
  ],
  sensors: [sensor('e', 'temperature', 'Barn')],
};
const search = new LexicalEntitySearch(
  namesOf({ devices: { c: ['goggle box'] }, areas: { barn: { floor: 'Outside', aliases: ['stable'] } } }),
);
const best = (text: string) => {
  const [match] = search.search({ text }, home);
  return match && `${match.kind} ${match.id}`;
};

describe('things of a home', () => {
  test.each([
    ['the lantern', 'device a'],
    ['lamp in the stable', 'device a'],
    ['Lampe im Schlafzimmer', 'device b'],
    ['volume to 20 %', 'device c'],
    ['goggle box', 'device c'],
    ['television', 'device c'],
    ['lock up', 'device d'],
    ['how warm is it in the barn?', 'sensor e/temperature'],
    ['barn', 'area barn'],
    ['stable', 'area barn'],
  ])('are found by a sentence: %s', (text, expected) => expect(best(text)).toBe(expected));

  test('are told with area, score and reasons', () => {
    expect(search.search({ text: 'lantern barn', limit: 1 }, home)).toEqual([
      {
        kind: 'device',
        id: 'a',
        name: 'Lantern',
        area: 'Barn',
        score: expect.any(Number),
        confidence: expect.any(Number),
        reasons: ['device: lantern', 'area: barn'],
      },
    ]);
  });

  test('of which somebody may not know leave no trace: an area is there only with a device of theirs', () => {
    const seen = { devices: home.devices.slice(1, 3), sensors: [] };
    expect(search.search({ text: 'barn' }, seen)).toEqual([]);
    expect(search.search({ text: 'lantern' }, seen).map(({ id }) => id)).not.toContain('a');
  });

  test('are found by their new name after a rename', () => {
    const renamed = { ...home, devices: [...home.devices.slice(1), { ...home.devices[0], name: 'Chandelier' } as Device] };
    expect(search.search({ text: 'chandelier' }, renamed)[0]?.id).toBe('a');
    expect(search.search({ text: 'Probe temperature' }, { ...home, devices: [] })[0]?.name).toBe('"e": temperature');
  });
});

test('a device that only reported anew is not looked at again, one that was renamed is', () => {
  const names = namesOf({});
  let looks = 0;
  const deviceAliases = (id: string) => {
    looks++;
    return names.deviceAliases(id);
  };
  const counting = { ...names, deviceAliases };
  const fresh = new LexicalEntitySearch(counting);
  const anew = (more: Partial<Device> = {}) => ({ ...home, devices: home.devices.map((one) => ({ ...one, lastSeenMs: 1, ...more })) });
  fresh.search({ text: 'lantern' }, anew());
  const before = looks;
  fresh.search({ text: 'lantern' }, anew());
  expect(looks).toBe(before);
  expect(fresh.search({ text: 'torch' }, anew({ name: 'Torch' })).length).toBeGreaterThan(0);
});
