import { describe, expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/ids.ts';
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
    const owners = hub.names().filter((name) => /^matter:desk_lamp(_[0-9a-f]{6})?_turn_on$/.test(name));
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

  test('a stopped synchronisation hears nothing more', async () => {
    const hub = await new ToolHarness().start();
    await hub.sync[Symbol.asyncDispose]();
    hub.home.add(LAMP);
    expect(hub.names()).not.toContain('matter:desk_lamp_turn_on');
  });
});

describe('readings follow the reports', () => {
  const path = { device: SENSOR.device.id, endpoint: 1, cluster: 'TemperatureMeasurement', attribute: 'MeasuredValue' };

  test('in human units, with title, kind and unit', async () => {
    const hub = await new ToolHarness(SENSOR).start();
    hub.home.report(path, 2150, 77);
    expect(Object.fromEntries(hub.readings.values)).toEqual({ 'hall/temperature': 21.5 });
    expect([...hub.readings.infos.values()]).toEqual([
      { id: 'hall/temperature', device: 'hall', name: 'temperature', kind: 'temperature', unit: '°C', title: 'Hall temperature' },
    ]);
    expect(hub.events.at(-1)).toMatchObject({
      type: 'sensor.reading',
      subject: 'hall/temperature',
      data: { value: 21.5, unit: '°C', at_ms: 77 },
    });
  });

  test('what is known before the device joins is recorded at once; a device that leaves takes its sensors along', async () => {
    const hub = await new ToolHarness().start();
    hub.home.report(path, 1900);
    hub.home.add(SENSOR);
    expect(hub.readings.values.get('hall/temperature')).toBe(19);
    hub.home.remove(SENSOR.device.id);
    expect(hub.readings.infos.size).toBe(0);
  });

  test('events worth telling are told, others are not', async () => {
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
