import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fleet } from '../home/fleet.ts';
import { control, inventory, serveControl } from '../home/home-control.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';

const LAMP = 'Living room lamp';

let dir: string;
let socket: string;
let home: VirtualHome;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'control-'));
  socket = join(dir, 'control.sock');
  home = await VirtualHome.start({ spec: homeOf(standardHome(), [LAMP]), dir: join(dir, 'home') });
});

afterAll(async () => {
  await home?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

describe('steering a home from another process', () => {
  test('nobody answers before it serves', async () => {
    await expect(control(socket, { method: 'commands', device: LAMP, args: [] })).rejects.toThrow(/No virtual home answers/);
  });

  test('what is set can be got, errors come as they are, the socket is private', async () => {
    await using server = await serveControl(home, socket);
    expect(server.listening).toBe(true);
    expect((await stat(socket)).mode & 0o777).toBe(0o600);
    await control(socket, { method: 'set', device: LAMP, args: [1, 'OnOff', 'OnOff', true] });
    expect(await control(socket, { method: 'get', device: LAMP, args: [1, 'OnOff', 'OnOff'] })).toBe(true);
    await expect(control(socket, { method: 'get', device: 'Nothing', args: [] })).rejects.toThrow(/No device Nothing/);
  });

  test('the inventory shows codes and areas', () => {
    expect(inventory(home)).toMatchObject([{ name: LAMP, area: 'Living room', pairing: { manualCode: '34970112332', port: 5540 } }]);
  });
});

describe('a fleet', () => {
  test('has unique names, ports, passcodes and discriminators, many types and few processes', () => {
    const { devices } = fleet(60);
    const distinct = (values: readonly unknown[]) => new Set(values).size;
    expect(distinct(devices.map(({ name }) => name))).toBe(60);
    expect(distinct(devices.map(({ port }) => port))).toBe(60);
    expect(distinct(devices.map(({ passcode }) => passcode))).toBe(60);
    expect(distinct(devices.map(({ discriminator }) => discriminator))).toBe(60);
    expect(distinct(devices.map(({ type }) => type))).toBe(10);
    expect(distinct(devices.map(({ group }) => group))).toBe(3);
  });
});
