import { describe, expect, it } from 'vitest';
import { type MeshPorts, MeshProxy } from '../../../src/calls/mesh-ports.ts';
import type { Reading } from '../../../src/core/devices/sensor-readings.ts';
import { agent } from '../../calls/pipeline-fixture.ts';
import { authenticatorOf, makeDevice, makeHttpApi, makeReading } from '../../http/http-fixture.ts';
import { RemoteToolsFake, toolOf } from '../../tools/registry/remote-tools-fake.ts';
import { modernClient, resultOf } from '../mcp-clients.ts';

const HOUR_MS = 3_600_000;
const OBJECT = { type: 'object' };

function reading(id: string, value: Reading['value'], about: Partial<Reading['sensor']>): Reading {
  const made = makeReading(id, 0, 1_000);
  return { ...made, value, sensor: { ...made.sensor, kind: made.sensor.name, unit: '', ...about } };
}

function home(ports?: MeshPorts) {
  const authenticator = authenticatorOf({ narrow: agent('sensor:read:lamp/is_on', 'device:control:lamp') });
  const setup = makeHttpApi({ authenticator }, ports && { ports });
  setup.directory.devices = [
    makeDevice('lamp', { area: 'Kitchen' }),
    makeDevice('hall-sensor', { area: 'Hall', deviceTypes: ['TemperatureSensor'] }),
    makeDevice('smoke', { area: 'Hall', reachability: 'unreachable' }),
  ];
  setup.readings.readings = [
    reading('lamp/is_on', true, { kind: 'on_off', area: 'Kitchen', title: 'Lamp on' }),
    reading('hall-sensor/temperature', 21.4, { unit: '°C', area: 'Hall', title: 'Hall temperature' }),
    reading('smoke/alarm', 'smoke_alarm', { kind: 'alarm', area: 'Hall', title: 'Smoke alarm' }),
    reading('smoke/battery_alert', 'normal', { kind: 'battery_alert', area: 'Hall', title: 'Battery' }),
  ];
  return setup;
}

describe('home_overview', () => {
  it('tells areas, what is on, alarms that are not calm, and what cannot be reached', async () => {
    const overview = await resultOf(await modernClient(home().httpApi), 'home_overview');
    expect(overview).toEqual({
      devices: 3,
      areas: [
        { area: 'Hall', devices: 2, temperature: '21.4 °C' },
        { area: 'Kitchen', devices: 1, on: ['lamp'] },
      ],
      alarms: [{ sensor: 'smoke/alarm', title: 'Smoke alarm', value: 'smoke_alarm' }],
      unreachable: ['smoke'],
    });
  });

  it('takes the air of a room from what is in the room, not from the inside of an oven, and from all of it', async () => {
    const setup = home();
    setup.directory.devices.push(makeDevice('oven', { area: 'Hall', deviceTypes: ['Oven'] }), makeDevice('other', { area: 'Hall' }));
    setup.readings.readings.push(
      reading('oven/temperature', 180, { unit: '°C', area: 'Hall' }),
      reading('other/temperature', 22, { unit: '°C', area: 'Hall' }),
    );
    const overview = await resultOf(await modernClient(setup.httpApi), 'home_overview');
    expect(overview).toMatchObject({ areas: [{ area: 'Hall', temperature: '21.7 °C' }, {}] });
  });

  it('tells apart what is open and what is unlocked', async () => {
    const setup = home();
    setup.directory.devices.push(makeDevice('door', { area: 'Hall' }), makeDevice('window', { area: 'Hall' }));
    setup.readings.readings.push(
      reading('door/lock_state', 'unlocked', { kind: 'lock', area: 'Hall' }),
      reading('door/is_open', 0, { kind: 'contact', area: 'Hall' }),
      reading('window/is_open', 1, { kind: 'contact', area: 'Hall' }),
    );
    const overview = await resultOf(await modernClient(setup.httpApi), 'home_overview');
    expect(overview).toMatchObject({ areas: [{ area: 'Hall', open: ['window'], unlocked: ['door'] }, {}] });
  });

  it('says that other hubs have devices too, to those who may use them', async () => {
    const far = toolOf(['hub-2'], {
      requires: { permissions: ['far:lamp'] },
      metadata: { title: 'On', category: 'acting', device: 'far-lamp' },
    });
    const { httpApi } = home({ ...new MeshProxy(() => undefined), tools: new RemoteToolsFake([far]) });
    expect(await resultOf(await modernClient(httpApi), 'home_overview')).toMatchObject({ other_hubs: { device_tools: 1 } });
    expect(await resultOf(await modernClient(httpApi, { token: 'narrow' }), 'home_overview')).not.toHaveProperty('other_hubs');
  });

  it('tells each device of one area with what it says now', async () => {
    const overview = await resultOf(await modernClient(home().httpApi), 'home_overview', { area: 'kitchen' });
    expect(overview).toMatchObject({ area: 'Kitchen', devices: [{ id: 'lamp', type: 'DimmableLight', now: { is_on: true } }] });
  });

  it('names the areas that there are when one is not', async () => {
    const failed = await resultOf(await modernClient(home().httpApi), 'home_overview', { area: 'Kitchn' });
    expect(failed).toMatchObject({ code: 'NOT_FOUND', details: { candidates: ['Kitchen'] } });
  });

  it('says nothing of what the caller may not see', async () => {
    const overview = await resultOf(await modernClient(home().httpApi, { token: 'narrow' }), 'home_overview');
    expect(overview).toEqual({ devices: 1, areas: [{ area: 'Kitchen', devices: 1, on: ['lamp'] }], alarms: [] });
  });

  it('stays short however large the home is, and counts what it leaves out', async () => {
    const setup = home();
    setup.directory.devices = Array.from({ length: 2_000 }, (_, index) =>
      makeDevice(`lamp-${index}`, { area: `Room ${index % 80}`, reachability: 'unreachable' }),
    );
    const overview = await resultOf(await modernClient(setup.httpApi), 'home_overview');
    expect(overview).toMatchObject({ devices: 2_000, more_areas: 40, more_unreachable: 1_988 });
    expect(JSON.stringify(overview).length).toBeLessThan(4_000);
  });
});

describe('read_sensor', () => {
  it('reads by id, device, area and kind', async () => {
    const client = await modernClient(home().httpApi);
    const idsOf = async (wish: Record<string, unknown>) => {
      const { readings } = (await resultOf(client, 'read_sensor', wish)) as { readings: { sensor: string }[] };
      return readings.map(({ sensor }) => sensor);
    };
    expect(await idsOf({ sensor: 'hall-sensor/temperature' })).toEqual(['hall-sensor/temperature']);
    expect(await idsOf({ sensor: 'smoke' })).toEqual(['smoke/alarm', 'smoke/battery_alert']);
    expect(await idsOf({ area: 'hall', kind: 'temperature' })).toEqual(['hall-sensor/temperature']);
    expect(await idsOf({ kind: ' Temperature' })).toEqual(['hall-sensor/temperature']);
    expect(await idsOf({ kind: 'Battery alert' })).toEqual(['smoke/battery_alert']);
  });

  it('names candidates instead of guessing', async () => {
    const client = await modernClient(home().httpApi);
    expect(await resultOf(client, 'read_sensor', { sensor: 'hall-sensor/temperatur' })).toMatchObject({
      code: 'SENSOR_NOT_FOUND',
      details: { candidates: expect.arrayContaining(['hall-sensor/temperature']) },
    });
    expect(await resultOf(client, 'read_sensor', { kind: 'humidity' })).toMatchObject({ code: 'SENSOR_NOT_FOUND' });
  });
});

describe('sensor_history', () => {
  it('answers a question about a day: lowest and highest with when, the mean over time, the course', async () => {
    const setup = home();
    const endMs = setup.clock.now();
    setup.readings.points = [
      { atMs: endMs - 4 * HOUR_MS, value: 18 },
      { atMs: endMs - 3 * HOUR_MS, value: 24 },
      { atMs: endMs - HOUR_MS, value: 20 },
    ];
    const history = await resultOf(await modernClient(setup.httpApi), 'sensor_history', { sensor: 'Hall temperature' });
    const at = (hours: number) => new Date(endMs - hours * HOUR_MS).toISOString();
    expect(history).toMatchObject({
      sensor: 'hall-sensor/temperature',
      unit: '°C',
      since: at(24),
      until: at(0),
      readings: 3,
      min: { at: at(4), value: 18 },
      max: { at: at(3), value: 24 },
      mean: 21.5,
      last: { at: at(1), value: 20 },
    });
  });

  it('knows a sensor by the name of its device', async () => {
    const setup = home();
    setup.directory.devices = [makeDevice('hall-sensor', { name: 'Kiosk thermometer' })];
    const client = await modernClient(setup.httpApi);
    expect(await resultOf(client, 'sensor_history', { sensor: 'kiosk Thermometer' })).toMatchObject({ sensor: 'hall-sensor/temperature' });
  });

  it('tells thousands of readings in 48 points at most', async () => {
    const setup = home();
    const endMs = setup.clock.now();
    setup.readings.points = Array.from({ length: 2_880 }, (_, index) => ({ atMs: endMs - (2_880 - index) * 30_000, value: index % 60 }));
    const history = (await resultOf(await modernClient(setup.httpApi), 'sensor_history', { sensor: 'hall-sensor/temperature' })) as {
      points: unknown[];
    };
    expect(history.points).toHaveLength(48);
  });

  it('knows days as people say them', async () => {
    const setup = home();
    const client = await modernClient(setup.httpApi);
    const wish = { sensor: 'hall-sensor/temperature', since: 'yesterday', until: 'today' };
    const { since, until } = (await resultOf(client, 'sensor_history', wish)) as { since: string; until: string };
    const midnight = new Date(until);
    expect([midnight.getHours(), midnight.getMinutes(), midnight.getSeconds()]).toEqual([0, 0, 0]);
    expect(midnight.toDateString()).toBe(new Date(setup.clock.now()).toDateString());
    expect(new Date(since).getHours()).toBe(0);
    expect(Math.round((midnight.getTime() - Date.parse(since)) / HOUR_MS / 24)).toBe(1);
  });

  it('refuses times that are none', async () => {
    const client = await modernClient(home().httpApi);
    const wish = { sensor: 'hall-sensor/temperature', since: 'last week' };
    expect(await resultOf(client, 'sensor_history', wish)).toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});

describe('search_tools and describe_tool', () => {
  function lamps() {
    const setup = home();
    const brightness = { type: 'integer', minimum: 0, maximum: 100, description: 'Brightness', 'x-unit': '%' };
    const base = { namespace: 'matter', returns: OBJECT, permissions: ['device:control:lamp'], execution: { side_effects: true } };
    const parameters = { type: 'object', properties: { brightness }, required: ['brightness'] };
    setup.addTool({
      ...base,
      name: 'lamp_set_brightness',
      description: 'Dims the lamp',
      parameters,
      metadata: { device: 'lamp', area: 'Kitchen' },
    });
    setup.addTool({ ...base, name: 'lamp_turn_on', description: 'Turns the lamp on', parameters: OBJECT });
    return setup;
  }

  it('find a tool from a sentence, and say what calls it with what', async () => {
    const found = await resultOf(await modernClient(lamps().httpApi), 'search_tools', {
      query: 'set the brightness of the lamp',
      limit: 1,
    });
    expect(found).toMatchObject({
      tools: [
        {
          name: 'lamp_set_brightness',
          area: 'Kitchen',
          call_with: 'control_tool',
          arguments: 'brightness: 0..100 %',
          why: expect.any(Array),
        },
      ],
    });
  });

  it('find nothing that the caller may not use', async () => {
    const setup = lamps();
    setup.addTool({ name: 'door_unlock', description: 'Unlocks the lamp door', permissions: ['device:control:door'] });
    const client = await modernClient(setup.httpApi, { token: 'narrow' });
    expect(JSON.stringify(await resultOf(client, 'search_tools', { query: 'unlock the door' }))).not.toContain('door_unlock');
    expect(JSON.stringify(await resultOf(client, 'describe_tool', { names: ['door_unlock'] }))).toContain('TOOL_NOT_FOUND');
  });

  it('tell the schemas of known names, and candidates for the others', async () => {
    const client = await modernClient(lamps().httpApi);
    expect(await resultOf(client, 'describe_tool', { names: ['lamp_set_brightness', 'lamp_turn_om'] })).toMatchObject({
      tools: [
        { name: 'lamp_set_brightness', inputSchema: { required: ['brightness'] }, call_with: 'control_tool' },
        {
          name: 'lamp_turn_om',
          error: {
            code: 'TOOL_NOT_FOUND',
            message: expect.stringContaining('lamp_turn_on'),
            details: { suggestions: expect.arrayContaining([expect.stringContaining('lamp_turn_on')]) },
          },
        },
      ],
    });
  });
});
