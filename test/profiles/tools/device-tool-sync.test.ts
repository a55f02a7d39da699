import { describe, expect, test } from 'vitest';
import type { DeviceDescription } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { KeyValueStore } from '../../../src/core/storage/key-value-store.ts';
import { unclaimedPrefixes, unclaimedSecondPrefix, unclaimedToolName } from '../../../src/profiles/home/device-tool-names.ts';
import { LexicalToolSearch } from '../../../src/tools/search/tool-search.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { described } from '../device-fixtures.ts';
import { ToolHarness } from '../tool-harness.ts';

const LAMP = described('DimmableLight', {
  hasAllElements: true,
  device: { id: parseDeviceId('desk-lamp'), name: 'Desk lamp', area: 'Study' },
});
const SENSOR = described('TemperatureSensor', { device: { id: parseDeviceId('hall'), name: 'Hall' } });
const lamp = LAMP.device.id;

describe('tools follow the devices', () => {
  test('devices that are there at the start have tools', async () => {
    const hub = await new ToolHarness(LAMP).start();
    expect(hub.names()).toContain('matter:desk_lamp_turn_on');
    const told = hub.events.filter(({ subject }) => subject === 'matter:desk_lamp_turn_on@1.0.0');
    expect(told.map(({ type, data }) => [type, data])).toEqual([
      ['agi.tool.discovered', { tool: 'matter:desk_lamp_turn_on@1.0.0', title: expect.any(String), created_by: 'system', device: lamp }],
    ]);
  });

  test('a device that joins gets tools, one that leaves takes its tools with it', async () => {
    const hub = await new ToolHarness().start();
    hub.home.add(LAMP);
    expect(hub.registry.resolve('desk_lamp_set_brightness').definition.metadata).toMatchObject({ device: lamp, area: 'Study' });
    hub.home.remove(lamp);
    expect(hub.names().filter((name) => name.includes('desk_lamp'))).toEqual([]);
    expect(() => hub.registry.resolve('desk_lamp_brightness')).toThrow(/no tool/);
    const kinds = hub.events.map((event) => event.type);
    expect(kinds).toEqual(expect.arrayContaining(['device.added', 'device.removed', 'agi.tool.removed']));
  });

  test('those that are dangerous are marked for administrators, and no others', async () => {
    const hub = await new ToolHarness(described('DoorLock', { device: { id: parseDeviceId('door'), name: 'Door' } })).start();
    const told = hub.registry.all().map(({ definition: { metadata } }) => [metadata.isDangerous, metadata.audit.notifyAdmins]);
    expect(told).toContainEqual([true, true]);
    expect(told.filter(([isDangerous, isMarked]) => isDangerous !== isMarked)).toEqual([]);
  });

  test('short names of actions work as aliases', async () => {
    const hub = await new ToolHarness(LAMP).start();
    expect(hub.registry.resolve('matter:desk_lamp_brightness').definition.name).toBe('desk_lamp_set_brightness');
    expect(hub.registry.resolve('desk_lamp_on').definition.name).toBe('desk_lamp_turn_on');
  });

  test('after renames every former name still means the device', async () => {
    const hub = await new ToolHarness(LAMP).start();
    hub.home.change(lamp, { name: 'Reading light' });
    hub.home.change(lamp, { name: 'Night light' });
    expect(hub.names()).toContain('matter:night_light_turn_on');
    expect(hub.names()).not.toContain('matter:desk_lamp_turn_on');
    for (const name of ['desk_lamp_turn_on', 'matter:reading_light_turn_on', 'matter:desk_lamp_turn_on']) {
      expect(hub.registry.resolve(name).definition.name).toBe('night_light_turn_on');
    }
    const { result } = await hub.call('desk_lamp_turn_on');
    expect(result).toMatchObject({ state: { is_on: true } });
  });

  test('an unreachable device keeps its tools, marked as away', async () => {
    const hub = await new ToolHarness(LAMP).start();
    const tool = hub.registry.resolve('desk_lamp_turn_on');
    expect(tool.isAvailable?.()).toBe(true);
    hub.home.change(lamp, { reachability: 'unreachable' });
    expect(hub.registry.resolve('desk_lamp_turn_on').isAvailable?.()).toBe(false);
    expect(hub.readings.reachability.get(lamp)).toBe('unreachable');
    expect(hub.events.at(-1)).toMatchObject({ type: 'device.reachability', subject: lamp, data: { reachability: 'unreachable' } });
  });

  test('two devices of one name get different tools, and the first keeps its own', async () => {
    const hub = await new ToolHarness(LAMP).start();
    const twin = { ...LAMP, device: { ...LAMP.device, id: parseDeviceId('desk-lamp-2') } };
    hub.home.add(twin);
    expect(hub.registry.resolve('desk_lamp_turn_on').definition.metadata.device).toBe(lamp);
    const owners = hub.names().filter((name) => /^matter:desk_lamp(_2)?_turn_on$/.test(name));
    expect(owners).toHaveLength(2);
  });

  test('a tool of one device is never taken over by another whose names run into it', async () => {
    const pump = described('Fan', { hasAllElements: true, device: { id: parseDeviceId('hall'), name: 'Hall' } });
    const named = { ...pump, device: { ...pump.device, id: parseDeviceId('hall-set'), name: 'Hall set' } };
    const hub = await new ToolHarness(pump, named).start();
    const owners = hub.registry.list({ limit: 500 }).tools.flatMap((tool) => tool.definition.metadata.device ?? []);
    expect(new Set(owners)).toEqual(new Set(['hall', 'hall-set']));
    expect(owners.filter((owner) => owner === 'hall').length).toBe(owners.filter((owner) => owner === 'hall-set').length);
  });

  test('limits that the device reports later narrow its tools, once for a burst of reports', async () => {
    const hub = await new ToolHarness(LAMP).start();
    const bounds = () =>
      (hub.registry.resolve('desk_lamp_set_brightness').definition.parameters.properties as { brightness: object }).brightness;
    expect(bounds()).toMatchObject({ minimum: 0, maximum: 100 });
    const path = (attribute: string) => ({ device: lamp, endpoint: 1, cluster: 'LevelControl', attribute });
    hub.home.report(path('MinLevel'), 25);
    hub.home.report(path('MaxLevel'), 127);
    hub.events.length = 0;
    hub.clock.advance(1000);
    expect(bounds()).toMatchObject({ minimum: 10, maximum: 50 });
    expect(hub.events.filter((event) => event.type === 'agi.tool.discovered').map((event) => event.subject)).toEqual([
      'matter:desk_lamp_set_brightness@1.0.0',
    ]);
  });

  test('a stopped synchronisation receives no more changes', async () => {
    const hub = await new ToolHarness().start();
    await hub.sync[Symbol.asyncDispose]();
    hub.home.add(LAMP);
    expect(hub.names()).not.toContain('matter:desk_lamp_turn_on');
  });
});

describe('a device with several parts alike', () => {
  const meter = described('OnOffPlugInUnit', { hasAllElements: true, device: { id: parseDeviceId('solar'), name: 'Solar' } });
  const [whole] = meter.endpoints;
  const withParts = (labels: readonly (readonly string[])[]) => ({
    ...meter,
    endpoints: whole ? labels.map((own, index) => ({ ...whole, endpoint: 94 + index, labels: own })) : [],
  });

  test('has tools that are named and described as the device calls the parts, and know their numbers still', async () => {
    const hub = await new ToolHarness(withParts([['Panel 1'], ['Panel 2']])).start();
    const tool = hub.registry.resolve('solar_turn_on_panel_2');
    expect(tool.definition.description).toContain('For its part "Panel 2"');
    expect(hub.registry.resolve('matter:solar_turn_on_95').id).toBe(tool.id);
    expect(hub.registry.resolve('solar_on_panel_1').definition.name).toBe('solar_turn_on_panel_1');
    await hub.call('solar_turn_on_panel_2');
    expect(hub.home.invoked.map(({ path }) => path.endpoint)).toEqual([95]);
    expect(await hub.call('control_device', { device_id: 'solar', command: 'turn_on_94' })).toMatchObject({ result: { success: true } });
  });

  test('is found by the label of the part that is meant', async () => {
    const hub = await new ToolHarness(withParts([1, 2, 3, 4, 5].map((number) => [`Panel ${number}`]))).start();
    const { matches } = new LexicalToolSearch().search({ text: 'turn on solar panel 3' }, hub.registry.all());
    expect(matches[0]?.tool.definition.name).toBe('solar_turn_on_panel_3');
  });

  test('uses numbers where labels do not distinguish the parts', async () => {
    const hub = await new ToolHarness(
      withParts([
        ['Panel', 'left'],
        ['Panel', 'right'],
      ]),
    ).start();
    expect(hub.names()).toContain('matter:solar_turn_on_left');
    for (const labels of [
      [['Panel'], ['Panel']],
      [['Panel 1'], []],
      [['灯'], ['火']],
    ]) {
      const numbered = await new ToolHarness(withParts(labels)).start();
      expect(numbered.names()).toContain('matter:solar_turn_on_94');
      expect(numbered.registry.resolve('solar_turn_on_94').definition.description).toContain('Endpoint 94 of several');
    }
  });
});

describe('a name means one device for ever', () => {
  const lampOf = (id: string, name = id) => ({ ...LAMP, device: { ...LAMP.device, id: parseDeviceId(id), name } });
  const [hall, bedroom] = [lampOf('hall-light'), lampOf('bedroom-lamp')];
  const deviceOf = (hub: ToolHarness, tool: string) => hub.registry.find(tool)?.definition.metadata.device;
  const start = (...given: readonly DeviceDescription[]) => new ToolHarness(...given).start();
  const restart = (state: KeyValueStore, ...given: readonly DeviceDescription[]) => new ToolHarness(state, ...given).start();

  test('of two devices that are given one name, the first keeps it through every start and the second gets a number', async () => {
    const hub = await start(hall, bedroom);
    hub.home.change(hall.device.id, { name: 'Zed lamp' });
    hub.home.change(bedroom.device.id, { name: 'Zed lamp' });
    const now = hub.home
      .list()
      .map(({ id }) => hub.home.describe(id))
      .filter((one) => one !== undefined);
    for (const running of [hub, await restart(hub.store, ...now), await restart(hub.store, ...now.toReversed())]) {
      expect(deviceOf(running, 'zed_lamp_turn_on')).toBe('hall-light');
      expect(deviceOf(running, 'zed_lamp_2_turn_on')).toBe('bedroom-lamp');
      expect(deviceOf(running, 'hall_light_turn_on')).toBe('hall-light');
    }
  });

  test('a former name means the device after a restart too, and never becomes another device', async () => {
    const hub = await start(hall, bedroom);
    hub.home.change(bedroom.device.id, { name: 'Nightstand' });
    const again = await restart(hub.store, hall, lampOf('bedroom-lamp', 'Nightstand'));
    expect(again.registry.resolve('matter:bedroom_lamp_toggle@1.0.0').definition.name).toBe('nightstand_toggle');
    expect(deviceOf(again, 'bedroom_lamp_on')).toBe('bedroom-lamp');
    again.home.change(hall.device.id, { name: 'Bedroom lamp' });
    expect(deviceOf(again, 'bedroom_lamp_toggle')).toBe('bedroom-lamp');
    expect(deviceOf(again, 'bedroom_lamp_2_toggle')).toBe('hall-light');
  });

  test('the names of a removed device stay its own', async () => {
    const hub = await start(bedroom);
    hub.home.remove(bedroom.device.id);
    const stranger = lampOf('stranger', 'Bedroom lamp');
    hub.home.add(stranger);
    expect(deviceOf(hub, 'bedroom_lamp_toggle')).toBeUndefined();
    expect(deviceOf(hub, 'bedroom_lamp_2_toggle')).toBe('stranger');
    hub.home.remove(stranger.device.id);
    hub.home.add(bedroom);
    expect(deviceOf(hub, 'bedroom_lamp_toggle')).toBe('bedroom-lamp');
  });

  test('what tools were called before a hub kept names stays theirs', async () => {
    const long = lampOf('long', 'Guest bathroom mirror cabinet light left');
    const twins = ['lamp', 'lamp-2'].map((id) => lampOf(id, 'Lamp'));
    const hub = await start(...twins.toReversed(), long);
    expect(deviceOf(hub, 'lamp_turn_on')).toBe('lamp');
    const [prefix = ''] = [...unclaimedPrefixes(twins.map(({ device }) => device)).values()].filter((one) => one !== 'lamp');
    expect(deviceOf(hub, `${prefix}_turn_on`)).toBe('lamp-2');
    // Which of the two had the plain name was left to the order in which they came.
    for (const { device } of twins) expect(deviceOf(hub, `${unclaimedSecondPrefix(device)}_turn_on`)).toBe(device.id);
    expect(deviceOf(hub, unclaimedToolName('guest_bathroom_mirror_cabinet_light_left', 'turn_on'))).toBe('long');
    expect(hub.names()).toContain('matter:guest_bathroom_mirror_light_left_turn_on');
  });

  test('names that the disk does not take count until the hub stops, and are written with the next change', async () => {
    const clock = new ManualClock();
    const disk = new MemoryKeyValueStore(clock);
    let isFull = true;
    const store: KeyValueStore = {
      get: (space, key) => disk.get(space, key),
      entries: (space) => disk.entries(space),
      delete: (space, key) => disk.delete(space, key),
      set: (space, key, value) => {
        if (isFull && (space === 'device.names' || space === 'device.names.state'))
          throw new AtmoError('STORAGE_FAILED', 'The disk is full');
        disk.set(space, key, value);
      },
    };
    const hub = await restart(store, hall);
    expect(deviceOf(hub, 'hall_light_toggle')).toBe('hall-light');
    expect(disk.entries('device.names')).toEqual([]);
    isFull = false;
    hub.home.change(hall.device.id, { area: 'Hall' });
    expect(disk.entries('device.names').map(({ key }) => key)).toEqual(['hall-light']);
  });
});

describe('readings follow the reports', () => {
  const path = { device: SENSOR.device.id, endpoint: 1, cluster: 'TemperatureMeasurement', attribute: 'MeasuredValue' };

  test('in human units, with title, kind and unit', async () => {
    const hub = await new ToolHarness(SENSOR).start();
    hub.home.report(path, 2150, 77);
    expect(Object.fromEntries(hub.readings.values)).toEqual({ 'hall/temperature': 21.5 });
    expect([...hub.readings.infos.values()]).toEqual([
      { id: 'hall/temperature', device: 'hall', name: 'temperature', kind: 'temperature', unit: '°C', title: '"Hall" temperature' },
    ]);
    expect(hub.events.at(-1)).toMatchObject({
      type: 'sensor.reading',
      subject: 'hall/temperature',
      data: { value: 21.5, unit: '°C', at_ms: 77 },
    });
  });

  describe('keep the ids that they had', () => {
    const AIR = described('RoomAirConditioner', {
      hasAllElements: true,
      clusters: ['Thermostat', 'TemperatureMeasurement'],
      device: { id: parseDeviceId('air'), name: 'Air' },
    });
    const idsOf = (hub: ToolHarness) => [...hub.readings.infos.keys()].filter((id) => /temperature/.test(id)).sort();
    /** A state directory of a hub that kept names of devices and tools alone, or none at all. */
    const stateOf = (isOpen: boolean): KeyValueStore => {
      const store = new MemoryKeyValueStore(new ManualClock());
      if (isOpen) store.set('device.names.state', 'opened', true);
      return store;
    };

    test.each([true, false])('by the rule of hubs that kept none, also after the next start (names kept: %s)', async (isOpen) => {
      const store = stateOf(isOpen);
      const old = ['air/outdoor_temperature', 'air/temperature', 'air/temperature_temperature'];
      for (const hub of [await new ToolHarness(store, AIR).start(), await new ToolHarness(store, AIR).start()]) {
        expect(idsOf(hub)).toEqual(old);
        expect(hub.readings.infos.get('air/temperature_temperature' as never)).toMatchObject({
          name: 'temperature_measurement',
          title: '"Air" temperature measurement',
        });
      }
    });

    test('and a device that is new here has good ones', async () => {
      const hub = await new ToolHarness().start();
      hub.home.add(AIR);
      expect(idsOf(hub)).toEqual(['air/outdoor_temperature', 'air/temperature', 'air/temperature_measurement']);
    });

    test('when the device gets more parts, or loses and regains some', async () => {
      const store = new MemoryKeyValueStore(new ManualClock());
      await new ToolHarness(store, SENSOR).start();
      const second = SENSOR.endpoints.map((one) => ({ ...one, endpoint: 3 }));
      const both = { ...SENSOR, endpoints: [...SENSOR.endpoints, ...second] };
      expect(idsOf(await new ToolHarness(store, both).start())).toEqual(['hall/temperature', 'hall/temperature/3']);
      expect(idsOf(await new ToolHarness(store, { ...SENSOR, endpoints: second }).start())).toEqual(['hall/temperature/3']);
      expect(idsOf(await new ToolHarness(store, SENSOR).start())).toEqual(['hall/temperature']);
    });
  });

  test.each([true, false])('a tool keeps a name with the number of a cluster that it had (names kept: %s)', async (isKept) => {
    const nameless = { id: 0xfff1_fc01, name: 'Cluster0xfff1fc01', revision: 1, features: [], commands: [], events: [] };
    const attribute = { id: 1, name: 'Attr0xfff10001', schema: {}, writable: false, readPrivilege: 'view' } as const;
    const cluster = { ...nameless, attributes: [{ ...attribute, changesOmitted: false, fixed: false }] };
    const odd = { ...LAMP, endpoints: LAMP.endpoints.map((one) => ({ ...one, clusters: [...one.clusters, cluster] })) };
    const store = new MemoryKeyValueStore(new ManualClock());
    if (isKept) {
      store.set('device.names.state', 'opened', true);
      store.set('device.names', lamp, {
        prefixes: [{ plain: 'desk_lamp', prefix: 'desk_lamp' }],
        tools: { '1/Cluster0xfff1fc01/cluster0xfff1fc01_read': ['desk_lamp_cluster0xfff1fc01_read'] },
        names: ['Desk lamp'],
      });
    }
    const hub = await new ToolHarness(store, odd).start();
    expect(hub.registry.resolve('desk_lamp_vendor_1_read').definition.name).toBe('desk_lamp_vendor_1_read');
    expect(hub.registry.resolve('desk_lamp_cluster0xfff1fc01_read').definition.name).toBe('desk_lamp_vendor_1_read');
  });

  test('what is known before the device joins is recorded at once; a device that leaves takes its sensors along', async () => {
    const hub = await new ToolHarness().start();
    hub.home.report(path, 1900);
    hub.home.add(SENSOR);
    expect(hub.readings.values.get('hall/temperature')).toBe(19);
    hub.home.remove(SENSOR.device.id);
    expect(hub.readings.infos.size).toBe(0);
  });

  test.each([
    [1, 'Pressed once'],
    [2, 'Pressed twice'],
    [9, 'Pressed several times'],
  ])('a button that was pressed %d times is told as such', async (count, title) => {
    const button = described('GenericSwitch', { hasAllElements: true, device: { id: parseDeviceId('button'), name: 'Button' } });
    const hub = await new ToolHarness(button).start();
    const data = { previousPosition: 0, totalNumberOfPressesCounted: count };
    hub.home.tell({ device: button.device.id, endpoint: 1, cluster: 'Switch', event: 'MultiPressComplete', data, atMs: 5 });
    expect(hub.events.at(-1)?.data).toMatchObject({ title });
  });

  test('events of the profile are emitted, others are not', async () => {
    const button = described('GenericSwitch', { hasAllElements: true, device: { id: parseDeviceId('button'), name: 'Button' } });
    const hub = await new ToolHarness(button).start();
    const press = { device: button.device.id, endpoint: 1, cluster: 'Switch', data: { newPosition: 1 }, atMs: 5 };
    hub.home.tell({ ...press, event: 'InitialPress' });
    hub.home.tell({ ...press, event: 'MultiPressOngoing' });
    const told = hub.events.filter((event) => event.type === 'device.event');
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({
      subject: 'button',
      data: { event: 'InitialPress', kind: 'button', title: 'Pressed', data: { newPosition: 1 } },
    });
  });
});
