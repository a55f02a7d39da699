import { expect, test } from 'vitest';
import { actionWords, conditionWords, type HomeNames, type TriggerView, triggerWords } from '../../../src/web/pages/automation-words.ts';

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
  [{ type: 'sun', event: 'dawn', offset_minutes: -30 }, '30 minutes before dawn'],
  [{ type: 'hub_start' }, 'the hub has started'],
  [{ type: 'webhook', name: 'bell' }, 'something is posted to the webhook bell'],
  [{ type: 'decision', decision: 'denied' }, 'a person has denied a call'],
  [{ type: 'scene', scene_id: 'good_night' }, 'the scene good_night was run'],
  [{ type: 'automation_ended', agent_id: 'hall' }, 'the automation hall has ended a run'],
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
});

test('conditions are said in words, also those in others', () => {
  const vacation = { type: 'flag', flag: 'vacation_mode' } as const;
  const dark = { type: 'sun', after: 'sunset', before: 'sunrise', before_offset_minutes: -10 } as const;
  expect(conditionWords(dark, NAMES)).toBe('between sunset and 10 minutes before sunrise');
  expect(conditionWords({ type: 'not', conditions: [vacation] }, NAMES)).toBe('not: vacation mode is yes');
  const either = { type: 'or', conditions: [{ type: 'presence', is: 'away' }, vacation] } as const;
  expect(conditionWords(either, NAMES)).toBe('nobody is at home or vacation mode is yes');
  expect(conditionWords({ type: 'reading', sensor_id: 'hall/temperature', below: 18 }, NAMES)).toBe('Hall temperature is below 18 °C');
});

test('steps are said in words, with the steps in them', () => {
  const on = { tool: 'turn_on_light', title: 'Turn on a light', device_id: 'lamp' };
  const choose = {
    type: 'choose',
    options: [{ conditions: [{ type: 'presence', is: 'home' }], actions: [on] }],
    otherwise: [{ type: 'set_flag', flag: 'vacation_mode', value: true }],
  } as const;
  const words = 'if somebody is at home: Turn on a light: Hall lamp; otherwise: set vacation mode to yes';
  expect(actionWords(choose, NAMES)).toBe(words);
  expect(actionWords({ type: 'wait', seconds: 300 }, NAMES)).toBe('wait 5 minutes');
  expect(actionWords({ type: 'repeat', count: 3, actions: [on] }, NAMES)).toBe('3 times: Turn on a light: Hall lamp');
});
