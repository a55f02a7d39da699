import { REACHABILITIES } from '../../../core/devices/device-model.ts';
import { EVENT_TYPES } from '../../../core/events.ts';
import { anything, instant, instantOrNever, listOf, type NamedSchemas, named, record, text, texts } from './schema-parts.ts';

const FLAG = { type: 'boolean' };
const AGE = { type: ['number', 'null'], description: 'Milliseconds' };
const TEXT_OR_NULL = { type: ['string', 'null'] };
const REACHABILITY = { type: 'string', enum: REACHABILITIES };
const MAKER = record({ id: { type: 'integer' }, name: text() });
const ALIASES = listOf(text('Another name that people gave it'));

const DEVICE = {
  id: text(),
  name: text(),
  aliases: ALIASES,
  former_names: listOf(text('What it was called before, which means it still')),
  tools_begin_with: text('How the names of its tools begin, whatever its id is'),
  area: TEXT_OR_NULL,
  kind: text(),
  matter_node_id: text('Number in the fabric'),
  parent: text('Id of the device that it is behind'),
  vendor: MAKER,
  product: MAKER,
  serial: text(),
  software_version: text(),
  device_types: texts,
  reachability: REACHABILITY,
  last_seen: instantOrNever,
  age_ms: AGE,
  is_sleepy: FLAG,
};
const ALWAYS = ['id', 'name', 'area', 'kind', 'device_types', 'reachability', 'last_seen', 'age_ms', 'is_sleepy'];
const OF_TOOLS = { readings: listOf(named('Reading')) };
const CLUSTER = record({
  id: { type: 'integer' },
  name: text(),
  revision: { type: 'integer' },
  features: texts,
  attributes: listOf(record({ name: text(), writable: FLAG })),
  commands: texts,
  events: texts,
});

/** Devices, readings, events and the hub itself. */
export const HOME_SCHEMAS: NamedSchemas = {
  Reading: record({
    id: text('<device>/<reading>'),
    device: text(),
    name: text(),
    title: text(),
    kind: text(),
    unit: text(),
    area: TEXT_OR_NULL,
    value: anything('Number, text, flag or null'),
    at: instantOrNever,
    age_ms: AGE,
    reachability: REACHABILITY,
  }),
  Readings: record({ sensors: listOf(named('Reading')) }),
  History: record({
    sensor: { anyOf: [named('Reading'), record({ id: text() })] },
    since: instantOrNever,
    until: instantOrNever,
    aggregation: text(),
    points: listOf(record({ at: instantOrNever, value: anything('Number, text or flag') })),
  }),
  Device: record({ ...DEVICE, tools: listOf(text('Canonical id')), ...OF_TOOLS }, [...ALWAYS, 'tools', 'readings']),
  Areas: record({
    areas: listOf(record({ area: text(), floor: TEXT_OR_NULL, aliases: ALIASES, devices: listOf(text('Id of a device there')) })),
  }),
  Devices: record(
    {
      devices: listOf(named('Device')),
      unsure: { type: 'boolean', description: 'With `q`: nothing that was found is sure enough' },
      readings: listOf(named('ThingMatch')),
      areas: listOf(named('ThingMatch')),
    },
    ['devices'],
  ),
  DeviceInFull: record(
    {
      ...DEVICE,
      endpoints: listOf(
        record({ endpoint: { type: 'integer' }, device_types: texts, tags: listOf({}), clusters: listOf(CLUSTER) }, [
          'endpoint',
          'device_types',
          'clusters',
        ]),
      ),
      tools: listOf(record({ id: text(), title: text(), description: text() })),
      ...OF_TOOLS,
      description: { type: 'object', description: 'Every cluster with its schemas, with `describe=true`' },
    },
    [...ALWAYS, 'endpoints', 'tools', 'readings'],
  ),
  Event: record({
    specversion: { const: '1.0' },
    id: text(),
    source: text(),
    type: { type: 'string', enum: EVENT_TYPES },
    subject: text('Id of what it is about'),
    time: instant,
    data: { type: 'object' },
  }),
  Health: record(
    {
      status: { type: 'string', enum: ['starting', 'ok', 'degraded', 'stopping'] },
      node_id: text(),
      version: text(),
      uptime_ms: { type: 'number' },
      problems: texts,
      proof: text('Signature of the hub over the challenge, base64url'),
    },
    ['status', 'node_id', 'version', 'uptime_ms', 'problems'],
  ),
  Mesh: record({ peers: listOf(record({ id: text(), name: text(), reachable: FLAG }, ['id'])) }),
};
