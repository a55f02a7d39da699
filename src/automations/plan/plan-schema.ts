import type { FileValue } from '../../core/config/config-section.ts';
import type { JsonSchema } from '../../core/json.ts';
import { COMPOSITE_TYPES, CONDITIONS_SCHEMA, type Condition, SIMPLE_CONDITIONS } from './condition-schema.ts';
import { byType, IDENTIFIER, LONGEST_SECONDS, type Variants } from './schema-parts.ts';
import { STEP_MEMBERS, STEP_TYPES, STEPS_SCHEMA, type Step } from './step-schema.ts';
import { TRIGGERS, type Trigger } from './trigger-schema.ts';

/** Fields that cannot refer to a parameter. Otherwise, `adjust_threshold` could make an automation use another device, tool or person. */
export const WRITTEN_OUT: readonly string[] = [
  ...['type', 'sensor_id', 'device_id', 'event', 'cluster', 'tool'],
  ...['name', 'agent_id', 'scene_id', 'flag', 'person', 'people', 'expr', 'cron'],
];
/** Fields for which callers are not offered a reference to a parameter. */
const SHOWN_WITHOUT_REFERENCE: readonly string[] = [...WRITTEN_OUT, 'time_zone'];

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

/** A value that `adjust_threshold` may change while the agent runs. */
export type AgentParameter = FileValue<typeof PARAMETER>;

/** A checked configuration with its parameters filled in. */
export interface AutomationPlan {
  readonly triggers: readonly Trigger[];
  readonly conditions: readonly Condition[];
  readonly actions: readonly Step[];
  /** Values of the declared parameters, for expressions. */
  readonly parameters: Readonly<Record<string, AgentParameter['value']>>;
  readonly cooldownMs: number;
  readonly maxRunsPerHour: number;
}

/** Schema of the values that `adjust_threshold` may change. */
export const PARAMETERS_SCHEMA: JsonSchema = {
  type: 'object',
  maxProperties: 32,
  propertyNames: { pattern: IDENTIFIER },
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
    conditions: { $ref: '#/$defs/conditions', default: [] },
    actions: { $ref: '#/$defs/steps', minItems: 1 },
    cooldown_seconds: { ...LIMITS.cooldown_seconds, default: 10 },
    max_runs_per_hour: { ...LIMITS.max_runs_per_hour, default: 60 },
    // `parameters` is checked and filled in before this schema is used. It is listed only so that errors about misspelt members suggest it.
    parameters: {},
  },
  $defs: { conditions: CONDITIONS_SCHEMA, steps: STEPS_SCHEMA },
};

const COMPOSITE_MEMBERS = {
  required: ['conditions'],
  properties: { conditions: { type: 'array', description: 'For and, or and not: the conditions' } },
} as const;

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
      description: 'What has to hold when the trigger fires; all of them. and, or and not have conditions in them',
      items: shown({ ...SIMPLE_CONDITIONS, ...Object.fromEntries(COMPOSITE_TYPES.map((type) => [type, COMPOSITE_MEMBERS])) }),
    },
    actions: {
      type: 'array',
      description: 'Up to 16 steps, one after the other: calls, which have a tool, and steps with a type',
      items: {
        type: 'object',
        properties: { type: { type: 'string', enum: STEP_TYPES, description: 'Kind; absent for a call' }, ...STEP_MEMBERS },
      },
    },
    ...LIMITS,
  },
};

function shown(variants: Variants): JsonSchema {
  const members: Record<string, JsonSchema> = {};
  // Members of several variants, such as `becomes`, differ in what they accept; here they accept what any of them does.
  for (const { properties } of Object.values(variants)) {
    for (const [name, schema] of Object.entries(properties)) members[name] = members[name] ? merged(members[name], schema) : schema;
  }
  const withReferences = Object.entries(members).map(([name, schema]) => [name, orReference(schema, name)]);
  const type = { type: 'string', enum: Object.keys(variants), description: 'Kind' };
  return { type: 'object', properties: { type, ...Object.fromEntries(withReferences) } };
}

function merged(one: JsonSchema, other: JsonSchema): JsonSchema {
  if (one.description === other.description) return one;
  const description = `${one.description}. ${other.description}`;
  if (Array.isArray(one.enum) && Array.isArray(other.enum)) return { enum: [...new Set([...one.enum, ...other.enum])], description };
  return { type: [...new Set([typesOf(one), typesOf(other)].flat())], description };
}

function typesOf({ type = 'string' }: JsonSchema): readonly unknown[] {
  return Array.isArray(type) ? type : [type];
}

/** Returns a schema that also accepts a reference to a parameter. Schemas of ids, names, lists and fixed values are returned unchanged. */
function orReference(schema: JsonSchema, name: string): JsonSchema {
  const isFixed = SHOWN_WITHOUT_REFERENCE.includes(name) || typeof schema.type === 'undefined';
  return isFixed || schema.type === 'array' ? schema : { ...schema, type: [schema.type, 'object'].flat() };
}
