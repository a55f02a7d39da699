import type { JsonSchema } from '../../core/json.ts';
import {
  type ByType,
  CLOCK_TIME,
  comparison,
  days,
  deviceId,
  expressionText,
  FLAG_VALUE,
  identifier,
  offset,
  person,
  SUN_EVENTS,
  strictBranches,
  timeZone,
} from './schema-parts.ts';

/** Largest number of conditions in one list. */
const MAX_CONDITIONS = 16;
/** Greatest depth of conditions within `and`, `or` and `not`. */
export const MAX_CONDITION_DEPTH = 4;

/** The schemas of the fields of conditions that contain no other conditions, by the `type` of the condition. */
export const SIMPLE_CONDITIONS = {
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
      after: { ...CLOCK_TIME, description: 'For time: not before this time of day, HH:MM. For sun: sunrise, sunset, dawn or dusk' },
      before: { ...CLOCK_TIME, description: 'For time: not from this time of day on, HH:MM. For sun: sunrise, sunset, dawn or dusk' },
      days,
      time_zone: timeZone,
    },
  },
  sun: {
    required: [],
    properties: {
      after: { enum: SUN_EVENTS, description: 'For sun: not before this event of the day' },
      after_offset_minutes: offset('For sun: minutes by which after is later'),
      before: { enum: SUN_EVENTS, description: 'For sun: not from this event of the day on' },
      before_offset_minutes: offset('For sun: minutes by which before is later'),
    },
  },
  flag: {
    required: ['flag'],
    properties: {
      flag: identifier('For flag: its name, such as vacation_mode'),
      is: { ...FLAG_VALUE, description: 'For flag: its value; true when absent' },
    },
  },
  reachability: {
    required: ['device_id', 'is'],
    properties: { device_id: deviceId, is: { enum: ['reachable', 'unreachable'], description: 'For reachability: answers or not' } },
  },
  presence: {
    required: ['is'],
    properties: {
      person: { ...person, description: 'For presence: this person; when absent, home: somebody is, away: everybody is' },
      is: { enum: ['home', 'away'], description: 'For presence: where the person is' },
    },
  },
  expression: {
    required: ['expr'],
    properties: { expr: { ...expressionText, description: 'For expression: CEL that yields true or false' } },
  },
} as const;

type ConditionsByType = ByType<typeof SIMPLE_CONDITIONS>;

/** A condition about a reading. */
export type ReadingCondition = ConditionsByType['reading'];
/** A time window. If the window's end is before its start, the window spans midnight. */
export type TimeCondition = ConditionsByType['time'];
/** A window between two events of the sun. If its end is before its start, the window spans midnight. */
export type SunCondition = ConditionsByType['sun'];
/** A condition about a flag of the house. A flag that is not set is false. */
export type FlagCondition = ConditionsByType['flag'];
/** A condition about whether a device answers. */
export type ReachabilityCondition = ConditionsByType['reachability'];
/** A condition about who is at home. */
export type PresenceCondition = ConditionsByType['presence'];
/** A condition without other conditions in it. */
export type SimpleCondition = ConditionsByType[keyof ConditionsByType];
/** Holds if all of its conditions hold (`and`), one of them (`or`), or none of them (`not`). */
export interface CompositeCondition {
  readonly type: 'and' | 'or' | 'not';
  readonly conditions: readonly Condition[];
}
/** Something that has to hold. */
export type Condition = SimpleCondition | CompositeCondition;

export const COMPOSITE_TYPES = ['and', 'or', 'not'] as const;

/** Schema of a list of conditions, whose composite conditions refer to it by `#/$defs/conditions`. */
export const CONDITIONS_SCHEMA: JsonSchema = {
  type: 'array',
  maxItems: MAX_CONDITIONS,
  items: {
    type: 'object',
    required: ['type'],
    properties: { type: { enum: [...Object.keys(SIMPLE_CONDITIONS), ...COMPOSITE_TYPES] } },
    allOf: strictBranches({
      ...SIMPLE_CONDITIONS,
      ...Object.fromEntries(
        COMPOSITE_TYPES.map((type) => [type, { required: ['conditions'], properties: { conditions: { $ref: '#/$defs/conditions' } } }]),
      ),
    }),
  },
};

/** Returns whether a condition contains other conditions. */
export function isComposite(condition: Condition): condition is CompositeCondition {
  return condition.type === 'and' || condition.type === 'or' || condition.type === 'not';
}

/** Returns the conditions without others in them, at any depth. */
export function simpleConditions(conditions: readonly Condition[]): readonly SimpleCondition[] {
  return conditions.flatMap((condition) => (isComposite(condition) ? simpleConditions(condition.conditions) : [condition]));
}
