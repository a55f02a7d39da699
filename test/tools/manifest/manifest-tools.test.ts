import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadManifest, type ManifestSources } from '../../../src/tools/manifest/tool-manifest.ts';
import type { ScriptRun } from '../../../src/tools/programs/program-sandbox.ts';
import { visiblePaths } from '../../../src/tools/programs/sandboxed-module.ts';
import { FUEL_GLOBAL, moduleMemoryLimit } from '../../../src/tools/programs/wasm-limits.ts';
import { makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { takenInMemory } from '../../taken-texts.ts';
import { programsFake } from '../programs/program-sandbox-fake.ts';
import { webAssembly } from '../programs/web-assembly.ts';

/** `(module (memory 1 2))` and the same without a maximum. */
const WASM = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 4, 1, 1, 1, 2];
const WASM_OPEN = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 3, 1, 0, 1];

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'manifest-'));
  mkdirSync(join(directory, 'own'), { mode: 0o700 });
  const write = (name: string, content: string | Uint8Array) => writeFileSync(join(directory, 'own', name), content, { mode: 0o600 });
  write('double.js', 'export const execute = ({ a }) => 2 * a;');
  write('bounded.wasm', Uint8Array.from(WASM));
  write('open.wasm', Uint8Array.from(WASM_OPEN));
  write('table.wasm', Uint8Array.from([...WASM_OPEN.slice(0, 8), 4, 4, 1, 0x70, 0, 1]));
  write('module.mjs', 'throw new Error("never loaded into the hub");');
});
afterAll(() => rmSync(directory, { recursive: true }));

const definition = (extra = '') =>
  `    definition: { description: Does it., parameters: { type: object, properties: { file: { type: string } } }, execution: { side_effects: false${extra} } }\n`;
async function load(entry: string, sources: Partial<ManifestSources> = {}) {
  const path = join(directory, 'tools.yaml');
  writeFileSync(path, `tools:\n  - name: own\n${entry}`);
  const { tools, leftOut } = await loadManifest(path, { builtins: new Map(), allowedPlugins: [], takenOf: takenInMemory(), ...sources });
  const { registry, pipeline } = makePipeline();
  for (const tool of tools) registry.register(tool);
  return {
    tool: tools[0],
    leftOut: leftOut.map(({ place, problem }) => `${place}: ${problem}`).join('\n'),
    call: () => pipeline.call({ principal: owner, tool: 'own', params: { file: 'a' } }),
  };
}

describe('an entry of a manifest', () => {
  test('may be a program with arguments, standard input and powers', async () => {
    const programs = programsFake({ stdout: '{"kb": 4}' });
    const source = "    source: cmd:/usr/bin/du\n    args: ['-sk', '--', '{file}']\n    stdin: file\n    powers: [media]\n";
    const { tool, call } = await load(source + definition(), { programs });
    expect(tool?.definition.requires.permissions).toEqual(['proc:exec', 'proc:power:media']);
    expect(await call()).toMatchObject({ result: { kb: 4 } });
    expect(programs.orders).toMatchObject([{ program: '/usr/bin/du', args: ['-sk', '--', 'a'], stdin: 'a', powers: ['media'] }]);
  });

  test('may be an image', async () => {
    const programs = programsFake({ stdout: 'done' });
    const { call } = await load(`    source: image:alpine:3\n    args: [ls]\n${definition()}`, { programs });
    expect(await call()).toMatchObject({ result: { output: 'done' } });
    expect(programs.orders).toMatchObject([{ kind: 'image', program: 'alpine:3', args: ['ls'] }]);
  });

  test('may be a script or a WebAssembly module with bounds', async () => {
    const runs: ScriptRun[] = [];
    const scripts = {
      run: async (run: ScriptRun) => {
        runs.push(run);
        return 42;
      },
    };
    const js = await load(`    source: js:./own/double.js\n    config: { factor: 2 }\n${definition(', max_fuel: 50000')}`, { scripts });
    expect(js.tool).toMatchObject({ isolation: 'script', definition: { execution: { maxFuel: 50_000 } } });
    expect(await js.call()).toMatchObject({ result: 42 });
    expect(runs).toMatchObject([{ kind: 'js', params: { file: 'a' }, config: { factor: 2 }, maxFuel: 50_000, maxMemoryBytes: 16_777_216 }]);
    const wasm = await load(`    source: wasm:./own/bounded.wasm\n${definition()}`, { scripts });
    expect(await wasm.call()).toMatchObject({ result: 42 });
    expect((await load(`    source: wasm:./own/open.wasm\n${definition()}`, { scripts })).leftOut).toMatch(/--max-memory/);
    expect((await load(`    source: wasm:./own/double.js\n${definition()}`, { scripts })).leftOut).toMatch(/no WebAssembly/);
    expect((await load(`    source: wasm:./own/table.wasm\n${definition()}`, { scripts })).leftOut).toMatch(/tables can grow/);
    const metered = await load(`    source: wasm:./own/bounded.wasm\n${definition(', max_fuel: 5')}`, { scripts });
    expect(metered.tool).toMatchObject({ isolation: 'script', definition: { execution: { maxFuel: 5 } } });
    await metered.call();
    const module = new webAssembly.Module(runs.at(-1)?.code ?? Uint8Array.of());
    expect(webAssembly.Module.exports(module)).toContainEqual({ name: FUEL_GLOBAL, kind: 'global' });
  });

  test('may be a file that is not even loaded into the hub', async () => {
    const programs = programsFake(async ({ stdin = '' }) => ({ stdout: `noise\n${JSON.parse(stdin).mark}{"result":{"a":1}}\n` }));
    const { call } = await load(`    source: file:./own/module.mjs\n    sandbox: true\n    config: { x: 1 }\n${definition()}`, {
      programs,
    });
    expect(await call()).toMatchObject({ result: { a: 1 } });
    const [order] = programs.orders;
    expect(order).toMatchObject({ program: process.execPath, isRuntime: true, visible: [process.execPath, join(directory, 'own')] });
    expect(JSON.parse(order?.stdin ?? '')).toMatchObject({ entry: 'createTool', config: { x: 1 }, params: { file: 'a' } });
  });

  test('with a power to write acts, whatever it says, and takes the permission for it', async () => {
    const file = `    source: file:./own/module.mjs\n    sandbox: true\n    powers: [out]\n${definition(', retries: 3, determinism: deterministic')}`;
    const { tool } = await load(file, { programs: programsFake({ stdout: '' }) });
    expect(tool?.definition.execution).toMatchObject({ hasSideEffects: true, retries: 0, determinism: 'nondeterministic' });
    expect(tool?.definition.requires.permissions).toEqual(['proc:exec', 'proc:power:out']);
  });

  test('is listed as unavailable without a sandbox', async () => {
    const file = `    source: file:./own/module.mjs\n    sandbox: true\n${definition()}`;
    for (const entry of [`    source: cmd:ls\n${definition()}`, file]) {
      const { tool, call } = await load(entry);
      expect(tool?.isAvailable?.()).toBe(false);
      expect(await call()).toMatchObject({ error: { code: 'NOT_CONFIGURED' } });
    }
  });

  test.each([
    ['    source: cmd:ls\n', /line 2: .*definition is missing/],
    ['    source: cmd:ls\n    args: ["{other}"]\n', /which is no parameter/],
    ['    source: cmd:ls\n    powers: [nothing]\n', /no power nothing/],
    ['    source: cmd:ls\n    args: [forbidden]\n', /safety rule/],
    ['    source: builtin:thermal\n', /leave it out/],
    ['    source: js:./own/double.js\n    args: [x]\n', /args is for/],
    ['    source: js:./own/double.js\n    sandbox: true\n', /sandbox is for/],
    ['    source: file:./own/module.mjs\n    powers: [media]\n', /powers is for/],
  ])('with a mistake is left out, with the place and the reason: %s', async (entry, problem) => {
    const text = /definition is missing/.test(problem.source) ? entry : entry + definition();
    const { tool, leftOut } = await load(text, { programs: programsFake(), scripts: { run: async () => 1 } });
    expect(tool).toBeUndefined();
    expect(leftOut).toMatch(problem);
    expect(leftOut).toMatch(/tools\.yaml, line [2-5]: /);
  });
});

test('what a sandboxed file can see is its folder, unless the manifest and more lie there too', () => {
  expect(visiblePaths('file:///srv/hub/tools/a/b.mjs', '/srv/hub/tools.yaml')).toEqual(['/srv/hub/tools/a']);
  for (const file of ['/srv/hub/b.mjs', '/srv/b.mjs', '/b.mjs'])
    expect(visiblePaths(`file://${file}`, '/srv/hub/tools.yaml')).toEqual([file]);
});

test('the bound of a WebAssembly memory is read from the module', () => {
  expect([WASM, WASM_OPEN, [1, 2, 3]].map((bytes) => moduleMemoryLimit(Uint8Array.from(bytes)))).toEqual([
    131_072,
    Number.POSITIVE_INFINITY,
    undefined,
  ]);
  // A section before it, and a length of two bytes.
  expect(moduleMemoryLimit(Uint8Array.from([...WASM.slice(0, 8), 0, 2, 9, 9, 5, 5, 1, 1, 1, 0x80, 1]))).toBe(128 * 65_536);
});

test('only known kinds of source are read', async () => {
  expect((await load('    source: shell:ls\n')).leftOut).toMatch(/cmd:<program>, image:<image>, js:<path>/);
});
