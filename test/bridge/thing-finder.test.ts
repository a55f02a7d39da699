import { beforeEach, describe, expect, test } from 'vitest';
import { ThingFinder } from '../../src/bridge/thing-finder.ts';
import { OWNER } from '../../src/core/auth/principal.ts';

const line = (name: string) => ({ sensor: { id: `gpio/${name}`, device: 'gpio', name, kind: 'gpio', unit: '', title: name } });
const probe = { sensor: { id: 'pond/temperature', device: 'pond', name: 'temperature', kind: 'temperature', unit: '°C', title: 'Pond' } };
const BOARD = [
  { id: 'gpio', name: 'Lines', kind: 'board' },
  { id: 'pond', name: 'Pond', kind: 'board' },
];
const MATTER = [
  { id: 'lamp', name: 'Lamp', kind: 'node' },
  { id: 'lock', name: 'Front door', kind: 'node' },
  { id: 'copy', name: 'Attic lamp', kind: 'bridged', serial: 'atmo-bridged-0011' },
];

let scenes: { readonly id: string; readonly name: string; readonly devices: readonly string[] }[];
let dangerousTools: Set<string>;
let peerDevices: { readonly id: string; readonly name: string; readonly type: string; readonly isReachable: boolean }[];
let listed: object[];
let requests: object[];
let finder: ThingFinder;

beforeEach(() => {
  scenes = [{ id: 'night', name: 'Night', devices: ['lamp'] }];
  dangerousTools = new Set();
  peerDevices = [{ id: 'attic', name: 'Attic', type: 'on_off_light', isReachable: true }];
  listed = [];
  requests = [];
  const devices = [...BOARD, ...MATTER];
  const registry = {
    get: (tool: string) =>
      /^gpio:(pump|siren)_turn_/.test(tool) ? { definition: { metadata: { isDangerous: dangerousTools.has(tool) } } } : undefined,
  };
  const readings = [line('pump'), line('siren'), line('button'), probe];
  finder = new ThingFinder({
    readings: { sensors: () => readings, current: (id: string) => readings.find(({ sensor }) => sensor.id === id) },
    devices: { list: () => devices, get: (id: string) => devices.find((one) => one.id === id) },
    registry,
    scenes: { list: () => scenes, get: (id: string) => scenes.find((one) => one.id === id) },
    isGuarded: (id: string) => id !== 'lamp',
    mesh: { peers: () => [{ id: 'hub-2', name: 'attic-hub', state: 'fresh', devices: peerDevices }] },
    pipeline: {
      call: async (request: object) => {
        requests.push(request);
        return { status: 'success', result: { sensors: listed } };
      },
    },
  } as unknown as ConstructorParameters<typeof ThingFinder>[0]);
});

const find = (text: string, hub?: string) => finder.find({ text, hub, principal: OWNER });
const keys = async (text: string) => (await find(text)).map(({ key }) => key);
const reading = (id: string, more: object = {}) => ({ sensor_id: id, kind: 'on_off', unit: '', title: 'Light', value: true, ...more });

describe('what can be bridged', () => {
  test('has devices, outputs and single sensors of the board by the text with which each is added', async () => {
    peerDevices = [];
    expect(finder.candidates().map(({ thing, type }) => [thing, type])).toEqual([
      ['gpio', 'board'],
      ['pond', 'board'],
      ['pump', 'output'],
      ['siren', 'output'],
      ['pond/temperature', 'temperature_sensor'],
      ['night', 'scene'],
    ]);
    for (const { thing } of finder.candidates()) expect((await find(thing)).length, thing).toBeGreaterThan(0);
  });

  test('has no scene with a device that came through the bridge of a hub, and no such device of another hub', () => {
    scenes.push({ id: 'circle', name: 'Circle', devices: ['lamp', 'copy'] });
    peerDevices.push({ id: 'back', name: 'Night', type: 'bridged_copy', isReachable: true });
    expect(finder.candidates().map(({ thing }) => thing)).not.toContain('circle');
    expect(finder.candidates().map(({ thing }) => thing)).not.toContain('back');
  });
});

describe('things of this hub', () => {
  test('are found by id, name and the key with which they are listed', async () => {
    for (const text of ['pump', 'PUMP', 'gpio/pump', 'output/pump']) expect(await keys(text), text).toEqual(['output/pump']);
    for (const text of ['night', 'Night', 'scene/night']) expect(await keys(text), text).toEqual(['scene/night']);
    for (const text of ['pond', 'pond/temperature', 'sensor/pond/temperature'])
      expect(await keys(text), text).toEqual(['sensor/pond/temperature']);
  });

  test('that are Matter devices are refused with the command that shares them', async () => {
    await expect(find('Lamp')).rejects.toMatchObject({ code: 'NOT_SUPPORTED', message: expect.stringContaining('atmo device share') });
  });

  test('are ambiguous if a scene and a sensor have the name', async () => {
    scenes.push({ id: 'well', name: 'Pond', devices: [] });
    await expect(find('Pond')).rejects.toMatchObject({ code: 'AMBIGUOUS_DEVICE' });
  });

  test('are dangerous if an output is so in one of its states, or if a scene has a lock', async () => {
    expect(await find('siren')).toMatchObject([{ isDangerous: false }]);
    dangerousTools.add('gpio:siren_turn_off@1.0.0');
    expect(await find('siren')).toMatchObject([{ isDangerous: true }]);
    expect(await find('night')).toMatchObject([{ isDangerous: false }]);
    scenes = [{ id: 'night', name: 'Night', devices: ['lamp', 'lock'] }];
    expect(await find('night')).toMatchObject([{ isDangerous: true, permissions: ['device:control:lamp', 'device:control:lock'] }]);
  });

  test('are not dangerous for a device of a scene that was removed from the home', async () => {
    scenes = [{ id: 'night', name: 'Night', devices: ['lamp', 'gone'] }];
    expect(await find('night')).toMatchObject([{ isDangerous: false }]);
  });

  test('are no scenes with a device that came through the bridge of a hub', async () => {
    scenes = [{ id: 'night', name: 'Night', devices: ['lamp', 'copy'] }];
    await expect(find('night')).rejects.toMatchObject({ code: 'NOT_SUPPORTED', message: expect.stringContaining('Attic lamp') });
  });

  test('are told as they are now, or not at all', async () => {
    const [night] = await find('night');
    const [pump] = await find('pump');
    scenes = [{ id: 'night', name: 'Nacht', devices: ['lamp'] }];
    expect(night && finder.current(night)).toMatchObject({ name: 'Nacht' });
    expect(pump && finder.current(pump)).toEqual(pump);
    scenes = [];
    expect(night && finder.current(night)).toBeUndefined();
  });
});

describe('things of another hub', () => {
  test('are found by the name of the device, with its sensors', async () => {
    listed = [reading('attic/is_on')];
    expect(await find('Attic')).toMatchObject([{ key: 'hub-2/device/attic', kind: 'on_off_light', sensors: { on: 'attic/is_on' } }]);
    expect(requests).toMatchObject([{ tool: 'core:list_sensors', principal: OWNER, routing: { only_nodes: ['hub-2'] } }]);
  });

  test('have no sensors of other devices, with long ids, or beyond the first hundred', async () => {
    listed = [
      reading('lock/is_on'),
      reading(`attic/${'x'.repeat(300)}`),
      ...Array.from({ length: 98 }, () => ({})),
      reading('attic/is_on'),
    ];
    await expect(find('Attic')).rejects.toMatchObject({ code: 'NOT_SUPPORTED' });
    listed = listed.slice(0, 2).concat(listed.slice(-1));
    expect(await find('Attic')).toMatchObject([{ sensors: { on: 'attic/is_on' } }]);
  });

  test('are refused if they came there through the bridge of a hub', async () => {
    peerDevices = [{ id: 'back', name: 'Pond', type: 'bridged_copy', isReachable: true }];
    await expect(find('back')).rejects.toMatchObject({ code: 'NOT_SUPPORTED', message: expect.stringContaining('bridge it there') });
  });

  test('are not found on a hub that is not in the mesh', async () => {
    await expect(find('Attic', 'cellar')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(find('Shed')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
