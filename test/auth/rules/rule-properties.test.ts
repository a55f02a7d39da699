import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { compileRules, coversTerms } from '../../../src/auth/rules/rule-compiler.ts';
import type { RuleConditions, RuleEntry } from '../../../src/auth/rules/rule-file.ts';
import { type Rule, RuleSet } from '../../../src/auth/rules/rule-set.ts';
import { termsOf } from '../../../src/auth/rules/rule-terms.ts';
import type { CallToJudge, Effect } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { AGENT, callOf, effectOn, FACTS, OWNER } from './rule-fixture.ts';

const DEVICES = ['heater', 'lamp', 'front-door', 'garage'];
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const some = <T>(...items: readonly T[]) => fc.uniqueArray(fc.constantFrom(...items), { minLength: 1, maxLength: 2 });
const number = fc.integer({ min: 0, max: 5 });
const hour = fc.integer({ min: 0, max: 23 });

const conditions: fc.Arbitrary<RuleConditions> = fc.record(
  {
    agent: some('helper', 'helper/*', 'other', 'helper/kid'),
    kind: some('owner', 'agent'),
    tool: some('core:one', 'core:two', 'core:*', 'matter:*', '*'),
    device: some(...DEVICES, '*'),
    device_type: some('light', 'lock', 'thermostat'),
    area: some('kitchen', 'hall'),
    action: some('OnOff/On', 'OnOff/*', 'DoorLock/UnlockDoor'),
    risk: some('none', 'low', 'dangerous'),
    time: fc.tuple(hour, hour).map(([from, to]) => [{ from: `${from}:00`, to: `${to === from ? (from + 1) % 24 : to}:00` }]),
    days: some(...DAYS),
    value: fc.record({ name: fc.constantFrom('x', 'y'), above: number }).map((one) => [one]),
    param: fc.record({ '/p': fc.record({ below: number }) }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<RuleConditions>;

// Few conditions each, or hardly any rule would ever fit.
const few = fc.tuple(conditions, fc.uniqueArray(fc.integer({ min: 0, max: 11 }), { maxLength: 3 })).map(([all, kept]) => {
  const entries = Object.entries(all).filter((_, index) => kept.includes(index));
  return Object.fromEntries(entries) as RuleConditions;
});

const entry = fc.record({
  effect: fc.constantFrom('allow', 'deny', 'approve'),
  persons: fc.integer({ min: 1, max: 3 }),
  when: few,
}) satisfies fc.Arbitrary<Omit<RuleEntry, 'name'>>;

const effect: fc.Arbitrary<Effect> = fc
  .record({
    device: fc.constantFrom(...DEVICES),
    does: fc.constantFrom('OnOff/On', 'OnOff/Off', 'DoorLock/UnlockDoor'),
    risk: fc.constantFrom('none', 'low', 'dangerous'),
    x: fc.option(number),
    unforeseen: fc.option(some('x', 'y', '*')),
  })
  .map(({ device, x, unforeseen, does, risk }) =>
    effectOn(device, { does, risk, ...(x !== null && { values: { x } }), ...(unforeseen && { unforeseen }) }),
  );

const call: fc.Arbitrary<CallToJudge> = fc.record({
  principal: fc.constantFrom(OWNER, AGENT, { ...AGENT, id: 'helper/kid' }, { ...AGENT, id: 'other' }),
  toolId: fc.constantFrom('core:one@1.0.0', 'core:two@1.0.0', 'matter:lamp_on@1.0.0'),
  formerToolIds: fc.constantFrom([], ['core:old@1.0.0'], ['core:one@1.0.0']),
  params: fc.constantFrom({}, { p: 1 }, { p: 4 }, { p: 'x' }),
  effects: fc.array(effect, { maxLength: 3 }),
});

const list = fc.array(entry, { maxLength: 8 });
const minute = fc.option(fc.integer({ min: 0, max: 10_079 }), { nil: undefined });

function rulesOf(entries: readonly Omit<RuleEntry, 'name'>[]): readonly Rule[] {
  const refuse = (): never => {
    throw new AtmoError('CONFIG_INVALID', 'the generator made a rule without a meaning');
  };
  return entries.map(({ effect, persons, when }, index) => {
    return {
      name: `r${index}`,
      line: index,
      effect,
      ...(effect === 'approve' && persons && { persons }),
      when: {},
      terms: termsOf(when, refuse),
    };
  });
}

// The oracle: the meaning of rules in the plainest words, with nothing of the engine in it.
type Fit = boolean | undefined;

function oracleFit(when: RuleConditions, given: { call: CallToJudge; effect: Effect | undefined; minute: number | undefined }): Fit {
  const { effect: one, minute: now } = given;
  const { principal, toolId, formerToolIds, params } = given.call;
  const named = (test: (id: string) => boolean) => [toolId, ...formerToolIds].some(test);
  const isIn = <T>(items: readonly T[] | undefined, test: (item: T) => boolean): boolean => items === undefined || items.some(test);
  const ofEffect = (test: (effect: Effect) => boolean): boolean => one !== undefined && test(one);
  const isAgent = principal.kind !== 'owner';
  const plain: readonly boolean[] = [
    isIn(
      when.agent as string[],
      (a) => isAgent && (a.endsWith('/*') ? principal.id.startsWith(a.slice(0, -1)) : `${principal.id}/`.startsWith(`${a}/`)),
    ),
    isIn(when.kind as string[], (kind) => (kind === 'agent') === isAgent),
    isIn(when.tool as string[], (t) => t === '*' || named((id) => (t.endsWith('*') ? id.startsWith(t.slice(0, -1)) : id === `${t}@1.0.0`))),
    isIn(when.device as string[], (d) => ofEffect((e) => d === '*' || e.device === d)),
    isIn(when.device_type as string[], (t) => ofEffect((e) => FACTS.typesOf(e.device ?? '').has(t))),
    isIn(when.area as string[], (a) => ofEffect((e) => FACTS.areaOf(e.device ?? '') === a)),
    isIn(when.action as string[], (a) =>
      ofEffect((e) => (a.endsWith('*') ? e.target.includes(`/1/${a.slice(0, -1)}`) : e.target.endsWith(`/1/${a}`))),
    ),
    isIn(when.risk as string[], (r) => ofEffect((e) => e.risk === r)),
    when.param === undefined || (typeof params.p === 'number' && params.p < Number(when.param['/p']?.below)),
  ];
  if (plain.includes(false)) return false;
  const unsure = [timeFit(when, now), valueFit(when, one)];
  return unsure.includes(false) ? false : unsure.includes(undefined) ? undefined : true;
}

function timeFit({ time, days }: RuleConditions, now: number | undefined): Fit {
  if (time === undefined && days === undefined) return true;
  if (now === undefined) return undefined;
  const [window] = (time ?? [{ from: '0:00', to: '24:00' }]) as { from: string; to: string }[];
  const from = Number(window?.from.split(':')[0]) * 60;
  const to = Number(window?.to.split(':')[0]) * 60;
  const length = to > from ? to - from : to - from + 1440;
  return ((days ?? DAYS) as string[]).some((day) => {
    const start = DAYS.indexOf(day as 'mon') * 1440 + from;
    return (now - start + 20_160) % 10_080 < length;
  });
}

function valueFit({ value }: RuleConditions, effect: Effect | undefined): Fit {
  if (value === undefined) return true;
  const [{ name, above }] = value as [{ name: string; above: number }];
  const known = effect?.values?.[name];
  if (known !== undefined) return typeof known === 'number' && known > above;
  return effect?.unforeseen?.some((one) => one === name || one === '*') ? undefined : false;
}

function oracle(
  entries: readonly Omit<RuleEntry, 'name'>[],
  given: CallToJudge,
  around: { minute: number | undefined; isClosed: boolean },
): string {
  const decisions = (given.effects.length > 0 ? given.effects : [undefined]).map((one) => {
    for (const { effect: kind, persons, when } of entries) {
      const fit = oracleFit(when, { call: given, effect: one, minute: around.minute });
      if (fit === true || (fit === undefined && kind !== 'allow')) return kind === 'approve' ? `approve ${persons ?? 1}` : kind;
    }
    return around.isClosed && given.principal.kind !== 'owner' ? 'deny' : 'allow';
  });
  return ['deny', 'approve 3', 'approve 2', 'approve 1'].find((one) => decisions.includes(one)) ?? 'allow';
}

function verdictOf(set: RuleSet, given: CallToJudge, at: number | undefined): string {
  const verdict = set.judge(given, { facts: FACTS, minute: at });
  return verdict.kind === 'approve' ? `approve ${verdict.persons}` : verdict.kind;
}

describe('the engine', () => {
  test('says of any rules and any call what the oracle says', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(list, call, minute, fc.boolean(), (entries, given, at, isClosed) => {
        const wanted = oracle(entries, given, { minute: at, isClosed });
        seen.set(wanted, (seen.get(wanted) ?? 0) + 1);
        expect(verdictOf(new RuleSet(rulesOf(entries), isClosed ? 'deny' : 'allow'), given, at)).toBe(wanted);
      }),
      { numRuns: 3000 },
    );
    for (const verdict of ['deny', 'approve 1', 'approve 3', 'allow']) expect(seen.get(verdict), verdict).toBeGreaterThan(50);
  });

  test('explains what it judges: the same verdict, and a trial for each effect', () => {
    fc.assert(
      fc.property(list, call, minute, (entries, given, at) => {
        const set = new RuleSet(rulesOf(entries), 'deny');
        const { verdict, effects } = set.explain(given, { facts: FACTS, minute: at });
        expect(verdict).toEqual(set.judge(given, { facts: FACTS, minute: at }));
        expect(effects).toHaveLength(Math.max(1, given.effects.length));
        if (verdict.kind === 'deny') expect(effects.map(({ decision }) => decision)).toContain('deny');
        else expect(effects.map(({ decision }) => decision)).not.toContain('deny');
      }),
      { numRuns: 500 },
    );
  });

  test('does not care about the order of effects, and no further effect lifts a denial', () => {
    fc.assert(
      fc.property(list, call, effect, minute, (entries, given, more, at) => {
        const set = new RuleSet(rulesOf(entries), 'allow');
        const before = verdictOf(set, given, at);
        expect(verdictOf(set, { ...given, effects: given.effects.toReversed() }, at)).toBe(before);
        if (before !== 'deny' || given.effects.length === 0) return;
        expect(verdictOf(set, { ...given, effects: [more, ...given.effects] }, at)).toBe('deny');
        expect(verdictOf(set, { ...given, effects: [...given.effects, more] }, at)).toBe('deny');
      }),
      { numRuns: 1000 },
    );
  });

  test('a rule that is refused for a contradiction would never have decided', () => {
    let refused = 0;
    fc.assert(
      fc.property(few, few, call, minute, (first, second, given, at) => {
        const rules = rulesOf([
          { effect: 'deny', when: first },
          { effect: 'approve', when: { ...first, ...second } },
        ] as RuleEntry[]);
        // What the compiler refuses, without the file around it.
        const [earlier, later] = rules;
        if (!earlier || !later || !coversTerms(earlier.terms, later.terms)) return;
        refused++;
        const { effects } = new RuleSet(rules, 'allow').explain(given, { facts: FACTS, minute: at });
        expect(effects.map(({ rule }) => rule)).not.toContain('r1');
      }),
      { numRuns: 1000 },
    );
    expect(refused).toBeGreaterThan(50);
  });
});

describe('the loader', () => {
  const word = fc.constantFrom(
    'rules',
    'name',
    'effect',
    'deny',
    'when',
    'value',
    'above',
    'time',
    'param',
    '/a',
    '*',
    '&a',
    '*a',
    '!!map',
    '__proto__',
  );
  const tree = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 5 },
      word,
      fc.integer(),
      fc.constant(null),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(word, tie('node')),
    ),
  })).node;
  const text = fc.oneof(
    fc.string(),
    fc
      .array(fc.oneof(word, fc.constantFrom('\n', ' ', ': ', '- ', '{', '}', '[', ']', ',', '\t', '|', '>')), { maxLength: 40 })
      .map((parts) => parts.join('')),
    tree.map((value) => stringify(value, { aliasDuplicateObjects: false })),
    fc.record({ rules: fc.array(tree) }).map((value) => stringify(value)),
  );

  test('takes or refuses any text, with file and line, and never fails in another way', () => {
    fc.assert(
      fc.property(text, (source) => {
        try {
          compileRules(source, 'rules.yaml');
        } catch (error) {
          expect(error).toBeInstanceOf(AtmoError);
          expect((error as AtmoError).code).toBe('CONFIG_INVALID');
          expect((error as AtmoError).message).toMatch(/^rules\.yaml, line \d+: /);
        }
      }),
      // Each is a schema compiled anew, as the hub does for each file.
      { numRuns: 100 },
    );
  });

  test.each([
    ['nesting without end', '['.repeat(20_000)],
    [
      'aliases without end',
      `a: &a [x]\n${[...'bcdefghijk'].map((n, i) => `${n}: &${n} [${Array(9).fill(`*${'abcdefghij'[i]}`).join(', ')}]`).join('\n')}`,
    ],
    ['an alias of itself', 'rules: &a [*a]'],
  ])('%s is refused', (_, source) => {
    expect(() => compileRules(source, 'rules.yaml')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});

test('judging a call by 50 rules takes at most 20 µs', () => {
  const rules = fc
    .sample(entry, { numRuns: 50, seed: 7 })
    .map((one) => ({ ...one, when: { ...one.when, device: ['nowhere'], agent: ['helper'] } }));
  const set = new RuleSet(rulesOf(rules), 'allow');
  const given = callOf([effectOn('lamp', { values: { x: 3 } })]);
  const ground = { facts: FACTS, minute: 600 };
  const rounds = 2_000;
  const fastestMicros = Math.min(
    ...Array.from({ length: 10 }, () => {
      // Time of the processor, not of the wall: the machine may be busy with other tests.
      const start = process.threadCpuUsage().user;
      for (let i = 0; i < rounds; i++) set.judge(given, ground);
      return (process.threadCpuUsage().user - start) / rounds;
    }),
  );
  expect(fastestMicros).toBeLessThan(20);
});
