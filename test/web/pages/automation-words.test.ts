import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import {
  actionWords,
  conditionWords,
  differenceWords,
  type HomeNames,
  type TriggerView,
  triggerWords,
} from '../../../src/web/pages/automation-words.ts';

const NAMES: HomeNames = {
  device: (id) => ({ lamp: 'Hall lamp', switch: 'Wall switch' })[id] ?? id,
  reading: (id) => (id === 'hall/temperature' ? { title: 'Hall temperature', unit: '°C' } : undefined),
};

test.for<[TriggerView, string]>([
  [{ type: 'reading', sensor_id: 'hall/temperature', above: 25 }, 'Hall temperature rises above 25 °C'],
  [{ type: 'reading', sensor_id: 'lamp/is_on', equals: true }, 'Hall lamp On becomes “yes”'],
  [{ type: 'device_event', device_id: 'switch', event: 'InitialPress' }, 'Wall switch: InitialPress'],
  [{ type: 'reachability', device_id: 'lamp', becomes: 'unreachable' }, 'Hall lamp cannot be reached'],
  [{ type: 'time', at: '07:30' }, 'every day at 07:30'],
  [{ type: 'time', at: '07:30', days: ['mon', 'sun'] }, 'Mon, Sun at 07:30'],
  [{ type: 'every', seconds: 10 }, 'every 10 seconds'],
  [{ type: 'every', seconds: 60 }, 'every minute'],
  [{ type: 'every', seconds: 7_200 }, 'every 2 hours'],
  [{ type: 'time', cron: '*/15 7-9 * * mon-fri' }, 'by the cron expression */15 7-9 * * mon-fri'],
  [{ type: 'sun', event: 'sunset' }, 'at sunset'],
  [{ type: 'sun', event: 'dawn', offset_minutes: -30 }, '30 minutes before the first light of dawn'],
  [{ type: 'hub_start' }, 'the hub has started'],
  [{ type: 'webhook', name: 'bell' }, 'something is posted to the webhook bell'],
  [{ type: 'decision', decision: 'denied' }, 'a person has denied a call'],
  [{ type: 'decision', decision: 'approved', agent_id: 'helper' }, 'a person has approved a call of helper'],
  [{ type: 'scene', scene_id: 'good_night' }, 'the scene good_night was run'],
  [{ type: 'automation_ended', agent_id: 'hall' }, 'a run of hall has ended'],
  [{ type: 'automation_ended', agent_id: 'hall', outcome: 'failure' }, 'a run of hall failed'],
  [{ type: 'automation_ended', agent_id: 'hall', outcome: 'stopped' }, 'a run of hall was given up'],
  [{ type: 'automation_ended', agent_id: 'hall', outcome: 'success' }, 'a run of hall went well'],
  [{ type: 'presence', becomes: 'away' }, 'the last person leaves'],
  [{ type: 'presence', becomes: 'home', person: 'ann' }, 'ann comes home'],
])('%j is said in words', ([trigger, words], { expect: expected }) => {
  expected(triggerWords(trigger, NAMES)).toBe(words);
});

test('an action is said with the title of its tool, and with the devices or the room', () => {
  expect(actionWords({ tool: 'core:turn_on_light@1.0.0', title: 'Turn on a light', device_id: 'lamp' }, NAMES)).toBe(
    'Turn on a light: Hall lamp',
  );
  expect(actionWords({ tool: 'core:control_area@1.0.0', area: 'Kitchen' }, NAMES)).toBe('control area: Kitchen');
  expect(actionWords({ tool: 'run_scene', scene: 'good_night' }, NAMES)).toBe('run scene: good_night');
});

test('an action is said with all of its parameters, of which only an object with an expression alone is one', () => {
  const said = (params: JsonObject, units = {}) => actionWords({ tool: 'dim', params, units }, NAMES);
  expect(said({ level: 4 }, { level: '%' })).toBe('dim (Level 4 %)');
  expect(said({ level: { expr: 'value * 2.0' } })).toBe('dim (Level value * 2.0)');
  expect(said({ level: { expr: 'off', and: 'unlock' } })).toContain('unlock');
  expect(said({ title: 'x', constructor: 5 })).toBe('dim (Title x, Constructor 5)');
});

test('conditions are said in words, also those in others', () => {
  const vacation = { type: 'flag', flag: 'vacation_mode' } as const;
  const dark = { type: 'sun', after: 'sunset', before: 'sunrise', before_offset_minutes: -10 } as const;
  expect(conditionWords(dark, NAMES)).toBe('it is between sunset and 10 minutes before sunrise');
  expect(conditionWords({ type: 'not', conditions: [vacation] }, NAMES)).toBe('it is not so that “vacation mode” is set to yes');
  const either = { type: 'or', conditions: [{ type: 'presence', is: 'away' }, vacation] } as const;
  expect(conditionWords(either, NAMES)).toBe('nobody is at home or “vacation mode” is set to yes');
  expect(conditionWords({ type: 'reading', sensor_id: 'hall/temperature', below: 18 }, NAMES)).toBe('Hall temperature is below 18 °C');
});

test('a condition that consists of several gets brackets beside others, and none alone', () => {
  const [home, away] = [
    { type: 'presence', is: 'home' },
    { type: 'presence', is: 'away', person: 'ann' },
  ] as const;
  const both = { type: 'and', conditions: [home, away] } as const;
  const weekend = { type: 'time', days: ['fri', 'sat'], after: '12:00' } as const;
  expect(conditionWords({ type: 'or', conditions: [both, home] }, NAMES)).toBe(
    '(somebody is at home and ann is away) or somebody is at home',
  );
  expect(conditionWords({ type: 'and', conditions: [{ type: 'not', conditions: [home] }, away] }, NAMES)).toBe(
    '(it is not so that somebody is at home) and ann is away',
  );
  expect(conditionWords({ type: 'or', conditions: [both] }, NAMES)).toBe('somebody is at home and ann is away');
  expect(conditionWords(weekend, NAMES)).toBe('today is Fri, Sat and it is after 12:00');
  expect(conditionWords({ type: 'or', conditions: [home, weekend] }, NAMES)).toBe(
    'somebody is at home or (today is Fri, Sat and it is after 12:00)',
  );
});

test('a step that waits or chooses has brackets in its conditions, too', () => {
  const either = {
    type: 'or',
    conditions: [
      { type: 'presence', is: 'away' },
      { type: 'flag', flag: 'night' },
    ],
  } as const;
  const words = 'wait until somebody is at home and (nobody is at home or “night” is set to yes), at most 1 minute';
  expect(actionWords({ type: 'wait_until', timeout_seconds: 60, conditions: [{ type: 'presence', is: 'home' }, either] }, NAMES)).toBe(
    words,
  );
});

test('steps are said in words, with the steps in them', () => {
  const on = { tool: 'turn_on_light', title: 'Turn on a light', device_id: 'lamp' };
  const choose = {
    type: 'choose',
    options: [{ conditions: [{ type: 'presence', is: 'home' }], actions: [on] }],
    otherwise: [{ type: 'set_flag', flag: 'vacation_mode', value: true }],
  } as const;
  const words = 'if somebody is at home: Turn on a light: Hall lamp; otherwise: set “vacation mode” to yes';
  expect(actionWords(choose, NAMES)).toBe(words);
  expect(actionWords({ type: 'wait', seconds: 300 }, NAMES)).toBe('wait 5 minutes');
  expect(actionWords({ type: 'repeat', count: 3, actions: [on] }, NAMES)).toBe('3 times: Turn on a light: Hall lamp');
  expect(actionWords({ type: 'notify', person: 'ann', message: 'Dinner' }, NAMES)).toBe('tell ann: “Dinner”');
  expect(actionWords({ type: 'ask', question: { expr: 'trigger.body.what' } }, NAMES)).toBe(
    'ask all adults: “{"expr":"trigger.body.what"}”',
  );
});

test('what differs between versions is said with its place', () => {
  expect(differenceWords({ path: '/trigger/above', before: 26, after: 28 })).toBe('trigger › above: 26 → 28');
  expect(differenceWords({ path: '/actions/1', after: { tool: 'lamp_turn_on' } })).toBe('actions › 1: {"tool":"lamp_turn_on"} is new');
  expect(differenceWords({ path: '/parameters/a~1b', before: 'x' })).toBe('parameters › a/b: x is gone');
  expect(differenceWords({ path: '', before: 1, after: 'y'.repeat(500) })).toMatch(/^All of it: 1 → y{160}…$/);
});
