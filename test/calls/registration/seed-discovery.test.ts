import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SeedDiscovery } from '../../../src/calls/registration/seed-discovery.ts';
import { boardParts, probeBoard, toolsOfBoard } from '../../../src/tools/builtin/board-tools.ts';
import { unconfigured } from '../../../src/tools/definition/tool-definition.ts';
import { readFirstRecordFile, type SkippedRecord } from '../../../src/tools/manifest/record-file.ts';
import { takenInMemory } from '../../taken-texts.ts';
import { codeOf, makeTool, owner } from '../pipeline-fixture.ts';
import { makeRegistrar, maker, record } from './registrar-fixture.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'seed-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = () => join(folder, 'tools_bootstrap.json');
const write = (value: unknown) => writeFileSync(file(), typeof value === 'string' ? value : JSON.stringify(value), { mode: 0o600 });

function makeSeed() {
  const setup = makeRegistrar();
  const builtIn = [makeTool({ name: 'basic' })];
  const probe = () => probeBoard(folder);
  const bootstrap = () => readFirstRecordFile([file(), join(folder, 'config/tools_bootstrap.json')], { takenOf: takenInMemory() });
  const reported: SkippedRecord[] = [];
  const report = (leftOut: readonly SkippedRecord[]) => reported.push(...leftOut);
  const parts = () => boardParts(folder);
  const seed = new SeedDiscovery({ ...setup, report, parts, builtIn, probe, bootstrap, owner });
  return { ...setup, seed, reported };
}

describe('seed discovery', () => {
  test('registers the built-in tools, and again whatever of them was lost', async () => {
    const { seed, registry } = makeSeed();
    expect(await seed.discover()).toEqual({ registered: ['core:basic@1.0.0'], known: [], waiting: [], leftOut: [], board: [] });
    expect(await seed.discover()).toEqual({ registered: [], known: ['core:basic@1.0.0'], waiting: [], leftOut: [], board: [] });
    for (const { id } of registry.all()) registry.unregister(id);
    expect((await seed.discover()).registered).toEqual(['core:basic@1.0.0']);
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

  test('names what the board has though nobody configured it, and what to set', async () => {
    const { seed } = makeSeed();
    for (const place of ['dev', 'run/podman']) mkdirSync(join(folder, place), { recursive: true });
    for (const file of ['dev/gpiochip0', 'dev/video10', 'dev/video1x', 'dev/ttyUSB0', 'run/podman/podman.sock'])
      writeFileSync(join(folder, file), '');
    const { board } = await seed.discover();
    expect(board.map(({ part, path }) => `${part} ${path}`)).toEqual([
      'gpio /dev/gpiochip0',
      'camera /dev/video10',
      'serial /dev/ttyUSB0',
      'container_engine /run/podman/podman.sock',
    ]);
    for (const { next } of board) expect(next).toMatch(/docs\/[a-z]+\.md/);
  });

  test('knows what the owner configured of the board, and nothing that is not configured', () => {
    const camera = makeTool({ name: 'get_camera_frame' });
    const engine = makeTool({ name: 'docker_list' });
    const pump = makeTool({ namespace: 'gpio', name: 'pump_turn_on' });
    const others = [makeTool({ name: 'notify' }), makeTool({ namespace: 'custom', name: 'docker_list' })];
    expect(toolsOfBoard([camera, engine, pump, ...others])).toEqual([camera, engine, pump]);
    expect(toolsOfBoard([unconfigured(camera, 'set connectors.cameras'), unconfigured(engine, 'set it')])).toEqual([]);
  });

  test('registers the tools of the bootstrap file for the owner, in whatever order they call each other', async () => {
    const { seed, registrar, records, registry, call } = makeSeed();
    write({ tools: [record('twice', [{ tool: 'once' }, { tool: 'once' }]), record('once', [{ tool: 'temperature' }])] });
    expect((await seed.discover()).registered).toEqual(['core:basic@1.0.0', 'custom:once@1.0.0', 'custom:twice@1.0.0']);
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
    ['no JSON', '[', /bootstrap\.json, line 1: /],
    ['no list', '{"tools": {}}', /has to hold a list of tools/],
    ['another key than tools', '{"tool": []}', /line 1: unknown key "tool"; allowed: tools/],
    ['an entry that is none', '[\n7]', /line 2: a tool has to be a mapping/],
    [
      'a tool with a mistake',
      JSON.stringify([record('core:x', [{ tool: 'temperature' }])]),
      /line 1: .*: The namespace core is not for this tool/,
    ],
    [
      'a name that a tool has already',
      JSON.stringify([record('basic', [{ tool: 'temperature' }])]),
      /There is a tool that basic means already/,
    ],
  ])('a file with %s costs what is wrong in it, and the place is reported', async (_what, text, problem) => {
    const { seed, reported } = makeSeed();
    write(text);
    const { registered, leftOut } = await seed.discover();
    expect(registered).toEqual(['core:basic@1.0.0']);
    expect(leftOut.map(({ place, problem: told }) => `${place}: ${told}`)).toEqual([expect.stringMatching(problem)]);
    expect(reported).toEqual(leftOut);
  });

  test('the tools beside one with a mistake are registered', async () => {
    const { seed, call } = makeSeed();
    write([record('basic', [{ tool: 'temperature' }]), record('evening', [{ tool: 'temperature' }])]);
    expect(await seed.discover()).toMatchObject({ registered: ['core:basic@1.0.0', 'custom:evening@1.0.0'], leftOut: [{}] });
    expect(codeOf(await call('evening'))).toBe('success');
  });

  test('a file that others can write is left out whole: they would decide what tools do', async () => {
    const { seed } = makeSeed();
    write([record('evening', [{ tool: 'temperature' }])]);
    chmodSync(file(), 0o666);
    expect(await seed.discover()).toMatchObject({
      registered: ['core:basic@1.0.0'],
      leftOut: [{ problem: expect.stringContaining('can be written by others') }],
    });
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

  test.each([
    ['waits for a device', record('evening', [{ tool: 'hall_lamp_turn_on' }])],
    ['has a mistake', record('custom:Evening', [{ tool: 'temperature', what: 1 }])],
    ['has a mistake in the public form', { tool: { name: 'evening', parameters: 1 } }],
  ])('no agent takes the name of a tool in the file that %s', async (_what, waiting) => {
    const { seed, registrar } = makeSeed();
    write([waiting]);
    await seed.discover();
    const taken = () => registrar.register(record('evening', [{ tool: 'temperature' }]), maker('sensor:read:*'));
    expect(taken).toThrow("The name evening is kept for a tool of the owner's files");
    write([]);
    await seed.discover();
    expect(taken().id).toBe('agent:evening@1.0.0');
  });

  test('a tool of the file gets its name when it can run, also where an agent gave that name to a tool before', async () => {
    const { seed, registrar, registry } = makeSeed();
    registrar.register(record('evening', [{ tool: 'temperature' }]), maker('sensor:read:*'));
    write([record('evening', [{ tool: 'hall_lamp_turn_on' }])]);
    expect(await seed.discover()).toMatchObject({ waiting: ['evening'], leftOut: [] });
    registry.register(makeTool({ name: 'hall_lamp_turn_on', namespace: 'matter' }));
    expect(registry.resolve('evening').id).toBe('custom:evening@1.0.0');
    expect(registry.resolve('agent:evening').id).toBe('agent:evening@1.0.0');
    await seed[Symbol.asyncDispose]();
  });
});
