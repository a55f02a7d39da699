import { describe, expect, test } from 'vitest';
import type { AttendedDevices } from '../../../src/core/devices/device-attention.ts';
import type { Reachability } from '../../../src/core/devices/device-model.ts';
import { NO_HOME_NAMES, parseDeviceId, parseSensorId } from '../../../src/core/devices/device-names.ts';
import type { HistoryQuery, Reading, ReadingStore, ReadingValue } from '../../../src/core/devices/sensor-readings.ts';
import type { ErrorBody } from '../../../src/core/errors.ts';
import { sensorTools } from '../../../src/tools/builtin/sensor-tools.ts';
import { agent, listAuthorizer, makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { makeDevice } from '../../http/http-fixture.ts';

const START = Date.UTC(2026, 0, 1);

function reading(id: string, value: ReadingValue | null, area: string, reachability: Reachability = 'reachable'): Reading {
  const [device = '', name = ''] = id.split('/');
  const kind = name;
  const unit = kind === 'temperature' ? '°C' : '';
  const sensor = { id: parseSensorId(id), device: parseDeviceId(device), name, kind, unit, area, title: `${device} ${name}` };
  return { sensor, value, atMs: START - 30_000, reachability };
}

const called = {
  ...NO_HOME_NAMES,
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
  const { registry, pipeline } = makePipeline();
  const reads: AttendedDevices[] = [];
  const attention = { noteRead: (device: AttendedDevices) => void reads.push(device) };
  const directory = { get: (id: string) => (typesOf[id] ? makeDevice(id, { deviceTypes: typesOf[id] }) : undefined) };
  for (const tool of sensorTools({ readings: store, authorizer: listAuthorizer, homeNames: called, directory, attention }))
    expect(registry.register(tool)).toEqual([]);
  const call = (tool: string, params: unknown, principal = owner) => pipeline.call({ principal, tool, params });
  return { call, asked, reads };
}

const typesOf: Record<string, readonly string[]> = {
  fridge: ['Refrigerator'],
  oven: ['Oven'],
  boiler: ['WaterHeater'],
  weather: ['TemperatureSensor'],
};

const house = [
  reading('hall-sensor/temperature', 21.5, 'Hall'),
  reading('stove/temperature', 24, 'Kitchen', 'unreachable'),
  reading('fridge/temperature', 4, 'Kitchen'),
  reading('hall-sensor/occupancy', true, 'Hall'),
  reading('new-one/temperature', null, 'Attic'),
];

test('showing somebody a known value counts as a read of its device', async () => {
  const { call, reads } = room(...house);
  await call('query_sensor', { sensor_id: 'stove/temperature' });
  await call('read_temperature', { location: 'hall-sensor/temperature' });
  expect(reads).toEqual(['stove', 'hall-sensor']);
  await call('list_sensors', { area: 'Hall' });
  expect(reads.slice(2)).toEqual(['hall-sensor']);
});

describe('list_sensors', () => {
  const idsOf = async (params: object, principal = owner) => {
    const answer = await room(...house).call('list_sensors', params, principal);
    const result = 'result' in answer ? answer.result : undefined;
    return (result as { sensors: { sensor_id: string }[] }).sensors.map(({ sensor_id: id }) => id);
  };

  test('finds a sensor by its title, with and without the quotation marks around the name of its device', async () => {
    const [one] = house;
    if (!one) throw new Error('the house has no sensor');
    const { call } = room({ ...one, sensor: { ...one.sensor, title: '"Hall sensor" temperature' } });
    for (const title of ['"Hall sensor" temperature', 'hall sensor temperature']) {
      expect(await call('query_sensor', { sensor_id: title }), title).toMatchObject({ result: { sensor_id: 'hall-sensor/temperature' } });
    }
  });

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
      result: { sensor_id: 'stove/temperature' },
    });
    const two = [...house, reading('weather/temperature', 21, 'Kitchen')];
    expect(await room(...two).call('read_temperature', { location: 'kitchen' })).toMatchObject({
      error: { code: 'AMBIGUOUS_DEVICE', details: { candidates: ['stove/temperature', 'weather/temperature'] } },
    });
    expect(await call('read_temperature', { location: 'hal' })).toMatchObject({
      error: { code: 'SENSOR_NOT_FOUND', details: { candidates: expect.arrayContaining(['hall-sensor/temperature']) } },
    });
  });

  test('of a room is that of its air, never that of food or water in it; an appliance is asked for by its own name', async () => {
    const kitchen = ['fridge', 'oven'].map((device) => reading(`${device}/temperature`, 4, 'Kitchen'));
    const { call } = room(...kitchen, reading('weather/temperature', 20, 'Kitchen'), reading('boiler/temperature', 52, 'Cellar'));
    expect(await call('read_temperature', { location: 'Kitchen' })).toMatchObject({ result: { value: 20 } });
    expect(await call('read_temperature', { location: 'Cellar' })).toMatchObject({
      error: {
        code: 'SENSOR_NOT_FOUND',
        message: expect.stringContaining('Nothing measures the air of "Cellar"'),
        details: { candidates: ['boiler/temperature'] },
      },
    });
    expect(await call('read_temperature', { location: 'boiler' })).toMatchObject({ result: { value: 52 } });
  });

  test('of an area and a kind in one text names what is there, for tools that take an id alone too', async () => {
    const asked = [
      ['read_temperature', { location: 'kitchen temperature' }],
      ['query_sensor', { sensor_id: 'kitchen-probe/Temperature' }],
    ] as const;
    for (const [tool, params] of asked) {
      const { error } = (await room(...house).call(tool, params)) as { error: ErrorBody };
      const { candidates } = error.details as { candidates: readonly string[] };
      expect(error).toMatchObject({ code: 'SENSOR_NOT_FOUND', details: { area: 'Kitchen', kind: 'temperature' } });
      expect(candidates.length).toBeGreaterThan(0);
      expect(error.message).toContain(`of the kind temperature in "Kitchen" there is ${candidates.join(', ')}`);
      for (const id of candidates)
        expect(await room(...house).call('query_sensor', { sensor_id: id })).toMatchObject({ status: 'success' });
    }
  });

  test('where nothing measures temperatures does not say that there is nothing to read', async () => {
    expect(await room(reading('door/contact', false, 'Hall')).call('read_temperature', { location: 'Hall' })).toMatchObject({
      error: { message: 'No sensor fits "Hall"; there is no sensor of the kind temperature that you may read' },
    });
  });

  test('a sensor that never said anything is not zero degrees', async () => {
    expect(await room(...house).call('read_temperature', { location: 'attic' })).toMatchObject({ error: { code: 'DEVICE_UNREACHABLE' } });
  });
});

describe('a value of which the time is not known', () => {
  const old = { ...reading('hall-sensor/temperature', 21.5, 'Hall', 'unreachable'), atMs: 0 };

  test('has no time and no age at any tool, and not those of 1970', async () => {
    const { call } = room(old);
    const unknown = { timestamp: null, age_seconds: null };
    expect(await call('read_temperature', { location: 'Hall' })).toMatchObject({ result: { value: 21.5, ...unknown } });
    expect(await call('query_sensor', { sensor_id: 'hall-sensor/temperature' })).toMatchObject({
      result: { ...unknown, values: [{ timestamp: null, value: 21.5 }] },
    });
    expect(await call('list_sensors', {})).toMatchObject({ result: { sensors: [unknown] } });
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
