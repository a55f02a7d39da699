import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { parseAutomationText } from '../../../src/automations/plan/automation-text.ts';
import { yamlText } from '../../../src/core/config/checked-yaml.ts';
import { isJsonObject, type Json, type JsonObject, pointerTo, valueAt } from '../../../src/core/json.ts';
import type { ToolView } from '../../../src/web/api/hub-types.ts';
import type { FormField } from '../../../src/web/components/schema-fields.ts';
import { type FormHome, limitFields } from '../../../src/web/pages/automation-fields.ts';
import { KINDS, kindOf, type ListName, type PartKind } from '../../../src/web/pages/automation-parts.ts';
import {
  answersOf,
  conditionIn,
  hiddenPart,
  innerPartCount,
  knownPointers,
  nearestPointer,
  negated,
  partOfKind,
  partsAt,
  shownDefinition,
  toolsOf,
  withPart,
  withStepEarlier,
  withValue,
} from '../../../src/web/pages/automation-shape.ts';

const PARAMETERS: Readonly<Record<string, JsonObject>> = {
  'matter:lamp_turn_on': { type: 'object', properties: {} },
  'matter:lamp_set': {
    type: 'object',
    required: ['brightness'],
    properties: {
      brightness: { type: 'integer', minimum: 1, maximum: 100, 'x-unit': '%' },
      transition_seconds: { type: 'number' },
      effect: { enum: ['none', 'blink'] },
      colours: { type: 'array', items: { type: 'string' } },
      more: { type: 'object', additionalProperties: false, properties: { name: { type: 'string' }, bright: { type: 'boolean' } } },
    },
  },
  'core:set_thermostat': {
    type: 'object',
    properties: { device_id: { type: 'string' }, target_temp: { type: 'number' }, extra: { type: 'object' } },
  },
};

function homeWith(parameters: (name: string) => JsonObject | undefined): FormHome {
  return {
    sensors: [{ value: 'hall/temperature', title: 'Hall temperature' }],
    devices: [{ value: 'lamp', title: 'Lamp' }],
    people: [{ value: 'ann', title: 'Ann' }],
    flags: ['night'],
    reading: () => undefined,
    tool: (name) => {
      const known = parameters(name);
      return known && ({ id: name, name, description: '', available: true, parameters: known } satisfies ToolView);
    },
    answers: [],
  };
}

const HOME = homeWith((name) => PARAMETERS[name]);

const clock = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'));
const line = fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom('a', 'b', ' ', 'ä', '"', ':', '#', '-', '7') });

/** Returns values that a person can enter in a field. */
function entered(field: FormField): fc.Arbitrary<Json> {
  switch (field.kind) {
    case 'number':
      return field.isWhole
        ? fc.integer({ min: field.min ?? -900, max: field.max ?? 900 })
        : fc.double({ min: -1e6, max: 1e6, noNaN: true }).map((one) => one + 0);
    case 'named':
      return field.options.length === 0 ? line : fc.oneof(fc.constantFrom(...field.options.map(({ value }) => value)), line);
    case 'duration':
      return fc.integer({ min: 1, max: 86_400 });
    case 'clock':
      return clock;
    case 'flag':
      return fc.boolean();
    case 'choice':
      return fc.constantFrom(...field.options);
    case 'some':
      return fc.subarray(
        field.options.map(({ value }) => value),
        { minLength: 1 },
      );
    case 'list':
      return fc.array(line, { maxLength: 3 });
    case 'json':
      return fc.constant({ any: ['thing', 1, null] });
    case 'group':
      return members(field.fields);
    default:
      return line;
  }
}

/** Returns objects with the members that some fields are for, without some of those that may be left out. */
function members(fields: readonly FormField[]): fc.Arbitrary<JsonObject> {
  const entries = fields.map((field) => {
    const value = entered(field).map((one): [string, Json] => [String(field.path.at(-1)), one]);
    return field.isRequired ? value : fc.option(value, { nil: undefined });
  });
  return fc.tuple(...entries).map((some) => Object.fromEntries(some.filter((entry) => entry !== undefined)));
}

function partsOf(list: ListName, depth: number): fc.Arbitrary<JsonObject> {
  const kinds = depth > 0 ? KINDS[list] : KINDS[list].filter(({ lists }) => !lists);
  const part = fc.constantFrom(...kinds).chain((kind) => partWith(kind, depth));
  return list === 'conditions' ? fc.tuple(part, fc.boolean()).map(([one, isNegated]) => negated(one, isNegated) as JsonObject) : part;
}

function partWith(kind: PartKind, depth: number): fc.Arbitrary<JsonObject> {
  const start =
    'tool' in kind.start ? fc.constantFrom(...Object.keys(PARAMETERS)).map((tool): JsonObject => ({ tool })) : fc.constant(kind.start);
  return start.chain((begun) => {
    const filled = members(kind.fields({ path: [], part: begun, home: HOME }).filter(({ path }) => path[0] !== 'expr'));
    const expression = begun.type === 'expression' ? { expr: 'answers.answer == "yes"' } : {};
    const whole = filled.map((own): JsonObject => ({ ...begun, ...own, ...expression }));
    return whole.chain((own) => withLists(own, kind, depth));
  });
}

function withLists(part: JsonObject, kind: PartKind, depth: number): fc.Arbitrary<JsonObject> {
  const lists = kind.lists?.(part) ?? [];
  return fc
    .tuple(...lists.map(({ of }) => fc.array(partsOf(of, depth - 1), { maxLength: 2 })))
    .map((filled) => lists.reduce((whole, { path }, index) => withValue(whole, path, filled[index] ?? []), part));
}

/** Automations that a person can write with the form. */
const automations: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.oneof(partsOf('trigger', 0), fc.array(partsOf('trigger', 0), { maxLength: 3 })),
    fc.option(fc.array(partsOf('conditions', 0), { maxLength: 3 }), { nil: undefined }),
    fc.array(partsOf('actions', 2), { maxLength: 3 }),
    members(limitFields()),
  )
  .map(([trigger, conditions, actions, limits]) => ({ trigger, ...(conditions && { conditions }), actions, ...limits }));

/** Returns the paths of all objects in a value. */
function objectsWithin(value: Json, path: readonly string[] = []): readonly (readonly string[])[] {
  if (Array.isArray(value)) return value.flatMap((item: Json, index) => objectsWithin(item, [...path, String(index)]));
  if (!isJsonObject(value)) return [];
  return [path, ...Object.entries(value).flatMap(([name, item]) => objectsWithin(item, [...path, name]))];
}

/** Returns the value with one more member in the object at a path. */
function withMember(value: Json, [key, ...rest]: readonly string[], [name, member]: readonly [string, Json]): Json {
  if (key === undefined) return { ...(value as JsonObject), [name]: member };
  if (Array.isArray(value))
    return value.map((item: Json, index) => (String(index) === key ? withMember(item, rest, [name, member]) : item));
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([own, item]) => [own, own === key ? withMember(item, rest, [name, member]) : item]),
  );
}

describe('what the form shows', () => {
  test('is the whole automation, whatever a person enters, and stays so when it is written as text and read again', () => {
    fc.assert(
      fc.property(automations, (config) => {
        expect(hiddenPart(config, HOME)).toBeUndefined();
        expect(shownDefinition(config, HOME)).toEqual(config);
        const read = parseAutomationText(yamlText(config));
        expect(read).toMatchObject({ config });
        if ('config' in read) expect(shownDefinition(read.config, HOME)).toEqual(config);
      }),
      { numRuns: 300 },
    );
  });

  test('is never the whole automation if any part of it has a member that the form does not know', () => {
    fc.assert(
      fc.property(automations, fc.nat(), fc.constantFrom<Json>(null, false, 0, '', [], {}), (config, chosen, value) => {
        // A value that is typed as JSON is shown as it is, with all of its members.
        const places = objectsWithin(config).filter((path) => !path.includes('extra'));
        const place = places[chosen % places.length] ?? [];
        const more = withMember(config, place, ['time_zone_of_the_moon', value]) as JsonObject;
        // Of the parameters of a call, all are shown or none.
        const hidden = hiddenPart(more, HOME)?.map(String);
        expect(hidden).toEqual([...place, 'time_zone_of_the_moon'].slice(0, hidden?.length));
      }),
      { numRuns: 300 },
    );
  });

  test('stays the whole automation when a part gets another kind, is negated, is added or moves', () => {
    fc.assert(
      fc.property(automations, fc.constantFrom<ListName>('trigger', 'conditions', 'actions'), fc.nat(), (config, list, chosen) => {
        const kinds = KINDS[list];
        const kind = kinds[chosen % kinds.length] ?? kinds[0];
        if (!kind) throw new Error('There is no kind');
        const added = withPart(config, [list], kind.start);
        expect(hiddenPart(added, HOME)).toBeUndefined();
        const parts = partsAt(added, [list]);
        const placed = parts[chosen % parts.length];
        if (!placed) throw new Error('There is no part');
        const { path, part } = list === 'conditions' ? conditionIn(placed) : placed;
        expect(hiddenPart(withValue(added, path, partOfKind(kind, part, { list, home: HOME })), HOME)).toBeUndefined();
        expect(hiddenPart(withValue(added, placed.path, undefined), HOME)).toBeUndefined();
        if (list === 'conditions') expect(hiddenPart(withValue(added, placed.path, negated(part, true)), HOME)).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['a reference to a parameter', { trigger: { type: 'time', at: { param: 'start' } }, actions: [] }, 'trigger/at'],
    ['a cron expression', { trigger: [{ type: 'time', cron: '* * * * *' }], actions: [] }, 'trigger/0'],
    ['a time zone', { trigger: [{ type: 'time', at: '07:00', time_zone: 'Europe/Berlin' }], actions: [] }, 'trigger/0/time_zone'],
    ['parameters', { parameters: { dark: { value: 1 } }, trigger: [], actions: [] }, 'parameters'],
    ['two bounds at once', { trigger: [{ type: 'reading', sensor_id: 'a/b', above: 1, below: 2 }], actions: [] }, 'trigger/0/below'],
    [
      'a value that is computed in the run',
      { trigger: [], actions: [{ tool: 'matter:lamp_set', params: { brightness: { expr: '1' } } }] },
      'actions/0/params',
    ],
    [
      'a parameter that the tool does not have',
      { trigger: [], actions: [{ tool: 'matter:lamp_turn_on', params: { fast: true } }] },
      'actions/0/params',
    ],
    ['parameters of a tool that is gone', { trigger: [], actions: [{ tool: 'matter:gone', params: { fast: true } }] }, 'actions/0/params'],
    ['a message that is computed', { trigger: [], actions: [{ type: 'notify', message: { expr: '"a"' } }] }, 'actions/0/message'],
    ['another expression', { trigger: [], conditions: [{ type: 'expression', expr: 'flags.a' }], actions: [] }, 'conditions/0'],
    [
      'several conditions in a not',
      {
        trigger: [],
        conditions: [
          {
            type: 'not',
            conditions: [
              { type: 'flag', flag: 'a' },
              { type: 'flag', flag: 'b' },
            ],
          },
        ],
        actions: [],
      },
      'conditions/0',
    ],
    [
      'a step within a loop',
      { trigger: [], actions: [{ type: 'repeat', count: 2, actions: [{ type: 'wait', seconds: 1 }] }] },
      'actions/0',
    ],
    [
      'a text with two lines in a field of one line',
      { trigger: [], actions: [{ type: 'set_flag', flag: 'a', value: 'x\ny' }] },
      'actions/0/value',
    ],
    ['what is no list', { trigger: [], actions: { tool: 'matter:lamp_turn_on' } }, 'actions'],
  ] as readonly [string, JsonObject, string][])('is not %s', (_what, config, place) => {
    expect(hiddenPart(config, HOME)?.join('/')).toBe(place);
  });
});

describe('the examples of the documentation', () => {
  const page = readFileSync(new URL('../../../docs/automations.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/\((\w[\w-]*)\.yaml\)\n\n```yaml\n([\s\S]*?)```/g)].map(
    ([, name = '', text = '']) => [name, parseYaml(text) as JsonObject] as const,
  );
  const number = { type: 'number' };
  const home = homeWith(() => ({
    type: 'object',
    properties: { brightness: number, target_temp: number, open_percent: number, device_id: { type: 'string' }, scene: { type: 'string' } },
  }));

  test('open in the form completely, or say what the form has no field for', () => {
    const hidden = Object.fromEntries(examples.map(([name, config]) => [name, hiddenPart(config, home)?.join('/')]));
    expect(hidden).toEqual({
      'hall-light': 'parameters',
      'wall-button': undefined,
      'warm-up': 'parameters',
      'evening-light': undefined,
      'motion-light': undefined,
      'good-night': undefined,
      'door-light': undefined,
      'lived-in': 'trigger/1',
      weekend: undefined,
      doorbell: 'trigger',
      blinds: 'parameters',
      bath: 'actions/1/otherwise/0/params',
      watch: 'trigger/0',
    });
  });
});

describe('a change in the form', () => {
  const config: JsonObject = {
    trigger: { type: 'time', at: '07:00' },
    actions: [
      { type: 'wait', seconds: 1 },
      { type: 'ask', name: 'warm', question: 'Warm?', timeout_seconds: 60, answers: ['hot', 'no'] },
      { tool: 'matter:lamp_turn_on' },
    ],
  };

  test('of one value leaves everything else as it is', () => {
    expect(withValue(config, ['trigger', 'at'], '08:00')).toEqual({ ...config, trigger: { type: 'time', at: '08:00' } });
  });

  test('that adds a trigger makes a list of a single one', () => {
    expect(withPart(config, ['trigger'], { type: 'sun', event: 'dusk' }).trigger).toEqual([config.trigger, { type: 'sun', event: 'dusk' }]);
  });

  test('moves a step before the one before it', () => {
    const tools = (withStepEarlier(config, ['actions', 2]).actions as readonly JsonObject[]).map(({ type, tool }) => type ?? tool);
    expect(tools).toEqual(['wait', 'matter:lamp_turn_on', 'ask']);
  });

  const kindWith = (list: ListName, title: PartKind['title']): PartKind => {
    const found = KINDS[list].find((kind) => kind.title === title);
    if (!found) throw new Error(`There is no kind ${title}`);
    return found;
  };

  test.each<[string, ListName, JsonObject, PartKind['title'], JsonObject]>([
    [
      'a gone sensor and its time',
      'trigger',
      { type: 'reading', sensor_id: 'gone/t', above: 20, for_seconds: 60, hysteresis: 1 },
      'form.trigger_below',
      { type: 'reading', sensor_id: 'gone/t', below: null, for_seconds: 60, hysteresis: 1 },
    ],
    [
      'the person and the time of a question',
      'actions',
      { type: 'ask', name: 'a', question: 'Why?', person: 'ann', timeout_seconds: 60, on_timeout: 'continue' },
      'form.step_wait_until',
      { type: 'wait_until', conditions: [], timeout_seconds: 60, on_timeout: 'continue' },
    ],
    [
      'a person',
      'actions',
      { type: 'ask', name: 'a', question: null, person: 'ann', timeout_seconds: 1 },
      'form.step_notify',
      { type: 'notify', message: null, person: 'ann' },
    ],
    [
      'no event that means something else',
      'trigger',
      { type: 'sun', event: 'dusk' },
      'form.trigger_device_event',
      { type: 'device_event', device_id: null, event: null },
    ],
    [
      'no place that is no answer of a device',
      'conditions',
      { type: 'presence', is: 'away' },
      'form.condition_reachability',
      { type: 'reachability', device_id: null, is: 'reachable' },
    ],
    [
      'no hour that is no event of the sun',
      'conditions',
      { type: 'time', after: '20:00' },
      'form.condition_sun',
      { type: 'sun', after: 'sunset', before: 'sunrise' },
    ],
  ])('of the kind of a part keeps %s', (_what, list, before, title, after) => {
    expect(partOfKind(kindWith(list, title), before, { list, home: HOME })).toEqual(after);
  });

  test('of the kind of a part drops the parts in it, which are counted', () => {
    const step = { type: 'wait', seconds: 1 };
    expect(innerPartCount(step, 'actions')).toBe(0);
    const options = [
      { conditions: [{ type: 'flag', flag: 'a' }], actions: [step, step] },
      { conditions: [], actions: [] },
    ];
    expect(innerPartCount({ type: 'choose', options, otherwise: [step] }, 'actions')).toBe(4);
  });

  test('begins a condition about the time of day with hours of which each can be left out', () => {
    const kind = kindWith('conditions', 'form.condition_time');
    for (const left of ['after', 'before']) {
      const config = withValue({ trigger: [], conditions: [kind.start], actions: [] }, ['conditions', 0, left], undefined);
      expect(hiddenPart(config, HOME)).toBeUndefined();
      expect(kind.fields({ path: [], part: kind.start, home: HOME }).filter(({ isRequired }) => isRequired)).toEqual([]);
    }
  });

  test('offers the answers of its questions to conditions', () => {
    expect(answersOf(config, (name, answer) => `${name}: ${answer}`)).toEqual([
      { value: 'answers.warm == "hot"', title: 'warm: hot' },
      { value: 'answers.warm == "no"', title: 'warm: no' },
    ]);
    expect(toolsOf(config)).toEqual(['matter:lamp_turn_on']);
  });
});

describe('a mistake', () => {
  test('stands at its field, or at the nearest part that the form shows', () => {
    const config: JsonObject = {
      trigger: [{ type: 'time', at: null }],
      conditions: [negated({ type: 'flag', flag: 'a' }, true)],
      actions: [{ tool: 'matter:lamp_set', params: { colours: ['red'] } }],
    };
    const known = knownPointers(config, HOME);
    const place = (pointer: string) => nearestPointer(pointer, known);
    expect(place('/trigger/0/at')).toBe('/trigger/0/at');
    expect(place('/trigger/0/cron')).toBe('/trigger/0');
    expect(place('/conditions/0/conditions/0/flag')).toBe('/conditions/0/conditions/0/flag');
    expect(place('/actions/0/params/brightness')).toBe('/actions/0/params/brightness');
    expect(place('/actions/0/params/colours/0')).toBe('/actions/0/params/colours/0');
    expect(place('/actions/0/tool')).toBe('/actions/0');
    expect(place('/parameters/x')).toBe('');
  });

  test('of each field of each kind has a place of its own', () => {
    for (const list of ['trigger', 'conditions', 'actions'] as const) {
      for (const kind of KINDS[list]) {
        const config: JsonObject = { [list]: [kind.start] };
        const part = kindOf(kind.start, list);
        expect(part).toBe(kind);
        const fields = kind.fields({ path: [list, 0], part: kind.start, home: HOME });
        for (const { path } of fields) expect(knownPointers(config, HOME)).toContain(pointerTo(path));
        expect(valueAt(config, [list, '0'])).toEqual(kind.start);
      }
    }
  });
});
