import { WEEKDAYS } from '../core/clock.ts';
import type { FileValue } from '../core/config/config-section.ts';
import type { JsonSchema } from '../core/json.ts';

const CLOCK_TIME = {
  type: 'string',
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  description: 'Time of day, HH:MM',
  examples: ['07:30'],
} as const;
const LONGEST_SECONDS = 86_400;
const shortText = (description: string) => ({ type: 'string', minLength: 1, maxLength: 160, description }) as const;
const days = {
  type: 'array',
  minItems: 1,
  maxItems: 7,
  uniqueItems: true,
  items: { enum: WEEKDAYS },
  description: 'Only on these days; every day when absent',
} as const;
const timeZone = { ...shortText("IANA time zone, such as Europe/Berlin; the hub's own when absent"), examples: ['Europe/Berlin'] };
const sensorId = shortText('Sensor id as list_sensors tells it: <device id>/<reading>');
const deviceId = shortText('Device id');
const comparison = {
  sensor_id: sensorId,
  above: { type: 'number', description: 'For reading: it rises above this' },
  below: { type: 'number', description: 'For reading: it falls below this' },
  equals: { type: ['number', 'string', 'boolean'], maxLength: 160, description: 'For reading: it becomes this' },
} as const;

/** The schemas of a trigger's fields, by the `type` of the trigger. */
const TRIGGERS = {
  reading: {
    required: ['sensor_id'],
    properties: {
      ...comparison,
      changes: { enum: [true], description: 'For reading: any change' },
      for_seconds: { type: 'number', minimum: 0, maximum: LONGEST_SECONDS, description: 'For reading: it has to stay so for this long' },
      hysteresis: { type: 'number', minimum: 0, description: 'For reading: how far it has to go back before it can cross again' },
    },
  },
  device_event: {
    required: ['device_id', 'event'],
    properties: {
      device_id: deviceId,
      event: shortText('Name of the event, such as InitialPress'),
      cluster: shortText('Cluster that sends it'),
    },
  },
  reachability: {
    required: ['device_id', 'becomes'],
    properties: { device_id: deviceId, becomes: { enum: ['reachable', 'unreachable'], description: 'For reachability: lost or back' } },
  },
  time: { required: ['at'], properties: { at: CLOCK_TIME, days, time_zone: timeZone } },
  every: {
    required: ['seconds'],
    properties: { seconds: { type: 'number', minimum: 10, maximum: LONGEST_SECONDS, description: 'For every: seconds between two runs' } },
  },
} as const;

const CONDITIONS = {
  reading: {
    required: ['sensor_id'],
    properties: {
      ...comparison,
      max_age_seconds: { type: 'number', minimum: 1, description: 'For reading: an older value does not count' },
    },
  },
  time: {
    required: [],
    properties: {
      after: { ...CLOCK_TIME, description: 'For time: not before this time of day, HH:MM' },
      before: { ...CLOCK_TIME, description: 'For time: not from this time of day on, HH:MM' },
      days,
      time_zone: timeZone,
    },
  },
} as const;

const ACTION = {
  tool: shortText('Name of the tool to call'),
  params: {
    type: 'object',
    description: 'Its parameters; {"param": "NAME"} takes a parameter of this agent, {"trigger": "value"} a fact of the trigger',
  },
  timeout_ms: { type: 'integer', minimum: 1, description: 'Deadline of the call' },
  on_error: { enum: ['stop', 'continue'], description: 'What a failure of this call does to the calls after it; stop when absent' },
} as const;

const LIMITS = {
  cooldown_seconds: {
    type: 'number',
    minimum: 0,
    maximum: LONGEST_SECONDS,
    description: 'Shortest time from one run to the next; 10 when absent',
  },
  max_runs_per_hour: { type: 'integer', minimum: 1, maximum: 3600, description: 'Triggers beyond this are dropped; 60 when absent' },
} as const;

const PARAMETER = {
  type: 'object',
  required: ['value'],
  additionalProperties: false,
  properties: {
    value: { type: ['number', 'string', 'boolean'], maxLength: 256, description: 'Its present value' },
    minimum: { type: 'number', description: 'Smallest value that it may be set to' },
    maximum: { type: 'number', description: 'Largest value that it may be set to' },
    unit: { type: 'string', maxLength: 16, description: 'Unit, for people' },
    description: { type: 'string', maxLength: 200, description: 'What it is for' },
  },
} as const;

type ByType<Table> = { readonly [Type in keyof Table]: { readonly type: Type } & FileValue<Table[Type]> };
type TriggersByType = ByType<typeof TRIGGERS>;
type ConditionsByType = ByType<typeof CONDITIONS>;

/** Fires when a reading crosses a value, equals it, or changes. */
export type ReadingTrigger = TriggersByType['reading'];
/** Fires when a device sends an event, such as a pressed button. */
export type DeviceEventTrigger = TriggersByType['device_event'];
/** Fires when a device becomes unreachable or reachable. */
export type ReachabilityTrigger = TriggersByType['reachability'];
/** Fires at a time of day in a time zone. */
export type TimeTrigger = TriggersByType['time'];
/** Fires at a fixed interval. */
export type IntervalTrigger = TriggersByType['every'];
/** Starts a run of an automation. */
export type Trigger = TriggersByType[keyof TriggersByType];

/** A condition about a reading, which must hold when the trigger fires. */
export type ReadingCondition = ConditionsByType['reading'];
/** A time window in which the trigger must fire. If the window's end is before its start, the window spans midnight. */
export type TimeCondition = ConditionsByType['time'];
/** A condition that must hold when the trigger fires. If it does not, nothing runs. */
export type Condition = ReadingCondition | TimeCondition;

/** One call of a tool. Its parameters may refer to facts of the trigger, such as `{"trigger": "value"}`. */
export type Action = FileValue<{ readonly properties: typeof ACTION; readonly required: readonly ['tool', 'params', 'on_error'] }>;

/** A value that `adjust_threshold` may change while the agent runs. */
export type AgentParameter = FileValue<typeof PARAMETER>;

/** A checked configuration with its parameters filled in. */
export interface AutomationPlan {
  readonly triggers: readonly Trigger[];
  readonly conditions: readonly Condition[];
  readonly actions: readonly Action[];
  readonly cooldownMs: number;
  readonly maxRunsPerHour: number;
}

/** Schema of the values that `adjust_threshold` may change. */
export const PARAMETERS_SCHEMA: JsonSchema = {
  type: 'object',
  maxProperties: 32,
  propertyNames: { pattern: '^[a-z][a-z0-9_]{0,31}$' },
  additionalProperties: PARAMETER,
  description: 'Values that can be changed later with adjust_threshold; {"param": "NAME"} stands for one of them',
};

/** Schema of an external agent's configuration: the agent runs elsewhere, and the hub only stores its parameters. */
export const EXTERNAL_SCHEMA: JsonSchema = { type: 'object', additionalProperties: false, properties: { parameters: PARAMETERS_SCHEMA } };

/** Schema of an automation whose parameters are filled in and whose trigger is a list. */
export const PLAN_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['trigger', 'actions'],
  additionalProperties: false,
  properties: {
    trigger: { type: 'array', minItems: 1, maxItems: 8, items: byType(TRIGGERS) },
    conditions: { type: 'array', maxItems: 16, default: [], items: byType(CONDITIONS) },
    actions: {
      type: 'array',
      minItems: 1,
      maxItems: 16,
      items: {
        type: 'object',
        required: ['tool'],
        additionalProperties: false,
        properties: { ...ACTION, params: { ...ACTION.params, default: {} }, on_error: { ...ACTION.on_error, default: 'stop' } },
      },
    },
    cooldown_seconds: { ...LIMITS.cooldown_seconds, default: 10 },
    max_runs_per_hour: { ...LIMITS.max_runs_per_hour, default: 60 },
    // `parameters` is checked and filled in before this schema is used. It is listed only so that errors about misspelt members suggest it.
    parameters: {},
  },
};

/** Schema that callers of spawn_agent see. Its objects are flat, because language models write these best. PLAN_SCHEMA is stricter. */
export const CONFIG_SCHEMA: JsonSchema = {
  type: 'object',
  // The actions may contain secret parameters of the tools that they call.
  'x-secret-members': true,
  description:
    'For an automation: trigger, conditions, actions. A number or text in trigger, conditions and params may be {"param": "NAME"}. For an external agent: parameters only',
  properties: {
    parameters: PARAMETERS_SCHEMA,
    trigger: {
      type: ['array', 'object'],
      description: 'What sets it off: a list of up to 8 triggers, of which any fires, or just one',
      items: shown(TRIGGERS),
    },
    conditions: {
      type: 'array',
      description: 'What has to hold when the trigger fires; all of them',
      items: shown(CONDITIONS),
    },
    actions: { type: 'array', description: 'Up to 16 tool calls, one after the other', items: { type: 'object', properties: ACTION } },
    ...LIMITS,
  },
};

type Variants = Readonly<
  Record<string, { readonly required: readonly string[]; readonly properties: Readonly<Record<string, JsonSchema>> }>
>;

/** Returns a schema that selects a strict schema by the value of `type`. Errors are then only about fields of the selected type. */
function byType(variants: Variants): JsonSchema {
  return {
    type: 'object',
    required: ['type'],
    properties: { type: { enum: Object.keys(variants) } },
    allOf: Object.entries(variants).map(([type, { required, properties }]) => ({
      if: { required: ['type'], properties: { type: { const: type } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required, additionalProperties: false, properties: { type: true, ...properties } },
    })),
  };
}

function shown(variants: Variants): JsonSchema {
  const members: Record<string, JsonSchema> = Object.assign({}, ...Object.values(variants).map(({ properties }) => properties));
  const withReferences = Object.entries(members).map(([name, schema]) => [name, orReference(schema, name)]);
  const type = { type: 'string', enum: Object.keys(variants), description: 'Kind' };
  return { type: 'object', properties: { type, ...Object.fromEntries(withReferences) } };
}

/** Returns a schema that also accepts a reference to a parameter. Schemas of ids, names, lists and fixed values are returned unchanged. */
function orReference(schema: JsonSchema, name: string): JsonSchema {
  const isFixed = ['sensor_id', 'device_id', 'event', 'cluster', 'time_zone'].includes(name) || typeof schema.type === 'undefined';
  return isFixed || schema.type === 'array' ? schema : { ...schema, type: [schema.type, 'object'].flat() };
}
