import type { FileValue } from '../../core/config/config-section.ts';
import type { Json, JsonSchema } from '../../core/json.ts';
import { WRITTEN_LINE } from '../../core/untrusted-text.ts';
import { type Condition, simpleConditions } from './condition-schema.ts';
import { referencesIn } from './references.ts';
import { FLAG_VALUE, identifier, LONGEST_FLAG_SECONDS, LONGEST_SECONDS, person, shortText, strictBranches } from './schema-parts.ts';

/** Largest number of steps in an automation, at all depths. */
export const MAX_STEPS = 64;
/** Largest number of steps in one list. */
const MAX_LISTED = 16;
/** Greatest depth of steps within `choose`, `repeat` and `parallel`. */
export const MAX_STEP_DEPTH = 4;
/** Largest number of repetitions of a `repeat`. */
const MAX_REPETITIONS = 100;

export const ACTION = {
  tool: shortText('Name of the tool to call'),
  params: {
    type: 'object',
    description:
      'Its parameters; {"param": "NAME"} takes a parameter of this agent, {"trigger": "value"} a fact of the trigger, {"answer": "NAME"} the answer to an ask, {"expr": "CEL"} the value of an expression',
  },
  timeout_ms: { type: 'integer', minimum: 1, description: 'Deadline of the call' },
  on_error: { enum: ['stop', 'continue'], description: 'What a failure of this call does to the calls after it; stop when absent' },
} as const;

const seconds = (description: string) => ({ type: 'number', minimum: 1, maximum: LONGEST_SECONDS, description }) as const;
const late = {
  type: 'number',
  minimum: 0,
  maximum: LONGEST_SECONDS,
  default: 60,
  description: 'How late the steps after it may begin if the hub was off when it ended; 60 when absent',
} as const;

const messageText = (description: string) => ({ type: ['string', 'object'], minLength: 1, maxLength: 500, description }) as const;
const addressee = { ...person, description: 'For notify and ask: name of a person who gets notices; all of them when absent' } as const;

/** The schemas of the fields of steps that contain neither steps nor conditions, by the `type` of the step. */
const SIMPLE_STEPS = {
  wait: { required: ['seconds'], properties: { seconds: seconds('For wait: how long'), late_seconds: late } },
  set_flag: {
    required: ['flag', 'value'],
    properties: {
      flag: identifier('For set_flag: name of a flag of the house, such as vacation_mode'),
      value: { ...FLAG_VALUE, type: [...FLAG_VALUE.type, 'object'], description: 'For set_flag: its new value' },
      for_seconds: { type: 'number', minimum: 1, maximum: LONGEST_FLAG_SECONDS, description: 'For set_flag: it ends after this time' },
      until: { type: 'string', format: 'date-time', description: 'For set_flag: it ends at this time' },
    },
  },
  notify: {
    required: ['message'],
    properties: {
      message: messageText('For notify: what to say'),
      person: addressee,
      urgency: { enum: ['low', 'medium', 'high'], description: 'For notify: how much it matters; medium when absent' },
    },
  },
  ask: {
    required: ['name', 'question', 'timeout_seconds'],
    properties: {
      name: identifier('For ask: name of the answer, for {"answer": "NAME"} and answers.NAME in expressions'),
      question: messageText('For ask: what to ask'),
      person: addressee,
      answers: {
        type: 'array',
        minItems: 2,
        maxItems: 6,
        uniqueItems: true,
        items: { type: 'string', minLength: 1, maxLength: 40, pattern: WRITTEN_LINE },
        default: ['yes', 'no'],
        description: 'For ask: the answers from which the person chooses; yes and no when absent',
      },
      timeout_seconds: seconds('For ask: how long to wait for the answer'),
      on_timeout: {
        enum: ['stop', 'continue', 'answer'],
        default: 'stop',
        description: 'For ask: without an answer the run ends, goes on with an empty answer, or goes on with timeout_answer',
      },
      timeout_answer: { type: 'string', maxLength: 40, description: 'For ask with on_timeout answer: one of answers' },
      late_seconds: late,
    },
  },
} as const;

const CONDITIONS_REF = { $ref: '#/$defs/conditions' } as const;
const STEPS_REF = { $ref: '#/$defs/steps' } as const;
/** Each repetition then has a step that counts for the largest number of steps of a run. */
const SOME_STEPS_REF = { ...STEPS_REF, minItems: 1 } as const;

/** The schemas of the fields of steps with steps or conditions in them, by the `type` of the step. */
const COMPOSITE_STEPS = {
  wait_until: {
    required: ['conditions', 'timeout_seconds'],
    properties: {
      conditions: CONDITIONS_REF,
      timeout_seconds: seconds('For wait_until: longest wait'),
      on_timeout: { enum: ['stop', 'continue'], default: 'stop', description: 'For wait_until: what happens if they do not hold in time' },
      late_seconds: late,
    },
  },
  choose: {
    required: ['options'],
    properties: {
      options: {
        type: 'array',
        minItems: 1,
        maxItems: 8,
        items: {
          type: 'object',
          required: ['conditions', 'actions'],
          additionalProperties: false,
          properties: { conditions: CONDITIONS_REF, actions: STEPS_REF },
        },
      },
      otherwise: { ...STEPS_REF, default: [] },
    },
  },
  repeat: {
    required: ['actions'],
    properties: {
      count: { type: 'integer', minimum: 1, maximum: MAX_REPETITIONS },
      while: CONDITIONS_REF,
      max: { type: 'integer', minimum: 1, maximum: MAX_REPETITIONS, default: MAX_REPETITIONS },
      actions: SOME_STEPS_REF,
    },
  },
  parallel: { required: ['branches'], properties: { branches: { type: 'array', minItems: 1, maxItems: 8, items: SOME_STEPS_REF } } },
} as const;

/** The names of all types of steps. */
export const STEP_TYPES = [...Object.keys(SIMPLE_STEPS), ...Object.keys(COMPOSITE_STEPS)];

/** Descriptions of the members of all steps, for callers that write steps. They fill in no default, since each is of some types only. */
export const STEP_MEMBERS: Readonly<Record<string, JsonSchema>> = withoutDefaults({
  ...ACTION,
  ...SIMPLE_STEPS.wait.properties,
  ...SIMPLE_STEPS.set_flag.properties,
  ...SIMPLE_STEPS.notify.properties,
  ...SIMPLE_STEPS.ask.properties,
  timeout_seconds: seconds('For wait_until and ask: longest wait'),
  conditions: { type: 'array', description: 'For wait_until: as the conditions of the automation' },
  on_timeout: {
    ...SIMPLE_STEPS.ask.properties.on_timeout,
    description: 'For wait_until and ask: ends the run, goes on, or (ask) goes on with timeout_answer',
  },
  options: { type: 'array', description: 'For choose: the first of {conditions, actions} whose conditions hold is done' },
  otherwise: { type: 'array', description: 'For choose: steps if no option holds' },
  count: { ...COMPOSITE_STEPS.repeat.properties.count, description: 'For repeat: how often' },
  while: { type: 'array', description: 'For repeat, instead of count: conditions that have to hold before each time' },
  max: { ...COMPOSITE_STEPS.repeat.properties.max, description: 'For repeat with while: most times' },
  actions: { type: 'array', description: 'For repeat: the steps' },
  branches: { type: 'array', description: 'For parallel: lists of steps that are done at the same time' },
});

/** One call of a tool. Its parameters may refer to facts of the trigger, such as `{"trigger": "value"}`, and to expressions. */
export type Action = FileValue<{ readonly properties: typeof ACTION; readonly required: readonly ['tool', 'params', 'on_error'] }>;
/** Waits for a time. */
export type WaitStep = { readonly type: 'wait' } & FileValue<typeof SIMPLE_STEPS.wait>;
/** Sets a flag of the house. `value` may be an expression. */
export type SetFlagStep = { readonly type: 'set_flag'; readonly value: Json } & Omit<FileValue<typeof SIMPLE_STEPS.set_flag>, 'value'>;
/** Sends a message to a person. `message` may be an expression. */
export type NotifyStep = { readonly type: 'notify'; readonly message: Json } & Omit<FileValue<typeof SIMPLE_STEPS.notify>, 'message'>;
/** Asks a person, and waits for the answer. `question` may be an expression. */
export type AskStep = { readonly type: 'ask'; readonly question: Json } & Omit<FileValue<typeof SIMPLE_STEPS.ask>, 'question'>;
/** Waits until conditions hold. */
export interface WaitUntilStep {
  readonly type: 'wait_until';
  readonly conditions: readonly Condition[];
  readonly timeout_seconds: number;
  readonly on_timeout: 'stop' | 'continue';
  readonly late_seconds: number;
}
/** Does the steps of the first option whose conditions hold. */
export interface ChooseStep {
  readonly type: 'choose';
  readonly options: readonly { readonly conditions: readonly Condition[]; readonly actions: readonly Step[] }[];
  readonly otherwise: readonly Step[];
}
/** Does steps again and again. Has exactly one of `count` and `while`. */
export interface RepeatStep {
  readonly type: 'repeat';
  readonly count?: number;
  readonly while?: readonly Condition[];
  readonly max: number;
  readonly actions: readonly Step[];
}
/** Does several lists of steps at the same time, and goes on when all have ended. */
export interface ParallelStep {
  readonly type: 'parallel';
  readonly branches: readonly (readonly Step[])[];
}
/** A step that is no call of a tool of the author's choice. */
export type TypedStep = WaitStep | SetFlagStep | NotifyStep | AskStep | WaitUntilStep | ChooseStep | RepeatStep | ParallelStep;
/** One step of an automation. One with `tool` is a call. */
export type Step = Action | TypedStep;

/** Schema of a list of steps, whose composite steps refer to it by `#/$defs/steps` and to conditions by `#/$defs/conditions`. */
export const STEPS_SCHEMA: JsonSchema = {
  type: 'array',
  maxItems: MAX_LISTED,
  items: {
    type: 'object',
    if: { required: ['type'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { type: { enum: STEP_TYPES } }, allOf: strictBranches({ ...SIMPLE_STEPS, ...COMPOSITE_STEPS }) },
    else: {
      required: ['tool'],
      additionalProperties: false,
      properties: { ...ACTION, params: { ...ACTION.params, default: {} }, on_error: { ...ACTION.on_error, default: 'stop' } },
    },
  },
};

/** Returns whether a step is a call of a tool. */
export function isAction(step: Step): step is Action {
  return 'tool' in step;
}

/** A list of steps within a step, with the keys that lead to it. */
type PlacedList = readonly [path: readonly (string | number)[], steps: readonly Step[]];

/** Returns the lists of steps within a step, each with its place in the step. */
export function placedListsIn(step: Step): readonly PlacedList[] {
  if (isAction(step)) return [];
  if (step.type === 'choose') {
    const options = step.options.map(({ actions }, index): PlacedList => [['options', index, 'actions'], actions]);
    return [...options, [['otherwise'], step.otherwise]];
  }
  if (step.type === 'repeat') return [[['actions'], step.actions]];
  return step.type === 'parallel' ? step.branches.map((steps, index): PlacedList => [['branches', index], steps]) : [];
}

/** Returns the lists of steps within a step. */
export function listsIn(step: Step): readonly (readonly Step[])[] {
  return placedListsIn(step).map(([, steps]) => steps);
}

/** Returns the lists of conditions of a step itself. */
function conditionsOf(step: Step): readonly (readonly Condition[])[] {
  if (isAction(step)) return [];
  if (step.type === 'choose') return step.options.map(({ conditions }) => conditions);
  if (step.type === 'repeat') return step.while ? [step.while] : [];
  return step.type === 'wait_until' ? [step.conditions] : [];
}

/** Returns the steps and all steps within them, at any depth. */
export function allSteps(steps: readonly Step[]): readonly Step[] {
  return steps.flatMap((step) => [step, ...listsIn(step).flatMap(allSteps)]);
}

/** Returns the lists of conditions in steps, at any depth of steps. */
export function conditionsIn(steps: readonly Step[]): readonly (readonly Condition[])[] {
  return allSteps(steps).flatMap(conditionsOf);
}

/** Returns the names of the answers that steps ask for, at any depth, each with the answers that may come. */
export function answersIn(steps: readonly Step[]): ReadonlyMap<string, readonly string[]> {
  return new Map(allSteps(steps).flatMap((step) => ('type' in step && step.type === 'ask' ? [[step.name, step.answers] as const] : [])));
}

interface PlanParts {
  readonly conditions: readonly Condition[];
  readonly actions: readonly Step[];
}

/** Returns the texts of all expressions that a run may evaluate: those of conditions, and those in the values of steps. */
export function expressionsOf({ conditions, actions }: PlanParts): readonly string[] {
  const asked = simpleConditions([...conditions, ...conditionsIn(actions).flat()]);
  const texts = asked.flatMap((condition) => (condition.type === 'expression' ? [condition.expr] : []));
  return [...texts, ...allSteps(actions).flatMap((step) => [...referencesIn(valuesOf(step), 'expr')])];
}

/** Returns the values of a step itself in which references and expressions are filled in at each run. */
function valuesOf(step: Step): Json {
  if (isAction(step)) return step.params;
  if (step.type === 'notify') return step.message;
  if (step.type === 'ask') return step.question;
  return step.type === 'set_flag' ? step.value : null;
}

function withoutDefaults(members: Readonly<Record<string, JsonSchema>>): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(Object.entries(members).map(([name, { default: _, ...schema }]) => [name, schema]));
}
