import { expect, test } from 'vitest';
import { FlagStore } from '../../../src/automations/house/flag-store.ts';
import { flagTools } from '../../../src/automations/house/flag-tools.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { EventBus } from '../../../src/core/events.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { homeNameTools } from '../../../src/tools/builtin/home-name-tools.ts';
import { StoredHomeNames } from '../../../src/tools/names/home-names.ts';
import { NameReferences } from '../../../src/tools/names/name-references.ts';
import { deviceNames } from '../../../src/tools/names/resolve-names.ts';
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

/** A home with a lamp in each of two rooms, and the tools that name them. `inRooms` tells the room of each lamp. */
async function homeWithRooms() {
  const home = await JournaledHome.start([LAMP]);
  const { clock, registry } = home.harness;
  const names = new StoredHomeNames(new MemoryKeyValueStore(clock));
  const rooms = new Map([
    ['lamp', 'Kitchen'],
    ['other', 'Hall'],
  ]);
  const devices = () => [...rooms].map(([id, area]) => ({ ...LAMP.device, id: parseDeviceId(id), area }));
  for (const tool of homeNameTools({
    names,
    devices: deviceNames(devices),
    directory: { list: devices },
    readings: { sensors: () => [] },
    administration: {
      setArea: (id, area) => {
        rooms.set(id, area ?? '');
        return LAMP.device;
      },
    },
    uses: new NameReferences(),
  }))
    registry.register(tool);
  return { home, names, inRooms: () => Object.fromEntries(rooms) };
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
  const by = (...grants: readonly string[]) => home.call('hub:undo', { trace_id: trace }, agent('device:control:lamp', ...grants));
  expect(codeOf(await by('flag:set:guests'))).toBe('PERMISSION_DENIED');
  // Who may set no flag does not know of the tool.
  expect(codeOf(await by())).toBe('TOOL_NOT_FOUND');
  expect(flags.get('party')?.value).toBe('loud');
});

test('a room gets its former name back, with its floor, its other names and its place in the order', async () => {
  const { home, names, inRooms } = await homeWithRooms();
  names.describeArea('Kitchen', { floor: 'Ground floor', aliases: ['Galley'] });
  names.setOrder({ areas: ['Kitchen', 'Hall'], floors: [] });
  const params = { area: 'galley', name: 'Cookhouse' };
  expect(await home.rehearse('rename_area', params)).toMatchObject({ places: ['area_name/galley'], undo: { possible: true } });
  const trace = await done(home, 'rename_area', params);
  expect(inRooms()).toEqual({ lamp: 'Cookhouse', other: 'Hall' });
  expect(await home.rehearse('hub:undo', { trace_id: trace })).toMatchObject({
    calls: [{ places: [expect.stringMatching(/^area_name\//)] }],
  });
  const undone = await undo(home, trace);
  expect(undone).toMatchObject({ status: 'success', result: { called: ['hub:rename_area'] } });
  expect(inRooms()).toEqual({ lamp: 'Kitchen', other: 'Hall' });
  // The name that it had meanwhile goes on meaning it, as a former name of a device does.
  expect(names.areaNames('Kitchen')).toEqual({ floor: 'Ground floor', aliases: ['Galley', 'Cookhouse'] });
  expect(names.areaToday('Cookhouse')).toBe('Kitchen');
  expect(names.order().areas).toEqual(['kitchen', 'hall']);
  expect(await undo(home, undone.trace_id)).toMatchObject({ status: 'success' });
  expect(inRooms()).toEqual({ lamp: 'Cookhouse', other: 'Hall' });
});

test('rooms that became one stay one, and the rehearsal says so before', async () => {
  const { home, inRooms } = await homeWithRooms();
  const params = { area: 'Kitchen', name: 'hall', merge: true };
  expect(await home.rehearse('rename_area', params)).toMatchObject({ undo: { possible: false } });
  const trace = await done(home, 'rename_area', params);
  expect(await undo(home, trace)).toMatchObject({ error: { code: 'NOT_SUPPORTED', details: { reason: 'irreversible' } } });
  expect(inRooms()).toEqual({ lamp: 'Hall', other: 'Hall' });
});

test('a room that has got yet another name keeps that', async () => {
  const { home, inRooms } = await homeWithRooms();
  const trace = await done(home, 'rename_area', { area: 'Kitchen', name: 'Cookhouse' });
  await done(home, 'rename_area', { area: 'Cookhouse', name: 'Lab' });
  expect(await undo(home, trace)).toMatchObject({ error: { code: 'CONFLICT', details: { reason: 'changed_since' } } });
  expect(inRooms()).toMatchObject({ lamp: 'Lab' });
});

test.each([
  ['describe_area', { area: 'Kitchen', floor: 'Upstairs', aliases: ['Lab'] }],
  ['describe_area', { area: 'Hall', floor: 'Upstairs' }],
  ['order_areas', { areas: ['Hall'], floors: ['Ground floor'] }],
  ['set_device_aliases', { device_id: 'lamp', aliases: ['Big one'] }],
])('what %s %j changes of the names of the home comes back', async (tool, params) => {
  const { home, names } = await homeWithRooms();
  names.describeArea('Kitchen', { floor: 'Ground floor', aliases: ['Galley'] });
  names.setOrder({ areas: ['Kitchen', 'Attic'], floors: ['Cellar'] });
  const kept = () => [names.areaNames('Kitchen'), names.areaNames('Hall'), names.deviceAliases('lamp'), names.order().areas[0]];
  const before = kept();
  const trace = await done(home, tool, params);
  expect(kept()).not.toEqual(before);
  expect(await undo(home, trace)).toMatchObject({ status: 'success', result: { called: [`hub:${tool}`] } });
  expect(kept()).toEqual(before);
});

test('an agent that may control one lamp and set one flag undoes its own flag, and no other one', async () => {
  const { home, flags } = await homeWithFlags();
  const narrow = agent('device:control:lamp', 'flag:set:party');
  const { trace_id: own } = await home.call('set_flag', { flag: 'party', value: 'loud' }, narrow);
  expect(await home.call('hub:undo', { trace_id: own }, narrow)).toMatchObject({ status: 'success' });
  expect(flags.get('party')).toBeUndefined();
  const other = await done(home, 'set_flag', { flag: 'guests', value: 'two' });
  expect(await home.rehearse('hub:undo', { trace_id: other }, narrow)).toMatchObject({
    outcome: 'would_be_refused',
  });
  expect(codeOf(await home.call('hub:undo', { trace_id: other }, narrow))).toBe('PERMISSION_DENIED');
  expect(flags.get('guests')?.value).toBe('two');
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

test('a stored scene is not removed while the hub does not know how many the lamp has', async () => {
  const home = await JournaledHome.start([LAMP]);
  const count = (sceneCount: number) => home.report({ 'lamp/1/ScenesManagement.FabricSceneInfo': [{ sceneCount }] });
  count(0);
  const trace = await done(home, 'matter:dimmablelight_store_scene', { scene: 3 });
  home.harness.home.unreported.add('lamp');
  expect(await home.rehearse('matter:dimmablelight_store_scene', { scene: 4 })).toMatchObject({ undo: { possible: false } });
  expect(await undo(home, trace)).toMatchObject({ error: { code: 'CONFLICT', details: { reason: 'not_known' } } });
  home.harness.home.unreported.delete('lamp');
  count(1);
  expect(await undo(home, trace)).toMatchObject({ status: 'success', result: { called: ['matter:dimmablelight_remove_scene'] } });
});
