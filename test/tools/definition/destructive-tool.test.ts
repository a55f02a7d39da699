import { expect, test } from 'vitest';
import { standardDeviceTypes } from '../../../src/matter/model/data-model.ts';
import { isDestructive } from '../../../src/tools/definition/tool-definition.ts';
import { toMcp } from '../../../src/tools/formats/model-apis.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { describeDeviceType } from '../../fixtures/describe-standard.ts';
import { ToolHarness } from '../../profiles/tool-harness.ts';

const acting = (draft: Parameters<typeof makeTool>[0]) => makeTool({ execution: { side_effects: true }, permissions: ['a:b'], ...draft });

test.each<[string, Parameters<typeof makeTool>[0], boolean]>([
  ['what reads', { name: 'delete_nothing', execution: { side_effects: false } }, false],
  ['what is dangerous', { name: 'unlock', dangerous: true }, true],
  ['a tool of the hub that takes something away', { name: 'delete_data' }, true],
  ['one that ends an agent', { name: 'kill_agent' }, true],
  ['one that adds something', { name: 'create_group' }, false],
  ['a tool of a device that sets a state', { name: 'lamp_turn_off', namespace: 'matter', metadata: { device: 'lamp' } }, false],
  ['a cover that closes and can open again', { name: 'blind_close', namespace: 'matter', metadata: { device: 'blind' } }, false],
  ['a tool of a device that removes a scene', { name: 'lamp_remove_scene', namespace: 'matter', metadata: { device: 'lamp' } }, true],
  [
    'a lamp whose name is a word for ending',
    { name: 'reset_lamp_turn_on', namespace: 'matter', metadata: { device: 'reset-lamp' } },
    false,
  ],
  ['a tool that somebody else wrote', { name: 'water_plants', namespace: 'custom' }, true],
  ['a tool of steps that add', { name: 'evening', namespace: 'agent', tags: ['composed'] }, false],
  ['a tool of steps of which one ends something', { name: 'evening', namespace: 'agent', tags: ['composed', 'destructive'] }, true],
])('%s is told as destructive as it is', (_, draft, expected) => {
  const { definition } = acting(draft);
  expect([isDestructive(definition), toMcp(definition, 'x').annotations.destructiveHint]).toEqual([expected, expected]);
});

test('of all standard devices: what reaches everything, ends something or resets a filter is destructive, what sets a state is not', async () => {
  const devices = standardDeviceTypes().map(({ name }) => describeDeviceType(name, { hasAllElements: true }));
  const { registry } = await new ToolHarness(...devices).start();
  const titles = new Map(registry.all().map(({ definition }) => [definition.metadata.title, isDestructive(definition)]));
  const destructive = [
    'Control a device',
    'Control a Matter device directly',
    'Remove scene',
    'Unlock',
    'Unlock for a time',
    'Set cooking',
  ];
  const setting = ['Turn on', 'Turn off', 'Turn on for a time', 'Set brightness', 'Close', 'Lock', 'Set a thermostat', 'Recall scene'];
  expect(destructive.filter((title) => titles.get(title) !== true)).toEqual([]);
  expect(setting.filter((title) => titles.get(title) !== false)).toEqual([]);
  const filters = registry.all().filter(({ definition }) => /reset_.*filter/.test(definition.name));
  expect(filters.filter(({ definition }) => !isDestructive(definition))).toEqual([]);
});

test('what is timed is not told as harmless to repeat: a second call makes it longer', async () => {
  const devices = standardDeviceTypes().map(({ name }) => describeDeviceType(name, { hasAllElements: true }));
  const { registry } = await new ToolHarness(...devices).start();
  const timed = registry
    .all()
    .filter(({ definition }) => /_(turn_on_for|unlock_for|start_boost|add_time|pause_consumption)$/.test(definition.name));
  expect(timed.length).toBeGreaterThan(3);
  expect(timed.filter(({ definition }) => toMcp(definition, 'x').annotations.idempotentHint).map(({ id }) => id)).toEqual([]);
});
