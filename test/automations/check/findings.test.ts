import { expect, test } from 'vitest';
import { checkAutomation } from '../../../src/automations/check/automation-check.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { processorMs } from '../../processor-time.ts';
import { automation, homePorts } from './home-fixture.ts';
import { ROOMS } from './home-plan.ts';

const at = (time: string): JsonObject => ({ type: 'time', at: time });
const lamp = (word: 'on' | 'off') => ({ tool: `matter:hall_lamp_turn_${word}` });
const check = (config: JsonObject, living: readonly JsonObject[] = []) =>
  checkAutomation(
    automation('new', config),
    living.map((one, index) => automation(`old-${index}`, one)),
    homePorts(),
  );

test('a conflict names the pair, the lamp, when each acts, and what to do', async () => {
  const [finding, ...more] = await check({ trigger: at('22:00'), actions: [lamp('off')] }, [
    { trigger: at('22:00'), actions: [lamp('on')] },
  ]);
  expect(more).toEqual([]);
  const windows = [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], from: '22:00', to: '22:01' }];
  expect(finding).toEqual({
    kind: 'opposite_effects',
    severity: 'warning',
    automations: [
      { agent_id: 'new', name: 'new' },
      { agent_id: 'old-0', name: 'old-0' },
    ],
    targets: [{ id: 'hall-lamp', name: 'hall lamp' }],
    timeline: [
      { agent_id: 'new', does: 'Turn off hall lamp', target: 'hall-lamp/1/OnOff/Off', windows },
      { agent_id: 'old-0', does: 'Turn on hall lamp', target: 'hall-lamp/1/OnOff/On', windows },
    ],
    sentence: '"new" and "old-0" want different things of hall lamp at 22:00 every day: off and on',
    fix: 'Let only one of them act on hall lamp at that time: give one a condition that excludes the other, or another time',
    facts: {
      case: 'meet',
      device: 'hall lamp',
      times: windows,
      contents: [
        { value: 'is_on', becomes: false },
        { value: 'is_on', becomes: true },
      ],
    },
  });
});

test('of an automation that the caller may not see, a conflict tells neither its name nor its times', async () => {
  const hidden = {
    ...automation('secret-id', { trigger: at('22:00'), actions: [lamp('on')] }),
    name: 'an automation',
    isHidden: true,
  } as const;
  const findings = await checkAutomation(automation('new', { trigger: at('22:00'), actions: [lamp('off')] }), [hidden], homePorts());
  expect(findings).toMatchObject([{ kind: 'opposite_effects', automations: [{ agent_id: 'new' }], timeline: [{ agent_id: 'new' }] }]);
  expect(JSON.stringify(findings)).not.toContain('secret-id');
});

test('drafts that ask again and again find out neither when a hidden automation acts nor what it sets', async () => {
  const hidden = {
    ...automation('secret-id', {
      trigger: at('07:10'),
      conditions: [{ type: 'reading', sensor_id: 'hall-sensor/temperature', below: 18 }],
      actions: [lamp('on')],
    }),
    name: 'an automation that you may not see',
    isHidden: true,
  } as const;
  const warm = { type: 'reading', sensor_id: 'hall-sensor/temperature', above: 20 };
  const drafts: readonly JsonObject[] = [
    { trigger: { type: 'every', seconds: 3600 }, actions: [lamp('on')] },
    { trigger: { type: 'every', seconds: 3600 }, actions: [lamp('off')] },
    { trigger: at('07:10'), actions: [lamp('off')] },
    { trigger: at('12:00'), conditions: [warm], actions: [lamp('off')] },
  ];
  const sentences = await Promise.all(drafts.map((draft) => checkAutomation(automation('new', draft), [hidden], homePorts())));
  const expected = '"new" and an automation that you may not see act on hall lamp, and may want different things of it';
  for (const found of sentences) expect(found).toMatchObject([{ severity: 'note', sentence: expected }]);
});

/** An automation that is made to be compared for long: 60 brightnesses of one lamp, 8 triggers and 16 alternatives. */
function tedious(number: number): JsonObject {
  const dim = (value: number) => ({ tool: 'matter:hall_lamp_dim', params: { value } });
  const branch = (first: number) => Array.from({ length: 15 }, (_, index) => dim(1 + first * 15 + index));
  const warm = (limit: number) => ({ type: 'reading', sensor_id: 'hall-sensor/temperature', above: limit });
  return {
    trigger: Array.from({ length: 8 }, (_, index) => ({ type: 'every', seconds: 600 + index + number })),
    conditions: [{ type: 'or', conditions: Array.from({ length: 16 }, (_, index) => warm(index)) }],
    actions: [{ type: 'parallel', branches: [0, 1, 2, 3].map(branch) }],
  };
}

/** Returns the longest time in milliseconds for which the processor was kept in one turn of the event loop while `work` went on. */
async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = process.threadCpuUsage();
  let isDone = false;
  const turn = () => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isDone = true;
  return longest;
}

test('automations that are made to be compared for long keep the processor for less than a second, and never for long at once', async () => {
  const living = Array.from({ length: 15 }, (_, number) => automation(`old-${number}`, tedious(number)));
  const draft = automation('new', tedious(15));
  const ports = homePorts();
  let found: readonly { readonly kind: string }[] = [];
  let longest = 0;
  const took = await processorMs(async () => {
    longest = await longestTurnMs(async () => {
      found = await checkAutomation(draft, living, ports);
    });
  });
  console.log(`A draft that is made to be compared for long: ${took.toFixed(0)} ms, of which ${longest.toFixed(0)} ms at once`);
  expect(found.filter(({ kind }) => kind === 'opposite_effects').length).toBeGreaterThanOrEqual(15);
  expect(took).toBeLessThan(1000);
  expect(longest).toBeLessThan(100);
});

test('a step of which a rule wants an approval at night is told with the rule and its times', async () => {
  const rules = `rules:\n  - name: heating at night\n    effect: approve\n    when: { device: hall-heating, time: { from: '23:00', to: '05:00' } }`;
  const config = { trigger: { type: 'every', seconds: 3600 }, actions: [{ tool: 'matter:hall_heating_set', params: { value: 20 } }] };
  const findings = await checkAutomation(automation('new', config), [], homePorts(rules));
  const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
  expect(findings).toMatchObject([
    {
      kind: 'waits_at_night',
      severity: 'note',
      timeline: [{ windows: [{ days, from: '23:00', to: '05:00' }] }],
      fix: expect.stringContaining('condition'),
    },
  ]);
  expect(findings[0]?.sentence).toContain('the rule "heating at night" wants an approval of matter:hall_heating_set');
});

test('a question at night is told, and one by day is not', async () => {
  const ask = { type: 'ask', name: 'bath', question: 'Warm the bath?', timeout_seconds: 600 };
  const nightly = async (time: string) =>
    (await check({ trigger: at(time), actions: [ask] })).filter(({ kind }) => kind === 'waits_at_night');
  expect(await nightly('23:00')).toMatchObject([{ severity: 'warning', sentence: expect.stringContaining('it asks') }]);
  expect(await nightly('12:00')).toEqual([]);
});

test('an automation that undoes its own step in the same run is found; one lamp after the whole scene is meant so', async () => {
  expect(await check({ trigger: at('22:00'), actions: [lamp('on'), lamp('off')] })).toMatchObject([
    { kind: 'opposite_effects', severity: 'warning' },
  ]);
  expect(await check({ trigger: at('22:00'), actions: [{ tool: 'matter:scene_night' }, lamp('on')] })).toEqual([]);
});

test('a state and a time that only may meet give a note, the same moment a warning', async () => {
  const warm = { trigger: { type: 'reading', sensor_id: 'hall-sensor/temperature', above: 25 }, actions: [lamp('on')] };
  expect(await check({ trigger: at('12:00'), actions: [lamp('off')] }, [warm])).toMatchObject([{ severity: 'note' }]);
  expect(await check({ ...warm, actions: [lamp('off')] }, [warm])).toMatchObject([{ severity: 'warning' }]);
});

test('a loop over three automations is found, and each way is in its sentence', async () => {
  const becomes = (device: string, on: boolean): JsonObject => ({ type: 'reading', sensor_id: `${device}/is_on`, equals: on });
  const living = [
    { trigger: becomes('hall-lamp', false), actions: [{ tool: 'matter:bath_plug_turn_on' }] },
    { trigger: becomes('bath-plug', true), actions: [{ tool: 'matter:bath_plug_turn_off' }, lamp('on')] },
  ];
  const findings = await check({ trigger: becomes('hall-lamp', true), actions: [lamp('off')] }, living);
  expect(findings.filter(({ kind }) => kind === 'loop')).toMatchObject([{ severity: 'warning', automations: [{}, {}, {}] }]);
});

test('an automation that this one replaces is not compared with it', async () => {
  const old = automation('new', { trigger: at('22:00'), actions: [lamp('on')] });
  expect(await checkAutomation(automation('new', { trigger: at('22:00'), actions: [lamp('off')] }), [old], homePorts())).toEqual([]);
});

/** An automation with some triggers, conditions and steps that change with its number. */
function busy(number: number): JsonObject {
  const [room, other] = [ROOMS[number % 6], ROOMS[(number + 1) % 6]];
  const comparison = number % 2 === 0 ? { above: 18 + (number % 7) } : { below: 18 + (number % 7) };
  return {
    trigger: [
      at(`${String(6 + (number % 16)).padStart(2, '0')}:15`),
      { type: 'reading', sensor_id: `${room}-sensor/temperature`, ...comparison },
    ],
    conditions: [{ type: 'time', after: '06:00', before: '22:30' }],
    actions: [
      { tool: `matter:${room}_lamp_turn_${number % 2 === 0 ? 'on' : 'off'}` },
      { tool: `matter:${room}_heating_set`, params: { value: 17 + (number % 5) } },
      { tool: `matter:${other}_cover_open` },
      { tool: 'matter:scene_night' },
    ],
  };
}

test('one more automation among 64 is checked within 50 ms of the processor', async () => {
  const ports = homePorts();
  const took: number[] = [];
  for (let round = 0; round < 10; round++) {
    const living = Array.from({ length: 64 }, (_, number) => automation(`old-${number}`, busy(number)));
    took.push(await processorMs(() => checkAutomation(automation('new', busy(3)), living, ports)));
  }
  const best = Math.min(...took);
  console.log(`One more automation among 64: ${best.toFixed(1)} ms`);
  expect(best).toBeLessThanOrEqual(50);
});

test('a step after a wait acts later, and steps of two options of a choice never in one run', async () => {
  const later = { trigger: at('21:00'), actions: [lamp('on'), { type: 'wait', seconds: 3600 }, lamp('off')] };
  expect(await check(later)).toEqual([]);
  expect(await check({ trigger: at('22:00'), actions: [lamp('on')] }, [later])).toMatchObject([{ kind: 'opposite_effects' }]);
  const conditions = [{ type: 'flag', flag: 'night' }];
  const choice = { type: 'choose', options: [{ conditions, actions: [lamp('off')] }], otherwise: [lamp('on')] };
  expect(await check({ trigger: at('22:00'), actions: [choice] })).toEqual([]);
});

test('flags that exclude each other keep two automations apart, and a flag that has to be on and off never holds', async () => {
  const when = (is: boolean) => ({ type: 'flag', flag: 'vacation_mode', is });
  const one = { trigger: at('22:00'), conditions: [when(true)], actions: [lamp('on')] };
  expect(await check({ trigger: at('22:00'), conditions: [when(false)], actions: [lamp('off')] }, [one])).toEqual([]);
  const never = { trigger: at('22:00'), conditions: [when(true), { type: 'and', conditions: [when(false)] }], actions: [lamp('on')] };
  expect(await check(never)).toMatchObject([{ kind: 'never_holds' }]);
});
