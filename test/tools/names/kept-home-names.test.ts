import { describe, expect, test } from 'vitest';
import { parseDeviceId, parseSensorId } from '../../../src/core/devices/device-names.ts';
import type { ReadingStore } from '../../../src/core/devices/sensor-readings.ts';
import { homeNameTools } from '../../../src/tools/builtin/home-name-tools.ts';
import { StoredHomeNames } from '../../../src/tools/names/home-names.ts';
import { NameReferences } from '../../../src/tools/names/name-references.ts';
import { deviceNames } from '../../../src/tools/names/resolve-names.ts';
import { LexicalToolSearch } from '../../../src/tools/search/tool-search.ts';
import { agent, makePipeline, makeTool, owner } from '../../calls/pipeline-fixture.ts';
import { describeDeviceType } from '../../fixtures/describe-standard.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

const { device } = describeDeviceType('DimmableLight', { device: { id: parseDeviceId('lamp'), name: 'Lamp', area: "Kids' room" } });

/** A sensor of the board in a room of its own, as a store tells it. */
function readingsIn(area: string): Pick<ReadingStore, 'sensors'> {
  const [id, deviceId] = [parseSensorId('gpio/gate'), parseDeviceId('gpio')];
  const sensor = { id, device: deviceId, name: 'gate', kind: 'contact', unit: '', title: 'Gate', area };
  return { sensors: () => [{ sensor, value: null, atMs: 0, reachability: 'reachable' }] };
}

function makeHome() {
  const store = new MemoryKeyValueStore(new ManualClock());
  const names = new StoredHomeNames(store);
  const setup = makePipeline();
  const uses = new NameReferences();
  for (const tool of homeNameTools({
    names,
    devices: deviceNames(() => [device]),
    directory: { list: () => [device] },
    readings: readingsIn('Garden'),
    administration: { setArea: () => device },
    uses,
  }))
    setup.registry.register(tool);
  const call = (name: string, params: Parameters<typeof setup.pipeline.call>[0]['params'], principal = owner) =>
    setup.pipeline.call({ tool: name, params, principal });
  return { store, names, uses, call };
}

describe('names that people give', () => {
  test('to a device are kept, by its id, over a restart', async () => {
    const { store, call } = makeHome();
    const answer = await call('hub:set_device_aliases', { device_id: 'lamp', aliases: ['Big one', ' big one ', 'Stehlampe'] });
    expect(answer).toMatchObject({ result: { device_id: 'lamp', aliases: ['big one', 'Stehlampe'] } });
    expect(new StoredHomeNames(store).deviceAliases('lamp')).toEqual(['big one', 'Stehlampe']);
    await call('hub:set_device_aliases', { device_id: 'lamp', aliases: [] });
    expect(new StoredHomeNames(store).deviceAliases('lamp')).toEqual([]);
  });

  test('to an area count however it is written, and what is left out stays', async () => {
    const { store, call } = makeHome();
    await call('hub:describe_area', { area: 'kids room', floor: 'Upstairs' });
    const answer = await call('hub:describe_area', { area: "Kids' room", aliases: ['Nursery'] });
    expect(answer).toMatchObject({ result: { area: "Kids' room", floor: 'Upstairs', aliases: ['Nursery'] } });
    expect(new StoredHomeNames(store).areaNames('KIDS-ROOM')).toEqual({ floor: 'Upstairs', aliases: ['Nursery'] });
    await call('hub:describe_area', { area: 'kids room', floor: '', aliases: [] });
    expect(store.entries('home-names/areas')).toEqual([]);
  });

  test('to an area that only a sensor of the board is in count, and the room takes another name', async () => {
    const { names, call } = makeHome();
    expect(await call('hub:describe_area', { area: 'garden', floor: 'Outside' })).toMatchObject({ result: { area: 'Garden' } });
    expect(await call('hub:rename_area', { area: 'Garden', name: 'Yard' })).toMatchObject({ result: { area: 'Yard', moved: [] } });
    expect(names.areaToday('Garden')).toBe('Yard');
  });

  test('to an area once, and named in a rule of the owner, are freed by the owner alone, even with confirm', async () => {
    const { names, uses, call } = makeHome();
    uses.add(() => [{ kind: 'rule', id: 'no-locks', content: { area: "Kids' room" } }]);
    const by = agent('admin:hub');
    expect(await call('hub:rename_area', { area: "Kids' room", name: 'Den' }, by)).toMatchObject({ status: 'success' });
    for (const confirm of [false, true]) {
      expect(await call('hub:free_area_name', { name: "Kids' room", confirm }, by)).toMatchObject({
        error: {
          code: 'PERMISSION_DENIED',
          message: expect.stringMatching(/^Kids' room is used by rule no-locks\b.*owner/),
          details: { used_by: [{ kind: 'rule', id: 'no-locks' }] },
        },
      });
    }
    expect(names.areaMeant('kids-room')).toBe('den');
    expect(await call('hub:free_area_name', { name: "Kids' room" })).toMatchObject({ error: { code: 'CONFLICT' } });
    expect(await call('hub:free_area_name', { name: "Kids' room", confirm: true })).toMatchObject({ status: 'success' });
    expect(names.areaMeant('kids-room')).toBe('kids-room');
  });

  test('to an area that no device is in are refused with those that there are', async () => {
    const { call } = makeHome();
    const answer = await call('hub:describe_area', { area: 'Kids rom', floor: 'Up' });
    expect(answer).toMatchObject({ error: { code: 'NOT_FOUND', details: { candidates: ["Kids' room"] } } });
  });

  test('are known to a search at once', () => {
    const { names } = makeHome();
    const tools = [makeTool({ name: 'lamp_on', description: 'Turns on the lamp', metadata: { device: 'lamp', area: "Kids' room" } })];
    const search = new LexicalToolSearch({ names, device: () => device });
    const found = (text: string) => search.search({ text }, tools).matches.length;
    expect(found('colossus')).toBe(0);
    names.setDeviceAliases('lamp', ['Colossus']);
    expect(found('colossus')).toBe(1);
    names.describeArea('kids room', { floor: 'Upstairs', aliases: ['Zirkuszelt'] });
    expect(found('upstairs')).toBe(1);
    expect(found('zirkuszelt')).toBe(1);
  });

  test('are known to a listener when it hears of each change, until it is stopped', () => {
    const { names } = makeHome();
    const heard: unknown[] = [];
    const stop = names.onChange(() => heard.push([names.revision, names.deviceAliases('lamp'), names.areaNames('den').floor]));
    names.setDeviceAliases('lamp', ['Colossus']);
    names.describeArea('den', { floor: 'Upstairs', aliases: [] });
    expect(heard).toEqual([
      [1, ['Colossus'], undefined],
      [2, ['Colossus'], 'Upstairs'],
    ]);
    stop();
    names.setOrder({ areas: ['den'], floors: [] });
    expect([heard.length, names.revision]).toEqual([2, 3]);
  });
});
