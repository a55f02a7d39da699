import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadManifest, type ManifestSources, parseManifest } from '../../../src/tools/manifest/tool-manifest.ts';
import { makeRoom, makeTool, owner } from '../tool-room.ts';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'manifest-'));
  mkdirSync(join(directory, 'my_tools'), { mode: 0o700 });
  writeFileSync(
    join(directory, 'my_tools/analyzer.mjs'),
    `export const analyze = (config) => ({
      definition: { name: 'x', description: 'Doubles', parameters: { type: 'object' }, execution: { side_effects: false } },
      execute: async () => ({ factor: config.factor }),
    });`,
    { mode: 0o600 },
  );
});
afterAll(() => rmSync(directory, { recursive: true }));

const sources: ManifestSources = {
  builtins: new Map([['vision', (name, config) => makeTool({ name, handler: async () => config })]]),
  allowedPlugins: ['sensors'],
  importModule: async (specifier) =>
    specifier === 'sensors' ? { createTool: () => ({ definition: { description: 'Reads' }, execute: async () => 21 }) } : import(specifier),
};
const load = (text: string, extra: Partial<ManifestSources> = {}) => {
  const path = join(directory, 'tools.yaml');
  writeFileSync(path, text);
  return loadManifest(path, { ...sources, ...extra });
};
const fileEntry =
  'tools:\n  - name: custom_analyzer\n    source: file:./my_tools/analyzer.mjs\n    entry: analyze\n    config: { factor: 2 }\n';

describe('a tool manifest', () => {
  test('gives tools from built-in modules and files, with their configuration, under the names it says', async () => {
    const tools = await load(
      `${fileEntry}  - name: analyze_image\n    source: builtin:vision\n    config:\n      default_model: llava:7b\n`,
    );
    const { registry, pipeline } = makeRoom();
    for (const tool of tools) registry.register(tool);
    const call = (tool: string) => pipeline.call({ principal: owner, tool, params: {} });
    expect(await call('custom_analyzer')).toMatchObject({ result: { factor: 2 } });
    expect(await call('analyze_image')).toMatchObject({ result: { default_model: 'llava:7b' } });
  });

  test('runs what declares a bound on memory in a process of its own', async () => {
    writeFileSync(
      join(directory, 'my_tools/bounded.mjs'),
      `const execution = { side_effects: false, max_memory_bytes: 16777216 };
      export const createTool = (config) => ({
        definition: { name: 'x', description: 'Fills memory', parameters: { type: 'object' }, execution },
        execute: async ({ rows }) => {
          const kept = [];
          while (kept.length < rows) kept.push(Array.from({ length: 1_000 }, () => ({})));
          return { pid: process.pid, factor: config.factor, rows: kept.length };
        },
      });`,
      { mode: 0o600 },
    );
    const [tool] = await load('tools:\n  - name: bounded\n    source: file:./my_tools/bounded.mjs\n    config: { factor: 2 }\n');
    const { registry, pipeline } = makeRoom();
    if (tool) registry.register(tool);
    const call = (rows: number) => pipeline.call({ principal: owner, tool: 'bounded', params: { rows } });
    expect(await call(10)).toMatchObject({ result: { factor: 2, rows: 10 } });
    expect(await call(10)).not.toMatchObject({ result: { pid: process.pid } });
    expect(await call(100_000)).toMatchObject({ error: { code: 'RESOURCE_EXCEEDED' } });
  });

  test('takes plugins from the allow list only', async () => {
    const entry = (name: string) =>
      `tools:\n  - name: query_temperature\n    source: plugin:${name}\n    config: { device: /dev/thermal0 }\n`;
    await expect(load(entry('evil'))).rejects.toThrow(/plugin evil is not allowed/);
    const definition = { name: 'any', description: 'Reads', execution: { side_effects: false } };
    const importModule = async () => ({ createTool: () => ({ definition, execute: async () => 21 }) });
    expect((await load(entry('sensors'), { importModule }))[0]?.id).toBe('core:query_temperature@1.0.0');
  });

  test('JSON is fine too', () => {
    expect(parseManifest('{"tools":[{"name":"a","source":"builtin:vision"}]}', 'tools.json')).toMatchObject([
      { name: 'a', source: { kind: 'builtin', target: 'vision' }, entry: 'createTool' },
    ]);
    expect(parseManifest('', 'tools.yaml')).toEqual([]);
  });

  test.each([
    ['tools:\n  - name: a\n    sorce: builtin:x\n', /tools.yaml:2: \/tools\/0\/source is missing/],
    ['tools:\n  - name: a\n    source: builtin:x\n    confg: {}\n', /tools.yaml:4: .*confg is not a known key; did you mean config\?/],
    ['tools:\n  - name: a\n    name: b\n', /tools.yaml:3: /],
    ['tools:\n  - name: a\n    source: http://x\n', /tools.yaml:3: .*has to be builtin/],
    ['tool: []\n', /tools.yaml:1: /],
    ['tools: [\n', /tools.yaml:/],
  ])('a mistake is named with file and line %#', (text, message) => {
    expect(() => parseManifest(text, 'tools.yaml')).toThrow(message);
  });

  test('code that others could have written is not loaded', async () => {
    chmodSync(join(directory, 'my_tools'), 0o770);
    await expect(load(fileEntry)).rejects.toThrow(/can be written by others; run chmod go-w/);
    chmodSync(join(directory, 'my_tools'), 0o700);
    chmodSync(directory, 0o777);
    await expect(load(fileEntry)).rejects.toThrow(/can be written by others; run chmod go-w/);
    chmodSync(directory, 0o700);
    chmodSync(join(directory, 'my_tools/analyzer.mjs'), 0o606);
    await expect(load(fileEntry)).rejects.toThrow(/can be written by others/);
    chmodSync(join(directory, 'my_tools/analyzer.mjs'), 0o600);
    await expect(load(fileEntry)).resolves.toHaveLength(1);
  });

  test('what is not there is said', async () => {
    await expect(load(fileEntry.replace('analyzer.mjs', 'nothing.mjs'))).rejects.toThrow(/There is no file/);
    await expect(load(fileEntry.replace('entry: analyze', 'entry: other'))).rejects.toThrow(/exports no function other/);
    await expect(load('tools:\n  - name: a\n    source: builtin:x\n')).rejects.toThrow(/there is no builtin x; there is vision/);
    await expect(loadManifest(join(directory, 'absent.yaml'), sources)).rejects.toThrow(/cannot be read/);
  });
});
