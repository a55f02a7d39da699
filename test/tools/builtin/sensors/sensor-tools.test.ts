import { describe, expect, test } from 'vitest';
import type { Reachability } from '../../../../src/core/devices/device-model.ts';
import type { HistoryQuery, Reading, ReadingStore, ReadingValue } from '../../../../src/core/devices/reading-store.ts';
import { parseDeviceId, parseSensorId } from '../../../../src/core/ids.ts';
import { sensorTools } from '../../../../src/tools/builtin/sensors/sensor-tools.ts';
import { agent, listAuthorizer, makeRoom, owner } from '../../tool-room.ts';

const START = Date.UTC(2026, 0, 1);

function reading(id: string, value: ReadingValue | null, area: string, reachability: Reachability = 'reachable'): Reading {
  const [device = '', name = ''] = id.split('/');
  const kind = name;
  const unit = kind === 'temperature' ? '°C' : '';
  const sensor = { id: parseSensorId(id), device: parseDeviceId(device), name, kind, unit, area, title: `${device} ${name}` };
  return { sensor, value, atMs: START - 30_000, reachability };
}

const called = {
  revision: 0,
  deviceAliases: (device: string) => (device === 'stove' ? ['Herd'] : []),
  areaNames: (area: string) => ({ aliases: area === 'Hall' ? ['Flur'] : [] }),
};

function room(...readings: readonly Reading[]) {
  const asked: HistoryQuery[] = [];
  const store: ReadingStore = {
    describe: () => {},
    record: () => {},
    setReachability: () => {},
    sensors: () => readings,
    current: (id) => readings.find(({ sensor }) => sensor.id === id),
    history: (query) => {
      asked.push(query);
      return [{ atMs: query.startMs, value: 21.5 }];
    },
  };
  const { registry, pipeline } = makeRoom();
  for (const tool of sensorTools({ readings: store, authorizer: listAuthorizer, homeNames: called }))
    expect(registry.register(tool)).toEqual([]);
  const call = (tool: string, params: unknown, principal = owner) => pipeline.call({ principal, tool, params });
  return { call, asked };
}

const house = [
  reading('hall-sensor/temperature', 21.5, 'Hall'),
  reading('stove/temperature', 24, 'Kitchen', 'unreachable'),
  reading('fridge/temperature', 4, 'Kitchen'),
  reading('hall-sensor/occupancy', true, 'Hall'),
  reading('new-one/temperature', null, 'Attic'),
];

describe('list_sensors', () => {
  const idsOf = async (params: object, principal = owner) => {
    const answer = await room(...house).call('list_sensors', params, principal);
    const result = 'result' in answer ? answer.result : undefined;
    return (result as { sensors: { sensor_id: string }[] }).sensors.map(({ sensor_id: id }) => id);
  };

  test('tells what the caller may read, with value and age, in the order of ids', async () => {
    const { call } = room(...house);
    expect(await call('list_sensors', { limit: 1, offset: 1 })).toMatchObject({
      result: { sensors: [{ sensor_id: 'hall-sensor/occupancy', value: true, age_seconds: 30, area: 'Hall' }], total: 5 },
    });
    expect(await idsOf({}, agent('sensor:read:hall-sensor/*'))).toEqual(['hall-sensor/occupancy', 'hall-sensor/temperature']);
    expect(await idsOf({}, agent('device:control:*'))).toEqual([]);
  });

  test('of a device, area or kind, by any of its names', async () => {
    expect(await idsOf({ device: 'herd' })).toEqual(['stove/temperature']);
    expect(await idsOf({ area: 'flur', kind: 'temperature' })).toEqual(['hall-sensor/temperature']);
    expect(await idsOf({ kind: 'Temperature' })).toHaveLength(4);
  });

  test('of a device or area that has none is a mistake, and what may not be read is no candidate', async () => {
    const { call } = room(...house);
    expect(await call('list_sensors', { device: 'stov' })).toMatchObject({
      error: { code: 'DEVICE_NOT_FOUND', details: { suggestions: ['stove'] } },
    });
    expect(await call('list_sensors', { area: 'Attic' }, agent('sensor:read:stove/temperature'))).toMatchObject({
      error: { code: 'NOT_FOUND', details: { candidates: ['Kitchen'] } },
    });
  });
});

describe('read_temperature', () => {
  test('takes what people call a device or room besides', async () => {
    const { call } = room(...house);
    expect(await call('read_temperature', { location: 'Herd' })).toMatchObject({ result: { sensor_id: 'stove/temperature' } });
    expect(await call('read_temperature', { location: 'flur' })).toMatchObject({ result: { sensor_id: 'hall-sensor/temperature' } });
  });

  test('takes a room, a device or a sensor, and tells age and reachability', async () => {
    const { call } = room(...house);
    for (const location of ['hall', 'hall-sensor/temperature', 'hall-sensor']) {
      expect(await call('read_temperature', { location })).toMatchObject({
        result: { value: 21.5, unit: 'celsius', sensor_id: 'hall-sensor/temperature', age_seconds: 30, reachability: 'reachable' },
      });
    }
    expect(await call('read_temperature', { location: 'stove' })).toMatchObject({ result: { reachability: 'unreachable' } });
  });

  test.each([
    ['celsius', 21.5],
    ['fahrenheit', 70.7],
    ['kelvin', 294.65],
  ])('in %s', async (unit, value) => {
    expect(await room(...house).call('read_temperature', { location: 'hall', unit })).toMatchObject({ result: { value, unit } });
  });

  test('names the candidates when a place has several or none', async () => {
    const { call } = room(...house);
    expect(await call('read_temperature', { location: 'kitchen' })).toMatchObject({
      error: { code: 'AMBIGUOUS_DEVICE', details: { candidates: ['stove/temperature', 'fridge/temperature'] } },
    });
    expect(await call('read_temperature', { location: 'hal' })).toMatchObject({
      error: { code: 'SENSOR_NOT_FOUND', details: { candidates: expect.arrayContaining(['hall-sensor/temperature']) } },
    });
  });

  test('a sensor that never said anything is not zero degrees', async () => {
    expect(await room(...house).call('read_temperature', { location: 'attic' })).toMatchObject({ error: { code: 'DEVICE_UNREACHABLE' } });
  });
});

describe('query_sensor', () => {
  test('a leap second is a mistake of the caller, not of the hub', async () => {
    const params = { sensor_id: 'hall-sensor/temperature', time_range: { start: '2016-12-31T23:59:60Z' } };
    expect(await room(...house).call('query_sensor', params)).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  });

  test('tells the latest value; on and off are 1 and 0', async () => {
    const { call } = room(...house);
    expect(await call('query_sensor', { sensor_id: 'hall-sensor/temperature' })).toMatchObject({
      result: { values: [{ timestamp: '2025-12-31T23:59:30.000Z', value: 21.5 }], unit: '°C', sensor_type: 'temperature', age_seconds: 30 },
    });
    expect(await call('query_sensor', { sensor_id: 'Hall-Sensor Occupancy' })).toMatchObject({ result: { values: [{ value: 1 }] } });
  });

  test('asks the history for the range, the aggregation and the buckets', async () => {
    const { call, asked } = room(...house);
    const range = { start: '2025-12-31T00:00:00Z', end: '2025-12-31T12:00:00Z' };
    const params = { sensor_id: 'hall-sensor/temperature', time_range: range, aggregation: 'avg', every_seconds: 300 };
    expect(await call('query_sensor', params)).toMatchObject({
      result: { values: [{ timestamp: '2025-12-31T00:00:00.000Z', value: 21.5 }] },
    });
    expect(asked).toEqual([
      { sensor: 'hall-sensor/temperature', startMs: START - 86_400_000, endMs: START - 43_200_000, aggregation: 'avg', everyMs: 300_000 },
    ]);
  });

  test('an aggregation without a range is of the last day; a range that ends before it begins is refused', async () => {
    const { call, asked } = room(...house);
    await call('query_sensor', { sensor_id: 'hall-sensor/temperature', aggregation: 'max' });
    expect(asked).toMatchObject([{ startMs: START - 86_400_000, endMs: START, aggregation: 'max' }]);
    const range = { start: '2026-01-02T00:00:00Z', end: '2026-01-01T00:00:00Z' };
    expect(await call('query_sensor', { sensor_id: 'hall-sensor/temperature', time_range: range })).toMatchObject({
      error: { code: 'VALIDATION_ERROR' },
    });
  });

  test('a sensor that the caller may not read answers like none', async () => {
    const { call } = room(...house);
    const reader = agent('sensor:read:fridge/temperature');
    expect(await call('query_sensor', { sensor_id: 'fridge/temperature' }, reader)).toMatchObject({ status: 'success' });
    const answer = await call('query_sensor', { sensor_id: 'stove/temperature' }, reader);
    expect(answer).toMatchObject({ error: { code: 'SENSOR_NOT_FOUND' } });
    expect(JSON.stringify(answer.status === 'error' && answer.error.details)).not.toContain('hall-sensor');
  });
});
