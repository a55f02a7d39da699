import { compileRules } from '../../../src/auth/rules/rule-compiler.ts';
import type { CheckPorts } from '../../../src/automations/automation-ports.ts';
import type { CheckedAutomation } from '../../../src/automations/check/behaviour.ts';
import { parseAutomation } from '../../../src/automations/plan/parse-automation.ts';
import type { Effect } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { DeviceId, SensorId } from '../../../src/core/ids.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { CurrentReadings } from '../../../src/storage/history/history-store.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { listAuthorizer, makeTool, NO_OTHERS } from '../../calls/pipeline-fixture.ts';
import { makeDevice } from '../../http/http-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { ROOMS, SCENES } from './home-plan.ts';

const validator = new SchemaValidator();
/** A Monday at noon. */
const NOON = Date.UTC(2026, 0, 5, 12);

type Values = Readonly<Record<string, number | string | boolean>>;

function effectOn(
  device: string,
  element: string,
  given: { readonly values?: Values; readonly unforeseen?: readonly string[]; readonly risk?: 'dangerous' },
): Effect {
  const { values, unforeseen, risk = 'low' } = given;
  const touched = { ...(values && { values }), ...(unforeseen && { unforeseen }) };
  return { permission: `device:control:${device}`, risk, target: `${device}/1/${element}`, device: device as DeviceId, ...touched };
}

function toolWith(name: string, effects: (params: JsonObject) => readonly Effect[], properties: JsonObject = {}): RegisteredTool {
  const parameters = {
    type: 'object',
    properties: Object.fromEntries(Object.entries(properties).map(([key, type]) => [key, { type, description: key }])),
  };
  const permissions = [...new Set(effects({}).map(({ permission }) => permission))];
  return makeTool({ namespace: 'matter', name, parameters, effects, execution: { side_effects: true }, requires: { permissions } });
}

/** What a lamp does, as the preview of its real tools tells it: turning it on also names the brightness of before. */
const lampOn = (lamp: string) => effectOn(lamp, 'OnOff/On', { values: { is_on: true, brightness: 40 } });
const lampOff = (lamp: string) => effectOn(lamp, 'OnOff/Off', { values: { is_on: false } });

function toolsOf(room: string): readonly RegisteredTool[] {
  const [lamp, plug, cover, heating] = ['lamp', 'plug', 'cover', 'heating'].map((kind) => `${room}-${kind}`) as [
    string,
    string,
    string,
    string,
  ];
  const number = { value: 'number' };
  return [
    toolWith(`${room}_lamp_turn_on`, () => [lampOn(lamp)]),
    toolWith(`${room}_lamp_turn_off`, () => [lampOff(lamp)]),
    toolWith(`${room}_lamp_toggle`, () => [effectOn(lamp, 'OnOff/Toggle', { values: { is_on: true } })]),
    toolWith(
      `${room}_lamp_dim`,
      ({ value }) => [
        effectOn(lamp, 'LevelControl/MoveToLevelWithOnOff', { values: { brightness: Number(value), is_on: Number(value) > 0 } }),
      ],
      number,
    ),
    toolWith(`${room}_plug_turn_on`, () => [effectOn(plug, 'OnOff/On', { values: { is_on: true } })]),
    toolWith(`${room}_plug_turn_off`, () => [effectOn(plug, 'OnOff/Off', { values: { is_on: false } })]),
    toolWith(`${room}_plug_toggle`, () => [effectOn(plug, 'OnOff/Toggle', { unforeseen: ['is_on'] })]),
    toolWith(`${room}_cover_open`, () => [effectOn(cover, 'WindowCovering/UpOrOpen', { values: { open_percent: 100 } })]),
    toolWith(`${room}_cover_close`, () => [effectOn(cover, 'WindowCovering/DownOrClose', { values: { open_percent: 0 } })]),
    toolWith(
      `${room}_heating_set`,
      ({ value }) => [effectOn(heating, 'Thermostat/OccupiedHeatingSetpoint', { values: { heating_setpoint: Number(value) } })],
      number,
    ),
    toolWith(`${room}_lights`, ({ on }) => [on === true ? lampOn(lamp) : lampOff(lamp)], { on: 'boolean' }),
  ];
}

const TOOLS: ReadonlyMap<string, RegisteredTool> = new Map(
  [
    ...ROOMS.flatMap(toolsOf),
    ...Object.entries(SCENES).map(([scene, lamps]) => toolWith(`scene_${scene}`, () => lamps.map(lampOff))),
    toolWith('door_unlock', () => [
      effectOn('front-door', 'DoorLock/UnlockDoor', { values: { lock_state: 'unlocked' }, risk: 'dangerous' }),
    ]),
    toolWith('door_lock', () => [effectOn('front-door', 'DoorLock/LockDoor', { values: { lock_state: 'locked' } })]),
  ].map((tool): [string, RegisteredTool] => [`matter:${tool.definition.name}`, tool]),
);

interface SensorFacts {
  readonly kind: string;
  readonly unit: string;
  readonly name?: string;
  readonly schema?: JsonObject;
}

const SENSORS = new Map<string, SensorFacts>(
  ROOMS.flatMap((room): [string, SensorFacts][] => [
    [`${room}-sensor/temperature`, { kind: 'temperature', unit: '°C', schema: { type: ['number', 'null'], minimum: -40, maximum: 80 } }],
    [`${room}-sensor/humidity`, { kind: 'humidity', unit: '%' }],
    [`${room}-sensor/illuminance`, { kind: 'illuminance', unit: 'lx' }],
    [`${room}-sensor/occupancy`, { kind: 'occupancy', unit: '', schema: { enum: ['occupied', 'unoccupied', null] } }],
    [`${room}-lamp/is_on`, { kind: 'on_off', unit: '', name: 'is_on', schema: { type: ['boolean', 'null'] } }],
    [`${room}-lamp/brightness`, { kind: 'brightness', unit: '%', name: 'brightness' }],
    [`${room}-plug/is_on`, { kind: 'on_off', unit: '', name: 'is_on', schema: { type: ['boolean', 'null'] } }],
  ]),
);

const DEVICES = [
  ...ROOMS.flatMap((room) => ['lamp', 'plug', 'cover', 'heating', 'sensor', 'button'].map((kind) => `${room}-${kind}`)),
  'front-door',
];

function readingsOfHome(): CurrentReadings {
  const readings = new CurrentReadings();
  for (const [id, { kind, unit }] of SENSORS) {
    const [device = ''] = id.split('/');
    readings.describe(id as SensorId, {
      id: id as SensorId,
      device: device as DeviceId,
      name: kind,
      kind,
      unit,
      title: id.replace(/[-/]/g, ' '),
    });
  }
  return readings;
}

const homes = new Map<string, CheckPorts>();

/** A home of some rooms in memory, as a check sees it. `rules` is the text of the owner's rules file. */
export function homePorts(rules = 'rules: []'): CheckPorts {
  const home = homes.get(rules) ?? makeHome(rules);
  homes.set(rules, home);
  return home;
}

function makeHome(rules: string): CheckPorts {
  const readings = readingsOfHome();
  const clock = new ManualClock(NOON);
  const { set, zone } = compileRules(`timezone: UTC\n${rules}`, 'rules.yaml');
  const roomOf = (device: string) => ROOMS.find((room) => device.startsWith(`${room}-`));
  const facts: CheckPorts['facts'] = {
    areaOf: roomOf,
    areaMeant: (key) => key,
    namedDevice: (id) => ({ id, name: id.replaceAll('-', ' '), parts: 1 }),
    typesOf: (id) => new Set(id.endsWith('-lamp') ? ['light', 'on-off-light'] : []),
  };
  const found = (name: string) => TOOLS.get(name);
  return {
    clock,
    timeZone: 'UTC',
    validator,
    authorizer: listAuthorizer,
    mesh: NO_OTHERS,
    house: { place: () => undefined },
    facts,
    registry: {
      resolve: (name) => {
        const tool = found(name);
        if (tool) return tool;
        throw new AtmoError('TOOL_NOT_FOUND', `There is no tool ${name}`);
      },
      hubsOf: () => [],
    },
    readings: { current: (id) => readings.get(id) },
    devices: { get: (id) => (DEVICES.includes(id) ? makeDevice(id) : undefined) },
    values: {
      shownBy: (id) => {
        const sensor = SENSORS.get(id);
        return sensor && { endpoint: 1, name: sensor.name ?? sensor.kind, schema: sensor.schema ?? { type: ['number', 'null'] } };
      },
      unitOf: ({ name }) =>
        new Map([
          ['brightness', '%'],
          ['heating_setpoint', '°C'],
        ]).get(name),
      eventsOf: (id) => (id.endsWith('-button') ? ['Switch/InitialPress', 'Switch/LongPress'] : undefined),
    },
    rules: {
      list: () => ({ file: 'rules.yaml', timezone: 'UTC', default: set.default, rules: set.rules }),
      test: (call, at) => {
        const minute = zone.parse(at ?? '12:00', clock.now());
        return set.explain(call, { minute, facts });
      },
    },
  };
}

/** An automation of the home, which may do everything unless it is told otherwise. */
export function automation(
  id: string,
  config: JsonObject,
  {
    permissions = ['device:control:*', 'device:read:*', 'sensor:read:*', 'flag:read:*'],
    endsAtMs,
  }: { readonly permissions?: readonly string[]; readonly endsAtMs?: number } = {},
): CheckedAutomation {
  const principal = { id, kind: 'agent', permissions } as const;
  return { id, name: id, principal, plan: parseAutomation(config, validator), ...(endsAtMs !== undefined && { endsAtMs }) };
}

/** Milliseconds since 1970, some days after the time of the home's clock. */
export function daysFromNow(days: number): number {
  return NOON + days * 86_400_000;
}
