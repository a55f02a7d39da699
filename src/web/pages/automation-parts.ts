import { isJsonObject, type Json, type JsonObject, objectsOf } from '../../core/json.ts';
import { type FieldPath, type FormField, schemaFields } from '../components/schema-fields.ts';
import { type TextKey, text } from '../texts/text.ts';
import {
  CLOCK,
  DURATION,
  devices,
  field,
  flagName,
  LONG,
  likeValue,
  line,
  type Member,
  minutes,
  namedChoice,
  number,
  onTimeout,
  PLACES,
  type Place,
  people,
  reachable,
  sensors,
  sunEvents,
  URGENCIES,
  weekdays,
} from './automation-fields.ts';

/** The lists of an automation and of its steps. */
export type ListName = 'trigger' | 'conditions' | 'actions';

/** A list within a part, such as the steps of a choice. */
export interface InnerList {
  /** Path within the part. */
  readonly path: FieldPath;
  readonly of: ListName;
  readonly label: string;
  /** The case of a choice that begins with this list, if it is not the only one. */
  readonly removable?: { readonly path: FieldPath; readonly label: string };
}

/** A kind of triggers, conditions or steps for which the form has fields. */
export interface PartKind {
  /** Its name for people. */
  readonly title: TextKey;
  /** A new part of this kind. Members that have to be filled in are null. */
  readonly start: JsonObject;
  /** Members that all parts of this kind have and that no field shows. */
  readonly fixed: readonly string[];
  is(part: JsonObject): boolean;
  fields(place: Place): readonly FormField[];
  lists?(part: JsonObject): readonly InnerList[];
  /** The cases of a choice, to which a person can add another. */
  readonly cases?: { readonly path: FieldPath; readonly start: JsonObject; readonly add: TextKey };
}

const has = (type: string, member?: string) => (part: JsonObject) => part.type === type && (member === undefined || member in part);

function comparison(member: 'above' | 'below' | 'equals', list: 'trigger' | 'condition', ...more: readonly Member[]): PartKind {
  return {
    title: `form.${list}_${member}`,
    start: { type: 'reading', sensor_id: null, [member]: null },
    fixed: ['type'],
    is: has('reading', member),
    fields: ({ path, part, home }) => {
      const reading = home.reading(String(part.sensor_id));
      const value = member === 'equals' ? likeValue(part.equals ?? reading?.value) : number(reading?.unit);
      return [
        field('sensor_id', sensors(home), { path, need: 'needed' }),
        field(member, value, { path, need: 'needed' }),
        ...more.map((one) => field(one, one === 'hysteresis' ? number(reading?.unit) : DURATION, { path })),
      ];
    },
  };
}

/** The kinds of triggers, in the order in which the form offers them. */
const TRIGGER_KINDS: readonly PartKind[] = [
  {
    title: 'form.trigger_at',
    start: { type: 'time', at: null },
    fixed: ['type'],
    is: has('time', 'at'),
    fields: ({ path }) => [field('at', CLOCK, { path, need: 'needed' }), field('days', weekdays(), { path })],
  },
  {
    title: 'form.trigger_sun',
    start: { type: 'sun', event: 'sunset' },
    fixed: ['type'],
    is: has('sun'),
    fields: ({ path }) => [field('event', sunEvents(), { path, need: 'needed' }), field('offset_minutes', minutes(), { path })],
  },
  comparison('above', 'trigger', 'for_seconds', 'hysteresis'),
  comparison('below', 'trigger', 'for_seconds', 'hysteresis'),
  comparison('equals', 'trigger', 'for_seconds'),
  {
    title: 'form.trigger_presence',
    start: { type: 'presence', becomes: 'home' },
    fixed: ['type'],
    is: has('presence'),
    fields: ({ path, home }) => [
      field(
        'becomes',
        namedChoice(PLACES, (value) => text(`form.becomes_${value}`)),
        { path, need: 'needed' },
      ),
      field('person', people(home, text('form.first_or_last')), { path }),
    ],
  },
  {
    title: 'form.trigger_device_event',
    start: { type: 'device_event', device_id: null, event: null },
    fixed: ['type'],
    is: has('device_event'),
    fields: ({ path, home }) => [
      field('device_id', devices(home), { path, need: 'needed' }),
      field('event', line(text('form.event_help')), { path, need: 'needed' }),
    ],
  },
  {
    title: 'form.trigger_reachability',
    start: { type: 'reachability', device_id: null, becomes: 'unreachable' },
    fixed: ['type'],
    is: has('reachability'),
    fields: ({ path, home }) => [
      field('device_id', devices(home), { path, need: 'needed' }),
      field('becomes', reachable(), { path, need: 'needed' }),
    ],
  },
  {
    title: 'form.trigger_every',
    start: { type: 'every', seconds: 3600 },
    fixed: ['type'],
    is: has('every'),
    fields: ({ path }) => [field('seconds', DURATION, { path, need: 'needed' })],
  },
];

/** A condition that compares the answer to a question, as the form writes it. */
const ANSWER = /^answers\.[a-z][a-z0-9_]* == "[^"\\]*"$/;

/** Returns the expression that is true if somebody gave the answer to a question. */
export function answerExpression(name: string, answer: string): string {
  return `answers.${name} == ${JSON.stringify(answer)}`;
}

/** The kinds of conditions, in the order in which the form offers them. */
const CONDITION_KINDS: readonly PartKind[] = [
  {
    title: 'form.condition_time',
    start: { type: 'time', after: '22:00', before: '06:00' },
    fixed: ['type'],
    is: has('time'),
    fields: ({ path }) => [field('after', CLOCK, { path }), field('before', CLOCK, { path }), field('days', weekdays(), { path })],
  },
  {
    title: 'form.condition_sun',
    start: { type: 'sun', after: 'sunset', before: 'sunrise' },
    fixed: ['type'],
    is: has('sun'),
    fields: ({ path }) => [
      field('after', sunEvents(text('form.no_bound')), { path }),
      field('after_offset_minutes', minutes(), { path }),
      field('before', sunEvents(text('form.no_bound')), { path }),
      field('before_offset_minutes', minutes(), { path }),
    ],
  },
  {
    title: 'form.condition_flag',
    start: { type: 'flag', flag: null },
    fixed: ['type'],
    is: has('flag'),
    fields: ({ path, part, home }) => [
      field('flag', flagName(home), { path, need: 'needed' }),
      field('is', { ...likeValue(part.is ?? true), fallback: true }, { path }),
    ],
  },
  {
    title: 'form.condition_presence',
    start: { type: 'presence', is: 'home' },
    fixed: ['type'],
    is: has('presence'),
    fields: ({ path, home }) => [
      field(
        'is',
        namedChoice(PLACES, (value) => text(`form.is_${value}`)),
        { path, need: 'needed' },
      ),
      field('person', people(home, text('form.somebody_or_all')), { path }),
    ],
  },
  comparison('above', 'condition', 'max_age_seconds'),
  comparison('below', 'condition', 'max_age_seconds'),
  comparison('equals', 'condition', 'max_age_seconds'),
  {
    title: 'form.condition_reachability',
    start: { type: 'reachability', device_id: null, is: 'reachable' },
    fixed: ['type'],
    is: has('reachability'),
    fields: ({ path, home }) => [
      field('device_id', devices(home), { path, need: 'needed' }),
      field('is', reachable(), { path, need: 'needed' }),
    ],
  },
  {
    title: 'form.condition_answer',
    start: { type: 'expression', expr: null },
    fixed: ['type'],
    is: ({ type, expr }) => type === 'expression' && (expr === null || ANSWER.test(String(expr))),
    fields: ({ path, home }) => [field('expr', { kind: 'named', options: home.answers }, { path, need: 'needed' })],
  },
];

/** A new case of a choice. */
const CASE: JsonObject = { conditions: [], actions: [] };

/** The kinds of steps, in the order in which the form offers them. */
const STEP_KINDS: readonly PartKind[] = [
  { title: 'form.step_call', start: { tool: '' }, fixed: ['tool'], is: ({ tool }) => typeof tool === 'string', fields: callFields },
  {
    title: 'form.step_wait',
    start: { type: 'wait', seconds: 600 },
    fixed: ['type'],
    is: has('wait'),
    fields: ({ path }) => [
      field('seconds', DURATION, { path, need: 'needed' }),
      field('late_seconds', { ...DURATION, fallback: 60 }, { path }),
    ],
  },
  {
    title: 'form.step_wait_until',
    start: { type: 'wait_until', conditions: [], timeout_seconds: 3600 },
    fixed: ['type'],
    is: has('wait_until'),
    fields: ({ path }) => [field('timeout_seconds', DURATION, { path, need: 'needed' }), field('on_timeout', onTimeout(), { path })],
    lists: () => [{ path: ['conditions'], of: 'conditions', label: text('form.until') }],
  },
  {
    title: 'form.step_notify',
    start: { type: 'notify', message: null },
    fixed: ['type'],
    is: has('notify'),
    fields: ({ path, home }) => [
      field('message', LONG, { path, need: 'needed' }),
      field('person', people(home, text('form.all_adults')), { path }),
      field(
        'urgency',
        namedChoice(URGENCIES, (value) => text(`form.urgency_${value}`), text('form.urgency_medium')),
        { path },
      ),
    ],
  },
  {
    title: 'form.step_ask',
    start: { type: 'ask', name: 'answer', question: null, timeout_seconds: 3600 },
    fixed: ['type'],
    is: has('ask'),
    fields: ({ path, home }) => [
      field('question', LONG, { path, need: 'needed' }),
      field('person', people(home, text('form.all_adults')), { path }),
      field('answers', { kind: 'list', item: { type: 'string' }, minItems: 2, maxItems: 6, help: text('form.answers_help') }, { path }),
      field('name', line(text('form.name_help')), { path, need: 'needed' }),
      field('timeout_seconds', DURATION, { path, need: 'needed' }),
      field('on_timeout', onTimeout(), { path }),
      field('late_seconds', { ...DURATION, fallback: 60 }, { path }),
    ],
  },
  {
    title: 'form.step_set_flag',
    start: { type: 'set_flag', flag: null, value: true },
    fixed: ['type'],
    is: has('set_flag'),
    fields: ({ path, part, home }) => [
      field('flag', flagName(home), { path, need: 'needed' }),
      field('value', likeValue(part.value ?? true), { path, need: 'needed' }),
      field('for_seconds', DURATION, { path }),
    ],
  },
  {
    title: 'form.step_choose',
    start: { type: 'choose', options: [CASE] },
    fixed: ['type'],
    is: has('choose'),
    fields: () => [],
    lists: ({ options }) => [
      ...objectsOf(options).flatMap((_option, index, all) => caseLists(index, all.length)),
      { path: ['otherwise'], of: 'actions', label: text('form.otherwise') },
    ],
    cases: { path: ['options'], start: CASE, add: 'form.add_case' },
  },
];

function caseLists(index: number, count: number): readonly InnerList[] {
  const path = ['options', index];
  const removable = count > 1 && { removable: { path, label: text('form.remove_case', { number: index + 1 }) } };
  return [
    { path: [...path, 'conditions'], of: 'conditions', label: text('form.if'), ...removable },
    { path: [...path, 'actions'], of: 'actions', label: text('form.then') },
  ];
}

function callFields({ path, part, home }: Place): readonly FormField[] {
  const tool = home.tool(String(part.tool));
  if (!tool) return [];
  const params = schemaFields(tool.parameters, [...path, 'params']).map((one) => (isDevice(one) ? { ...one, ...devices(home) } : one));
  return [
    ...(params.length === 0 ? [] : [field('params', { kind: 'group', fields: params as readonly FormField[] }, { path })]),
    field(
      'on_error',
      namedChoice(['continue'], () => text('form.error_continue'), text('form.error_stop')),
      { path },
    ),
  ];
}

function isDevice({ kind, path }: FormField): boolean {
  return kind === 'text' && path.at(-1) === 'device_id';
}

/** The kinds of parts for which the form has fields, by the list in which they stand. */
export const KINDS: Readonly<Record<ListName, readonly PartKind[]>> = {
  trigger: TRIGGER_KINDS,
  conditions: CONDITION_KINDS,
  actions: STEP_KINDS,
};

/** Returns the kind of a part; undefined if the form has no fields for it. */
export function kindOf(part: Json | undefined, list: ListName): PartKind | undefined {
  return isJsonObject(part) ? KINDS[list].find((kind) => kind.is(part)) : undefined;
}
