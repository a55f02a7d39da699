import { REACHABILITIES } from '../../../core/devices/device-model.ts';
import { AGGREGATIONS, freshnessOf, type Reading, type ReadingStore } from '../../../core/devices/reading-store.ts';
import { AtmoError } from '../../../core/errors.ts';
import { type DeviceId, parseSensorId } from '../../../core/ids.ts';
import type { Json } from '../../../core/json.ts';
import { isoTime, parseIsoTime } from '../../../core/time/iso-time.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { resolveSensor, resolveSensorAt } from '../../places/resolve-sensor.ts';
import { p } from '../../schema/parameter-builder.ts';
import { listSensorsTool, type SensorListParts } from './list-sensors-tool.ts';

const UNITS = ['celsius', 'fahrenheit', 'kelvin'] as const;
const DAY_MS = 86_400_000;

const freshness = {
  timestamp: { type: ['string', 'null'], format: 'date-time', description: 'Null where the time is not known' },
  age_seconds: { type: ['number', 'null'], minimum: 0, description: 'Null where the time is not known' },
  reachability: { enum: REACHABILITIES },
};

/** What sensors are listed and read from. */
interface SensorParts extends SensorListParts {
  readonly readings: ReadingStore;
}

/** `query_sensor`, `read_temperature` (source 000 §5, §8.6) and `list_sensors` over everything that has readings. */
export function sensorTools(parts: SensorParts): readonly RegisteredTool[] {
  return [querySensorTool(parts.readings), readTemperatureTool(parts), listSensorsTool(parts)];
}

const QUERY = {
  sensor_id: p.string({ description: 'Sensor id as list_sensors tells it (<device id>/<reading>), or its title', maxLength: 200 }),
  time_range: p
    .object(
      {
        start: p.string({ description: 'First moment, ISO 8601; a day before the end when absent', format: 'date-time' }).optional(),
        end: p.string({ description: 'Last moment, ISO 8601; now when absent', format: 'date-time' }).optional(),
      },
      { description: 'Asks for the history instead of the latest value' },
    )
    .optional(),
  aggregation: p.enum(AGGREGATIONS, { description: 'How to sum up the history', default: 'none' }),
  every_seconds: p.integer({ description: 'Width of one bucket; the whole range when absent', minimum: 1, unit: 's' }).optional(),
};

const ANSWER = {
  type: 'object',
  required: ['sensor_id', 'values', 'unit', 'sensor_type'],
  properties: {
    sensor_id: { type: 'string' },
    values: {
      type: 'array',
      items: { type: 'object', required: ['timestamp', 'value'], properties: { timestamp: freshness.timestamp, value: {} } },
    },
    unit: { type: 'string' },
    sensor_type: { type: 'string' },
    ...freshness,
  },
};

function querySensorTool(readings: ReadingStore): RegisteredTool {
  return defineTool(
    {
      name: 'query_sensor',
      title: 'Query sensor',
      description:
        'Reads a sensor: its latest value with age and reachability, or its history in a time range, raw or aggregated. ' +
        'On/off values are 1 and 0.',
      category: 'sensing',
      capabilities: ['sensor_access'],
      permissions: ['sensor:read:{sensor_id}'],
      hasSideEffects: false,
      preferLocal: true,
      tags: ['sensor', 'measurement', 'history'],
      parameters: QUERY,
      returns: ANSWER,
      canonicalize: (params, caller) => ({ ...params, sensor_id: resolveSensor(params.sensor_id, readings.sensors(), caller) }),
    },
    async ({ sensor_id: id, time_range: range, aggregation, every_seconds: everySeconds }, { clock }) => {
      const reading = requireReading(readings, id);
      const isHistory = range !== undefined || aggregation !== 'none';
      if (!isHistory) return { ...about(reading), ...ageOf(reading, clock.now()), values: latest(reading) };
      const points = readings.history({
        sensor: reading.sensor.id,
        ...parseRange(range ?? {}, clock.now()),
        aggregation,
        ...(everySeconds !== undefined && { everyMs: everySeconds * 1000 }),
      });
      return { ...about(reading), values: points.map((point) => ({ timestamp: isoTime(point.atMs), value: point.value })) };
    },
  );
}

function readTemperatureTool({ readings, homeNames, directory }: SensorParts): RegisteredTool {
  const typesOf = (device: string) => directory?.get(device as DeviceId)?.deviceTypes ?? [];
  const temperatures = () => readings.sensors().filter(({ sensor }) => sensor.kind === 'temperature' && sensor.unit === '°C');
  return defineTool(
    {
      name: 'read_temperature',
      title: 'Read temperature',
      description: 'Tells the temperature of the air in a room, or of one sensor or device, with its age.',
      category: 'sensing',
      capabilities: ['sensor_access'],
      permissions: ['sensor:read:{location}'],
      hasSideEffects: false,
      preferLocal: true,
      tags: ['temperature', 'room', 'sensor'],
      parameters: {
        location: p.string({ description: 'Room or other area, or a sensor or device id', maxLength: 200 }),
        unit: p.enum(UNITS, { description: 'Unit of the answer', default: 'celsius' }),
      },
      returns: {
        type: 'object',
        required: ['value', 'unit', 'sensor_id'],
        properties: { value: { type: 'number' }, unit: { enum: UNITS }, sensor_id: { type: 'string' }, ...freshness },
      },
      canonicalize: (params, caller) => ({
        ...params,
        location: resolveSensorAt(params.location, temperatures(), {
          caller,
          typesOf,
          kind: 'temperature',
          ...(homeNames && { names: homeNames }),
        }),
      }),
    },
    async ({ location, unit }, { clock }) => {
      const reading = requireReading(readings, location);
      if (typeof reading.value !== 'number') throw neverSaid(reading);
      return { value: fromCelsius(reading.value, unit), unit, sensor_id: reading.sensor.id, ...ageOf(reading, clock.now()) };
    },
  );
}

/** A temperature in °C in another unit, to hundredths: more digits than a sensor has would only pretend. */
export function fromCelsius(celsius: number, unit: (typeof UNITS)[number]): number {
  const value = { celsius, fahrenheit: (celsius * 9) / 5 + 32, kelvin: celsius + 273.15 }[unit];
  return Math.round(value * 100) / 100;
}

function requireReading(readings: ReadingStore, id: string): Reading {
  const reading = readings.current(parseSensorId(id));
  if (!reading) throw new AtmoError('SENSOR_NOT_FOUND', `The sensor ${id} is gone`);
  return reading;
}

function neverSaid(reading: Reading): AtmoError {
  return new AtmoError('DEVICE_UNREACHABLE', `${reading.sensor.id} has not told a value yet; try again when its device answers`);
}

function about({ sensor }: Reading): { readonly sensor_id: string; readonly unit: string; readonly sensor_type: string } {
  return { sensor_id: sensor.id, unit: sensor.unit, sensor_type: sensor.kind };
}

function latest(reading: Reading): Json {
  if (reading.value === null) throw neverSaid(reading);
  const value = typeof reading.value === 'boolean' ? Number(reading.value) : reading.value;
  return [{ timestamp: freshnessOf(reading.atMs, reading.atMs).timestamp, value }];
}

function ageOf(reading: Reading, nowMs: number) {
  return { ...freshnessOf(reading.atMs, nowMs), reachability: reading.reachability };
}

function parseRange(range: { readonly start?: string; readonly end?: string }, nowMs: number) {
  const endMs = range.end === undefined ? nowMs : parseIsoTime(range.end, 'time_range.end');
  const startMs = range.start === undefined ? endMs - DAY_MS : parseIsoTime(range.start, 'time_range.start');
  if (startMs > endMs) throw new AtmoError('VALIDATION_ERROR', 'time_range.start is after time_range.end; swap them');
  return { startMs, endMs };
}
