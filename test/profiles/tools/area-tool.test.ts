import { describe, expect, test, vi } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { described } from '../device-fixtures.ts';
import { ToolHarness } from '../tool-harness.ts';

const at = (type: string, id: string, area: string) =>
  described(type, { hasAllElements: true, device: { id: parseDeviceId(id), name: id.replaceAll('-', ' '), area } });

const HOUSE = [
  at('ExtendedColorLight', 'desk-lamp', 'Study'),
  at('OnOffLight', 'study-light', 'Study'),
  at('DimmableLight', 'hall-lamp', 'Hall'),
  at('OnOffPlugInUnit', 'freezer-plug', 'Study'),
  at('DoorLock', 'front-door', 'Hall'),
  at('Thermostat', 'heating', 'Study'),
  at('WaterHeater', 'boiler', 'Study'),
  at('Fan', 'study-fan', 'Study'),
  at('RoomAirConditioner', 'cooler', 'Bedroom'),
  at('WindowCovering', 'blind', 'Bedroom'),
  at('Closure', 'garage-door', 'Bedroom'),
  at('BasicVideoPlayer', 'television', 'Hall'),
  at('Speaker', 'speaker', 'Hall'),
  at('WaterValve', 'valve', 'Study'),
] as const;

async function house() {
  const hub = await new ToolHarness(...HOUSE).start();
  hub.homeNames.describeArea('Study', { aliases: ['Office'], floor: 'Upstairs' });
  hub.homeNames.describeArea('Bedroom', { aliases: [], floor: 'Upstairs' });
  return hub;
}

type Hub = Awaited<ReturnType<typeof house>>;

const sent = (hub: Hub) => hub.home.invoked.map(({ path }) => `${path.device} ${path.command}`);
const lights = (area: string, more: JsonObject = {}) => ({ area, what: 'lights', action: 'off', ...more });

describe('control_area', () => {
  test('turns off all lights of a room, and no plug', async () => {
    const hub = await house();
    const { result } = await hub.call('control_area', lights('office'));
    expect(sent(hub)).toEqual(['desk-lamp Off', 'study-light Off']);
    expect(result).toMatchObject({
      success: true,
      area: 'Study',
      summary: 'Lights in "Study": 2 of 2 done',
      counts: { settled: 2, not_settled: 0, failed: 0, skipped: 0 },
    });
  });

  test.each([
    ['house', ['desk-lamp', 'hall-lamp', 'study-light']],
    ['everywhere', ['desk-lamp', 'hall-lamp', 'study-light']],
    ['upstairs', ['desk-lamp', 'study-light']],
    ['hall', ['hall-lamp']],
  ])('knows the place %s, and its effects name every member', async (area, devices) => {
    const hub = await house();
    const { params, effects } = hub.prepare('control_area', lights(area));
    expect(params.devices).toEqual(devices);
    expect(effects.map(({ permission }) => permission)).toEqual(devices.map((id) => `device:control:${id}`));
    expect(new Set(effects.map(({ risk }) => risk))).toEqual(new Set(['low']));
  });

  test('canonical parameters are their own canonical form, and a device that joins later is not touched', async () => {
    const hub = await house();
    const { params, tool } = hub.prepare('control_area', lights('study'));
    hub.home.add(at('OnOffLight', 'new-lamp', 'Study'));
    expect(hub.prepare('control_area', params).params).toEqual(params);
    await hub.call('control_area', params);
    expect(sent(hub)).toEqual(['desk-lamp Off', 'study-light Off']);
    expect(hub.prepare('control_area', lights('study')).params.devices).toContain('new-lamp');
    expect(tool.effects?.(params)).toHaveLength(2);
  });

  test('an area wins over a floor of the same name, unless scope says otherwise', async () => {
    const hub = await house();
    hub.homeNames.describeArea('Study', { aliases: [], floor: 'Hall' });
    expect(hub.prepare('control_area', lights('hall')).params).toMatchObject({ scope: 'area', devices: ['hall-lamp'] });
    const onFloor = hub.prepare('control_area', lights('hall', { scope: 'floor' })).params;
    expect(onFloor).toMatchObject({ scope: 'floor', area: 'Hall', devices: ['desk-lamp', 'study-light'] });
    expect(hub.prepare('control_area', onFloor).params).toEqual(onFloor);
    expect(() => hub.prepare('control_area', lights('study', { scope: 'floor' }))).toThrow(/no floor "study"; there is/);
  });

  test('dims what can be dimmed and says what cannot', async () => {
    const hub = await house();
    const { result } = await hub.call('control_area', lights('study', { action: 'on', level: 40 }));
    expect(sent(hub)).toEqual(['desk-lamp MoveToLevelWithOnOff']);
    expect(result).toMatchObject({
      counts: { skipped: 1 },
      members: [{ device_id: 'desk-lamp' }, { device_id: 'study-light', outcome: 'skipped', reason: 'It has no brightness' }],
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ['opens covers, and no garage door', { area: 'bedroom', what: 'covers', action: 'open' }, ['blind UpOrOpen']],
    ['moves covers', { area: 'house', what: 'covers', action: 'level', level: 30 }, ['blind GoToLiftPercentage']],
    ['stops covers', { area: 'house', what: 'covers', action: 'mode', mode: 'stop' }, ['blind StopMotion']],
    ['turns off an air conditioner', { area: 'bedroom', what: 'climate', action: 'off' }, ['cooler Off']],
    ['turns off media', { area: 'hall', what: 'media', action: 'off' }, ['speaker Off', 'television Off']],
    ['sets the volume', { area: 'hall', what: 'media', action: 'level', level: 20 }, ['speaker MoveToLevel']],
    ['pauses', { area: 'hall', what: 'media', action: 'mode', mode: 'pause' }, ['television Pause']],
  ])('%s', async (_, params, commands) => {
    const hub = await house();
    await hub.call('control_area', params);
    expect(sent(hub)).toEqual(commands);
  });

  test('sets modes and temperatures of thermostats, and leaves the boiler alone', async () => {
    const hub = await house();
    await hub.call('control_area', { area: 'study', what: 'climate', action: 'mode', mode: 'heat' });
    const { result } = await hub.call('control_area', {
      area: 'study',
      what: 'climate',
      action: 'temperature',
      temperature: 70,
      unit: 'fahrenheit',
    });
    const written = hub.home.written.map(({ path, value }) => [path.device, path.attribute, value]);
    expect(written.slice(0, 2)).toEqual([
      ['heating', 'SystemMode', 'Heat'],
      ['heating', 'OccupiedHeatingSetpoint', 2111],
    ]);
    expect(written.map(([device]) => device)).not.toContain('boiler');
    expect(result).toMatchObject({ members: [{ device_id: 'heating' }, { device_id: 'study-fan', reason: 'It keeps no temperature' }] });
  });

  test.each<[string, JsonObject, string]>([
    ['an action that the kind does not know', { area: 'study', what: 'lights', action: 'mode', mode: 'x' }, 'VALIDATION_ERROR'],
    ['a level that is missing', { area: 'study', what: 'lights', action: 'level' }, 'VALIDATION_ERROR'],
    ['an unknown place', lights('attic'), 'NOT_FOUND'],
    ['a place without such devices', { area: 'hall', what: 'covers', action: 'off' }, 'NOT_SUPPORTED'],
    ['what nobody there can do', { area: 'hall', what: 'media', action: 'mode', mode: 'sing' }, 'NOT_SUPPORTED'],
    ['a device that is not there', lights('study', { devices: ['hall-lamp'] }), 'NOT_SUPPORTED'],
    ['a device of another kind', lights('study', { devices: ['freezer-plug'] }), 'NOT_SUPPORTED'],
  ])('refuses %s', async (_, params, code) => {
    const hub = await house();
    await expect((async () => hub.call('control_area', params))()).rejects.toMatchObject({ code });
    expect(hub.home.invoked).toEqual([]);
  });
});

describe('the members of a caller with few grants', () => {
  const reads = 'device:read:*';

  test('are those that it may control; the others that it sees are skipped with the reason', async () => {
    const hub = await house();
    const { result } = await hub.callAs([reads, 'device:control:desk-lamp'], 'control_area', lights('house'));
    expect(sent(hub)).toEqual(['desk-lamp Off']);
    expect(result).toMatchObject({
      counts: { settled: 1, skipped: 2 },
      members: [{ device_id: 'desk-lamp' }, { device_id: 'study-light', reason: 'You may not control it' }, { device_id: 'hall-lamp' }],
    });
  });

  test('never show a device that it may not know of', async () => {
    const hub = await house();
    const { result } = await hub.callAs(['device:control:desk-lamp'], 'control_area', lights('house'));
    expect(JSON.stringify(result)).not.toMatch(/study-light|hall/);
    await expect(hub.callAs(['device:control:desk-lamp'], 'control_area', lights('hall'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('cannot be widened by naming devices or by canonical parameters of somebody else', async () => {
    const hub = await house();
    const { params } = hub.prepare('control_area', lights('house'));
    const few = [reads, 'device:control:desk-lamp'];
    await hub.callAs(few, 'control_area', params);
    await expect(hub.callAs(few, 'control_area', lights('house', { devices: ['hall-lamp'] }))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
    await expect(hub.callAs([reads], 'control_area', lights('house'))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { required: expect.arrayContaining(['device:control:hall-lamp']) },
    });
    expect(sent(hub)).toEqual(['desk-lamp Off']);
  });
});

describe('a member that does not answer', () => {
  test('is told after its own time limit, and delays nobody', async () => {
    const hub = await house();
    hub.home.dead.add('desk-lamp');
    const call = hub.call('control_area', lights('house'));
    await vi.waitFor(() => expect(sent(hub)).toEqual(['hall-lamp Off', 'study-light Off']));
    hub.clock.advance(12_000);
    const { result } = await call;
    expect(result).toMatchObject({
      success: false,
      counts: { settled: 2, failed: 1 },
      members: [{ device_id: 'desk-lamp', outcome: 'failed', code: 'TIMEOUT', reason: expect.stringContaining('12 s') }, {}, {}],
    });
  });

  test('is skipped at once where the hub knows it', async () => {
    const hub = await house();
    hub.home.change(parseDeviceId('desk-lamp'), { reachability: 'unreachable' });
    const { result } = await hub.call('control_area', lights('house'));
    expect(result).toMatchObject({ success: true, members: [{ outcome: 'skipped', code: 'DEVICE_UNREACHABLE' }, {}, {}] });
  });

  test('makes the call fail if it is the only one', async () => {
    const hub = await house();
    hub.home.change(parseDeviceId('hall-lamp'), { reachability: 'unreachable' });
    await expect(hub.call('control_area', lights('hall'))).rejects.toMatchObject({
      code: 'DEVICE_UNREACHABLE',
      details: { members: [{ device_id: 'hall-lamp' }] },
    });
  });

  test('makes the call fail with its error if nobody did it', async () => {
    const hub = await house();
    hub.home.failure = new AtmoError('CLUSTER_STATUS', 'busy');
    await expect(hub.call('control_area', lights('study'))).rejects.toMatchObject({ code: 'CLUSTER_STATUS' });
  });
});
