import { readableWords } from '../../core/devices/matter-names.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { escapeAllHidden } from '../../core/untrusted-text.ts';
import { type ThingKind, thingNamedBy } from '../home-things.ts';
import { plainUnit } from '../plain-unit.ts';
import { type Condition, isComposite } from '../plan/condition-schema.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
import { type Action, isAction, type Step, type TypedStep } from '../plan/step-schema.ts';
import type { ReadingTrigger, Trigger } from '../plan/trigger-schema.ts';

/** Longest text of a value in a line. */
const MAX_VALUE_LENGTH = 200;

/** The words for what a plan names. */
export interface Wording {
  nameOf(kind: ThingKind, id: string): string;
  /** Returns what a call does, such as `Turn on Hall lamp (hall)`. */
  callText(action: Action): string;
  /** Returns the unit of what a sensor shows; undefined if there is none. */
  unitOfSensor(sensor: string): string | undefined;
  /** Returns the unit of a parameter of a tool; undefined if there is none. */
  unitOfParam(tool: string, param: string): string | undefined;
}

/** Returns the unit of a member of a part. */
type UnitOf = (member: string) => string | undefined;

const NO_UNITS: UnitOf = () => undefined;
/** Members of a trigger or condition that are in the unit of its sensor. */
const IN_SENSOR_UNIT: readonly string[] = ['above', 'below', 'equals', 'hysteresis'];

/**
 * Returns what an automation does, in lines for people: what sets it off, what has to hold, and its steps in order. They are made of the
 * definition alone; nothing that its author says about it is among them. Each member of the definition is in a line.
 */
export function definitionWords(plan: AutomationPlan, wording: Wording): readonly string[] {
  const { triggers, conditions, actions } = plan;
  return [
    ...triggers.map((trigger) => `When ${triggerText(trigger, wording)}`),
    ...conditions.map((condition) => `Only if ${conditionText(condition, wording)}`),
    ...stepLines(actions, wording),
  ];
}

function triggerText(trigger: Trigger, wording: Wording): string {
  if (trigger.type === 'reading') return readingText(trigger, wording);
  const { type, ...members } = trigger;
  return `${TRIGGER_WORDS[type]}${membersText({ ...members }, wording)}`;
}

function readingText(trigger: ReadingTrigger, wording: Wording): string {
  const { type: _, sensor_id: sensor, above, below, equals, changes: _changes, ...members } = trigger;
  const unitOf = sensorUnits(sensor, wording);
  const limit = (name: string, value: Json) => withUnit(valueText(name, value, wording), value, unitOf(name));
  const becomes = equals === undefined ? 'changes' : `becomes ${limit('equals', equals)}`;
  const falls = below === undefined ? becomes : `falls below ${limit('below', below)}`;
  const crossing = above === undefined ? falls : `rises above ${limit('above', above)}`;
  return `${wording.nameOf('sensor', sensor)} ${crossing}${membersText({ ...members }, wording, unitOf)}`;
}

const TRIGGER_WORDS: Readonly<Record<Exclude<Trigger['type'], 'reading'>, string>> = {
  device_event: 'a device sends an event',
  reachability: 'a device is lost or back',
  time: 'the time comes',
  every: 'an interval has passed',
  sun: 'the sun is there',
  hub_start: 'the hub starts',
  webhook: 'somebody posts to its webhook',
  decision: 'a person decides about a call',
  scene: 'a scene is run',
  automation_ended: 'another automation ends',
  presence: 'a person comes or leaves',
};

function conditionText(condition: Condition, wording: Wording): string {
  if (!isComposite(condition)) {
    const { type, ...members } = condition;
    const unitOf = condition.type === 'reading' ? sensorUnits(condition.sensor_id, wording) : NO_UNITS;
    return `${readableWords(type)}${membersText({ ...members }, wording, unitOf)}`;
  }
  const inner = condition.conditions.map((one) => conditionText(one, wording));
  const joined = inner.join(condition.type === 'and' ? ' and ' : ' or ');
  return condition.type === 'not' ? `not (${joined})` : `(${joined})`;
}

function stepLines(steps: readonly Step[], wording: Wording): readonly string[] {
  return steps.flatMap((step) => (isAction(step) ? [actionText(step, wording)] : typedLines(step, wording)));
}

function actionText(action: Action, wording: Wording): string {
  const { tool, params, ...others } = action;
  const done = wording.callText(action);
  const by = done.startsWith(tool) ? `Call ${tool}` : `${done} by ${tool}`;
  const unitOf: UnitOf = (name) => wording.unitOfParam(tool, name);
  return `${by}${membersText({ ...params, ...(others.on_error === 'continue' && { on_error: 'continue' }) }, wording, unitOf)}`;
}

/** Returns the lines of a step. Those of steps within it are indented. */
function typedLines(step: TypedStep, wording: Wording): readonly string[] {
  const within = (steps: readonly Step[]) => stepLines(steps, wording).map((line) => `  ${line}`);
  const all = (conditions: readonly Condition[]) => conditions.map((one) => conditionText(one, wording)).join(' and ');
  switch (step.type) {
    case 'choose': {
      const options = step.options.flatMap(({ conditions, actions }) => [`If ${all(conditions) || 'always'}:`, ...within(actions)]);
      return [...options, ...(step.otherwise.length > 0 ? ['Otherwise:', ...within(step.otherwise)] : [])];
    }
    case 'repeat': {
      const often = step.while ? `at most ${step.max} times while ${all(step.while)}` : `${step.count} times`;
      return [`Repeat ${often}:`, ...within(step.actions)];
    }
    case 'parallel':
      return step.branches.flatMap((branch) => ['At the same time:', ...within(branch)]);
    case 'wait_until': {
      const { type: _, conditions, ...members } = step;
      return [`Wait until ${all(conditions)}${membersText({ ...members }, wording)}`];
    }
    default: {
      const { type, ...members } = step;
      return [`${sentenceStart(readableWords(type))}${membersText({ ...members }, wording)}`];
    }
  }
}

/** Returns the members of a part in parentheses, with names in place of ids; empty if there are none. */
function membersText(members: JsonObject, wording: Wording, unitOf = NO_UNITS): string {
  const shown = Object.entries(members).map(([name, value]) => {
    return `${thingNamedBy(name) ?? readableWords(name)}: ${withUnit(valueText(name, value, wording), value, unitOf(name))}`;
  });
  return shown.length === 0 ? '' : ` (${shown.join(', ')})`;
}

function sensorUnits(sensor: string, wording: Wording): UnitOf {
  return (name) => (IN_SENSOR_UNIT.includes(name) ? wording.unitOfSensor(sensor) : undefined);
}

function withUnit(text: string, value: Json, unit: string | undefined): string {
  const plain = plainUnit(unit);
  return typeof value === 'number' && plain !== undefined ? `${text} ${plain}` : text;
}

function valueText(member: string, value: Json, wording: Wording): string {
  const kind = thingNamedBy(member);
  if (kind && typeof value === 'string') return wording.nameOf(kind, value);
  if (kind && Array.isArray(value)) return value.map((id) => wording.nameOf(kind, String(id))).join(', ');
  const text = isJsonObject(value) || Array.isArray(value) || typeof value === 'string' ? JSON.stringify(value) : String(value);
  const visible = escapeAllHidden(text);
  return visible.length <= MAX_VALUE_LENGTH ? visible : `${visible.slice(0, MAX_VALUE_LENGTH)}… (${visible.length} characters)`;
}

function sentenceStart(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
