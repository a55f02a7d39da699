import { expect, test } from 'vitest';
import { actionWords, type HomeNames, type TriggerView, triggerWords } from '../../../src/web/pages/automation-words.ts';

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
])('%j is said in words', ([trigger, words], { expect: expected }) => {
  expected(triggerWords(trigger, NAMES)).toBe(words);
});

test('an action is said with the title of its tool, and with the devices or the room', () => {
  expect(actionWords({ tool: 'core:turn_on_light@1.0.0', title: 'Turn on a light', device_id: 'lamp' }, NAMES)).toBe(
    'Turn on a light: Hall lamp',
  );
  expect(actionWords({ tool: 'core:control_area@1.0.0', area: 'Kitchen' }, NAMES)).toBe('control area: Kitchen');
});
