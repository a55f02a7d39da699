import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/core/logger.ts';
import { withoutSetting } from '../../../src/tools/definition/missing-setting.ts';
import { probeBoard, toolsOfBoard } from '../../../src/tools/registration/board-probe.ts';
import { readBootstrap } from '../../../src/tools/registration/bootstrap-file.ts';
import { SeedDiscovery } from '../../../src/tools/registration/seed-discovery.ts';
import { codeOf, makeTool, owner } from '../tool-room.ts';
import { makeRegistrar, maker, record } from './registrar-room.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'seed-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = () => join(folder, 'tools_bootstrap.json');
const write = (value: unknown) => writeFileSync(file(), typeof value === 'string' ? value : JSON.stringify(value), { mode: 0o600 });

function makeSeed() {
  const room = makeRegistrar();
  const nucleus = [makeTool({ name: 'nucleus' })];
  const probe = () => probeBoard(folder);
  const bootstrap = () => readBootstrap([file(), join(folder, 'config/tools_bootstrap.json')]);
  const seed = new SeedDiscovery({ ...room, logger: silentLogger, nucleus, probe, bootstrap, owner });
  return { ...room, seed };
}

describe('seed discovery', () => {
  test('registers the nucleus, and again whatever of it was lost', async () => {
    const { seed, registry } = makeSeed();
    expect(await seed.discover()).toEqual({ registered: ['core:nucleus@1.0.0'], known: [], waiting: [] });
    expect(await seed.discover()).toEqual({ registered: [], known: ['core:nucleus@1.0.0'], waiting: [] });
    for (const { id } of registry.all()) registry.unregister(id);
    expect((await seed.discover()).registered).toEqual(['core:nucleus@1.0.0']);
  });

  test('finds what the board has, when it has it', async () => {
    const { seed, call } = makeSeed();
    await seed.discover();
    const zone = join(folder, 'class/thermal/thermal_zone0');
    mkdirSync(zone, { recursive: true });
    writeFileSync(join(zone, 'temp'), '47250\n');
    writeFileSync(join(zone, 'type'), 'cpu-thermal\n');
    mkdirSync(join(folder, 'class/thermal/cooling_device0'));
    expect((await seed.discover()).registered).toEqual(['custom:board_temperature_cpu_thermal_0@1.0.0']);
    expect(await call('board_temperature_cpu_thermal_0')).toMatchObject({ result: { value: 47.25, unit: 'celsius' } });
  });

  test('knows what the owner configured of the board, and nothing that is not configured', () => {
    const camera = makeTool({ name: 'get_camera_frame' });
    const engine = makeTool({ name: 'docker_list' });
    const pump = makeTool({ namespace: 'gpio', name: 'pump_turn_on' });
    const others = [makeTool({ name: 'notify' }), makeTool({ namespace: 'custom', name: 'docker_list' })];
    expect(toolsOfBoard([camera, engine, pump, ...others])).toEqual([camera, engine, pump]);
    expect(toolsOfBoard([withoutSetting(camera, 'set connectors.cameras'), withoutSetting(engine, 'set it')])).toEqual([]);
  });

  test('registers the tools of the bootstrap file for the owner, in whatever order they call each other', async () => {
    const { seed, registrar, records, registry, call } = makeSeed();
    write({ tools: [record('twice', [{ tool: 'once' }, { tool: 'once' }]), record('once', [{ tool: 'temperature' }])] });
    expect((await seed.discover()).registered).toEqual(['core:nucleus@1.0.0', 'custom:once@1.0.0', 'custom:twice@1.0.0']);
    expect(codeOf(await call('twice'))).toBe('success');
    expect(registry.get('custom:twice@1.0.0')?.definition.metadata.createdBy).toBe('system');
    expect((await seed.discover()).known).toContain('custom:twice@1.0.0');
    // The file says what there is: it is read at each start.
    expect(records.all()).toEqual([]);
    expect(() => registrar.remove('once', owner)).toThrow('stands in the bootstrap file');
  });

  test('a tool that calls a device which is not there yet is registered when that comes', async () => {
    const { seed, registry, call } = makeSeed();
    write([record('hall_glow', [{ tool: 'hall_lamp_turn_on' }])]);
    expect((await seed.discover()).waiting).toEqual(['hall_glow']);
    registry.register(makeTool({ name: 'hall_lamp_turn_on', namespace: 'matter' }));
    expect(codeOf(await call('hall_glow'))).toBe('success');
    expect((await seed.discover()).waiting).toEqual([]);
    await seed[Symbol.asyncDispose]();
  });

  test.each([
    ['no JSON', '[', 'is not JSON'],
    ['no list', '{"tool": []}', 'has to hold a list of tools'],
    ['an entry that is none', '[7]', 'tools/0 has to be an object'],
    [
      'a tool with a mistake',
      JSON.stringify([record('core:x', [{ tool: 'temperature' }])]),
      'tools/0: The namespace core is not for this tool',
    ],
  ])('a file with %s is refused with the place', async (_what, text, message) => {
    const { seed } = makeSeed();
    write(text);
    await expect(seed.discover()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) });
  });

  test('a file that others can write is refused: they would decide what tools do', async () => {
    const { seed } = makeSeed();
    write([]);
    chmodSync(file(), 0o666);
    await expect(seed.discover()).rejects.toThrow('can be written by others');
  });

  test('what an agent registered before comes after the file: it cannot keep the hub from starting', async () => {
    const { seed, registrar, registry, make } = makeSeed();
    const { id } = registrar.register(record('evening', [{ tool: 'temperature' }]), maker('sensor:read:*'));
    registry.unregister(id);
    write([{ ...record('evening', [{ tool: 'temperature' }]) }]);
    await seed.discover();
    make().restore();
    expect(registry.all().filter(({ definition }) => definition.name === 'evening')).toHaveLength(2);
  });
});
