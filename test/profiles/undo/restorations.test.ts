import { expect, test } from 'vitest';
import { FlagStore } from '../../../src/automations/house/flag-store.ts';
import { flagTools } from '../../../src/automations/house/flag-tools.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { EventBus } from '../../../src/core/events.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { agent, codeOf } from '../../calls/pipeline-fixture.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

import { described } from '../device-fixtures.ts';
import { JournaledHome } from './journaled-home.ts';

const LAMP = described('DimmableLight', { hasAllElements: true, device: { id: parseDeviceId('lamp'), area: 'Kitchen' } });

async function homeWithFlags(): Promise<{ readonly home: JournaledHome; readonly flags: FlagStore }> {
  const home = await JournaledHome.start([LAMP]);
  const { clock, registry, authorizer } = home.harness;
  const flags = new FlagStore({ clock, store: new MemoryKeyValueStore(clock), events: new EventBus('hub-1', clock) });
  for (const tool of flagTools(flags, authorizer)) registry.register(tool);
  return { home, flags };
}

async function done(home: JournaledHome, tool: string, params: JsonObject): Promise<string> {
  const answer = await home.call(tool, params);
  expect(answer).toMatchObject({ status: 'success' });
  return answer.trace_id;
}

const undo = (home: JournaledHome, traceId: string) => home.call('hub:undo', { trace_id: traceId });

test('a flag gets the value back that it had, and one that was not set is ended', async () => {
  const { home, flags } = await homeWithFlags();
  const first = await done(home, 'set_flag', { flag: 'party', value: 'loud' });
  expect(await undo(home, first)).toMatchObject({ status: 'success', result: { called: ['core:clear_flag'] } });
  expect(flags.get('party')).toBeUndefined();
  flags.set({ name: 'party', value: 'loud', setBy: 'owner' });
  expect(await home.rehearse('set_flag', { flag: 'party', value: 'quiet' })).toMatchObject({ undo: { possible: true } });
  const second = await done(home, 'set_flag', { flag: 'party', value: 'quiet' });
  expect(await undo(home, second)).toMatchObject({ status: 'success', result: { called: ['core:set_flag'] } });
  expect(flags.get('party')?.value).toBe('loud');
});

test('the rehearsal of a flag and that of its undo name the flag', async () => {
  const { home } = await homeWithFlags();
  const params = { flag: 'party', value: 'loud' };
  expect(await home.rehearse('set_flag', params)).toMatchObject({ changes: [], places: ['flag/party'] });
  const trace = await done(home, 'set_flag', params);
  expect(await home.rehearse('hub:undo', { trace_id: trace })).toMatchObject({ outcome: 'would_run', changes: [], places: ['flag/party'] });
});

test('an undone flag is set again by the undo of the undo', async () => {
  const { home, flags } = await homeWithFlags();
  const undone = await undo(home, await done(home, 'set_flag', { flag: 'party', value: 'loud' }));
  expect(await undo(home, undone.trace_id)).toMatchObject({ status: 'success' });
  expect(flags.get('party')?.value).toBe('loud');
});

test('a flag that somebody has set since is left alone', async () => {
  const { home, flags } = await homeWithFlags();
  const trace = await done(home, 'set_flag', { flag: 'party', value: 'loud' });
  flags.set({ name: 'party', value: 'silent', setBy: 'somebody' });
  expect(await undo(home, trace)).toMatchObject({ error: { code: 'CONFLICT', details: { reason: 'changed_since' } } });
  await done(home, 'set_flag', { flag: 'party', value: 'loud' });
  expect(await undo(home, trace)).toMatchObject({ error: { code: 'CONFLICT', details: { reason: 'changed_since' } } });
  expect(flags.get('party')?.value).toBe('loud');
});

test('a flag is put back only for who may set it', async () => {
  const { home, flags } = await homeWithFlags();
  const trace = await done(home, 'set_flag', { flag: 'party', value: 'loud' });
  const asked = await home.call('hub:undo', { trace_id: trace }, agent('device:control:lamp'));
  expect(codeOf(asked)).toBe('PERMISSION_DENIED');
  expect(flags.get('party')?.value).toBe('loud');
});

test('a scene that a lamp stored is removed again, and only if the lamp had none before', async () => {
  const home = await JournaledHome.start([LAMP]);
  const count = (sceneCount: number) => home.report({ 'lamp/1/ScenesManagement.FabricSceneInfo': [{ sceneCount }] });
  count(0);
  expect(await home.rehearse('matter:dimmablelight_store_scene', { scene: 3 })).toMatchObject({ undo: { possible: true } });
  const trace = await done(home, 'matter:dimmablelight_store_scene', { scene: 3 });
  count(1);
  expect(await undo(home, trace)).toMatchObject({ status: 'success' });
  const { path, fields } = home.harness.home.invoked.at(-1) ?? {};
  expect([path?.command, fields]).toEqual(['RemoveScene', expect.objectContaining({ sceneId: 3, groupId: 0 })]);
  expect(await home.rehearse('matter:dimmablelight_store_scene', { scene: 4 })).toMatchObject({ undo: { possible: false } });
});
