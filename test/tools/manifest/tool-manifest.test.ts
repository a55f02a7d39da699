import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { parseRecordFile, type RecordFile, ReservedNames, readFirstRecordFile } from '../../../src/tools/manifest/record-file.ts';
import { loadManifest, type ManifestSources, manifestEntries } from '../../../src/tools/manifest/tool-manifest.ts';
import { makePipeline, makeTool, owner } from '../../calls/pipeline-fixture.ts';
import { takenInMemory } from '../../taken-texts.ts';

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
  allowedPlugins: ['sensors', 'absent'],
  takenOf: () => ({ get: () => undefined, wasLost: () => false, set: () => {}, forget: () => {} }),
};
const load = (text: string) => {
  const path = join(directory, 'tools.yaml');
  writeFileSync(path, text);
  return loadManifest(path, sources);
};
/** The tools of a manifest in which nothing is wrong. */
async function toolsOf(text: string) {
  const { tools, leftOut } = await load(text);
  expect(leftOut).toEqual([]);
  return tools;
}
/** What is wrong with a manifest, a line for each entry that is left out. */
async function problemsOf(text: string): Promise<string> {
  const { tools, leftOut } = await load(text);
  expect(tools).toEqual([]);
  return leftOut.map(({ place, problem }) => `${place}: ${problem}`).join('\n');
}
const fileEntry =
  'tools:\n  - name: custom_analyzer\n    source: file:./my_tools/analyzer.mjs\n    entry: analyze\n    config: { factor: 2 }\n';

describe('a tool manifest', () => {
  test('gives tools from built-in modules and files, with their configuration, under the names it says', async () => {
    const tools = await toolsOf(
      `${fileEntry}  - name: analyze_image\n    source: builtin:vision\n    config:\n      default_model: llava:7b\n`,
    );
    const { registry, pipeline } = makePipeline();
    for (const tool of tools) registry.register(tool);
    const call = (tool: string) => pipeline.call({ principal: owner, tool, params: {} });
    expect(await call('custom_analyzer')).toMatchObject({ result: { factor: 2 } });
    expect(await call('analyze_image')).toMatchObject({ result: { default_model: 'llava:7b' } });
  });

  test('keeps the names of what it holds, also of what is left out', async () => {
    const broken = '  - name: Night Guard\n    source: nothing\n  - name: gone\n    source: file:./my_tools/gone.mjs\n  - 7\n';
    const { records, leftOut } = await load(`${fileEntry}${broken}`);
    expect(leftOut).toHaveLength(3);
    const reserved = new ReservedNames();
    reserved.reserve('manifest', records);
    const names = ['custom_analyzer', 'night_guard', 'gone', 'evening'];
    expect(names.filter((name) => reserved.has(name))).toEqual(['custom_analyzer', 'night_guard', 'gone']);
  });

  test('names the line of a tool that the registry refuses, and gives it all others', async () => {
    const { registry } = makePipeline();
    const path = join(directory, 'tools.yaml');
    writeFileSync(path, `${fileEntry}${fileEntry.slice('tools:\n'.length)}  - name: see\n    source: builtin:vision\n`);
    const { leftOut } = await loadManifest(path, sources, (tool) => registry.register(tool));
    expect(leftOut).toEqual([{ place: `${path}, line 6`, problem: expect.stringMatching(/^custom_analyzer: .*already/) }]);
    expect(registry.all().map(({ definition }) => definition.name)).toEqual(['custom_analyzer', 'see']);
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
    const [tool] = await toolsOf('tools:\n  - name: bounded\n    source: file:./my_tools/bounded.mjs\n    config: { factor: 2 }\n');
    const { registry, pipeline } = makePipeline();
    if (tool) registry.register(tool);
    const call = (rows: number) => pipeline.call({ principal: owner, tool: 'bounded', params: { rows } });
    expect(await call(10)).toMatchObject({ result: { factor: 2, rows: 10 } });
    expect(await call(10)).not.toMatchObject({ result: { pid: process.pid } });
    expect(await call(100_000)).toMatchObject({ error: { code: 'RESOURCE_EXCEEDED' } });
  });

  test('takes plugins that are allowed and installed beside it', async () => {
    const entry = (name: string) =>
      `tools:\n  - name: query_temperature\n    source: plugin:${name}\n    config: { device: /dev/thermal0 }\n`;
    expect(await problemsOf(entry('evil'))).toMatch(/line 2: query_temperature: the plugin evil is not allowed; add it to tools\.plugins/);
    expect(await problemsOf(entry('absent'))).toMatch(/no package absent in .*node_modules; install it with: npm install --prefix/);
    const folder = join(directory, 'node_modules/sensors');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const write = (file: string, text: string) => writeFileSync(join(folder, file), text, { mode: 0o600 });
    write('package.json', '{"name": "sensors", "type": "module", "exports": "./index.js"}');
    write(
      'index.js',
      `const definition = { description: 'Reads', execution: { side_effects: false } };
      export const createTool = ({ device }) => ({ definition, execute: async () => device });`,
    );
    const { registry, pipeline } = makePipeline();
    for (const tool of await toolsOf(entry('sensors'))) registry.register(tool);
    expect(await pipeline.call({ principal: owner, tool: 'core:query_temperature@1.0.0', params: {} })).toMatchObject({
      result: '/dev/thermal0',
    });
    chmodSync(join(folder, 'index.js'), 0o602);
    expect(await problemsOf(entry('sensors'))).toMatch(/can be written by others/);
  });

  describe('with a plugin', () => {
    const home = () => mkdtempSync(join(directory, 'home-'));
    const install = (folder: string, name: string, files: Readonly<Record<string, string>>) => {
      for (const [file, text] of Object.entries({
        'package.json': JSON.stringify({ name, type: 'module', main: './index.js' }),
        ...files,
      })) {
        const path = join(folder, 'node_modules', name, file);
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        writeFileSync(path, text, { mode: 0o600 });
      }
      return join(folder, 'node_modules', name);
    };
    const code = (execution: string) =>
      `import { answer } from './lib/answer.js';
      const definition = { description: 'Answers', execution: { side_effects: false ${execution} } };
      export const createTool = () => ({ definition, execute: async () => answer });`;
    const plugin = (execution = '') => ({ 'index.js': code(execution), 'lib/answer.js': 'export const answer = 1;' });
    const loadFrom = (folder: string, extra = '', takenOf = takenInMemory()) => {
      const path = join(folder, 'tools.yaml');
      writeFileSync(path, `tools:\n  - name: ask\n    source: plugin:sensors\n${extra}`, { mode: 0o600 });
      return loadManifest(path, { ...sources, takenOf });
    };
    const problemOf = async (folder: string, extra?: string) =>
      (await loadFrom(folder, extra)).leftOut.map(({ problem }) => problem).join();

    test('takes it from the folder beside the file alone', async () => {
      const outer = home();
      const inner = join(outer, 'inner');
      mkdirSync(inner, { mode: 0o700 });
      const elsewhere = install(outer, 'sensors', plugin());
      expect(await problemOf(inner)).toMatch(/there is no package sensors in .*inner\/node_modules/);
      mkdirSync(join(inner, 'node_modules'), { mode: 0o700 });
      symlinkSync(elsewhere, join(inner, 'node_modules/sensors'));
      expect(await problemOf(inner)).toMatch(/is a link to a folder elsewhere/);
      rmSync(join(inner, 'node_modules/sensors'));
      // Node would go on to the folder above where the package has nothing to load.
      install(inner, 'sensors', {});
      expect(await problemOf(inner)).toMatch(/has no file that could be loaded/);
      expect(await problemOf(outer)).toBe('');
    });

    test('refuses files of it that others can write, and links out of it', async () => {
      const folder = home();
      const installed = install(folder, 'sensors', plugin());
      chmodSync(join(installed, 'lib/answer.js'), 0o602);
      expect(await problemOf(folder)).toMatch(/lib\/answer\.js can be written by others/);
      chmodSync(join(installed, 'lib/answer.js'), 0o600);
      symlinkSync('/etc/hostname', join(installed, 'lib/more.js'));
      expect(await problemOf(folder)).toMatch(/lib\/more\.js is a link out of the plugin/);
    });

    test('tells when any file of it, or of what it depends on, is another one than the last time, and refuses it where the owner said which', async () => {
      const folder = home();
      const declared = JSON.stringify({ name: 'sensors', type: 'module', main: './index.js', dependencies: { units: '1' } });
      const installed = install(folder, 'sensors', { ...plugin(), 'package.json': declared });
      const depended = install(folder, 'units', { 'index.js': 'export const unit = 1;' });
      const takenOf = takenInMemory();
      const changed = async () => (await loadFrom(folder, '', takenOf)).changedPlugins.map(({ integrity }) => integrity);
      expect([await changed(), await changed()]).toEqual([[], []]);
      writeFileSync(join(depended, 'index.js'), 'export const unit = 2;');
      const [now = ''] = await changed();
      expect(now).toMatch(/^sha256-/);
      expect(await changed()).toEqual([]);
      expect(await problemOf(folder, `    integrity: ${now}\n`)).toBe('');
      writeFileSync(join(installed, 'lib/answer.js'), 'export const answer = 2;');
      expect(await problemOf(folder, `    integrity: ${now}\n`)).toMatch(
        /the plugin sensors is not the one that integrity names: its files are sha256-/,
      );
      expect(await changed()).toHaveLength(1);
    });

    test('loads it also while the disk takes no writes', async () => {
      const folder = home();
      install(folder, 'sensors', plugin());
      const set = () => {
        throw new AtmoError('STORAGE_FAILED', 'The disk is full');
      };
      const { tools, leftOut } = await loadFrom(folder, '', () => ({ get: () => undefined, wasLost: () => false, set, forget: set }));
      expect([tools.map(({ definition }) => definition.name), leftOut]).toEqual([['ask'], []]);
    });

    test('runs no file in a process of its own that has changed since it was looked at', async () => {
      const folder = home();
      const installed = install(folder, 'sensors', plugin(', max_memory_bytes: 16777216'));
      const { registry, pipeline } = makePipeline();
      for (const tool of (await loadFrom(folder)).tools) registry.register(tool);
      const ask = () => pipeline.call({ principal: owner, tool: 'ask', params: {} });
      expect(await ask()).toMatchObject({ result: 1 });
      writeFileSync(join(installed, 'lib/answer.js'), 'export const answer = 2;');
      expect(await ask()).toMatchObject({ error: { code: 'CONFLICT', message: expect.stringContaining('restart the hub') } });
    });
  });

  test('JSON is fine too', () => {
    const entriesOf = (text: string, file: string) => manifestEntries(parseRecordFile(text, file)).entries.map(({ entry }) => entry);
    expect(entriesOf('{"tools":[{"name":"a","source":"builtin:vision"}]}', 'tools.json')).toMatchObject([
      { name: 'a', source: { kind: 'builtin', target: 'vision' }, entry: 'createTool' },
    ]);
    expect(entriesOf('', 'tools.yaml')).toEqual([]);
  });

  test.each([
    ['tools:\n  - name: a\n    sorce: builtin:x\n', /tools.yaml, line 2: a: \/source is missing/],
    [
      'tools:\n  - name: a\n    source: builtin:x\n    confg: {}\n',
      /tools.yaml, line 4: a: .*confg is not a known key; did you mean config\?/,
    ],
    ['tools:\n  - name: a\n    name: b\n', /tools.yaml, line 3: /],
    ['tools:\n  - name: a\n    source: http://x\n', /tools.yaml, line 3: a: .*has to be builtin/],
    ['tool: []\n', /tools.yaml, line 1: unknown key "tool"/],
    ['tools: [\n', /tools.yaml, line/],
    ['tools:\n  - 7\n', /tools.yaml, line 2: a tool has to be a mapping/],
    [fileEntry.replace('analyzer.mjs', 'nothing.mjs'), /There is no file/],
    [fileEntry.replace('entry: analyze', 'entry: other'), /exports no function other/],
    ['tools:\n  - name: a\n    source: builtin:x\n', /there is no builtin x; there is vision/],
  ])('a mistake is reported with file and line, and costs its own entry alone %#', async (text, message) => {
    expect(await problemsOf(text)).toMatch(message);
  });

  test.each([
    ["throw new Error('no such chip')", /createTool\(\) failed: no such chip/],
    ['return { execute: async () => 1 }', /has to return \{ definition, execute \}/],
    ['return { definition: { description: 7 }, execute: async () => 1 }', /description has to be a text/],
    ["return { definition: { descripton: 'x' }, execute: async () => 1 }", /description is missing/],
  ])('code of the owner that fails costs its own tool: %s', async (body, message) => {
    // A module is loaded once under its name.
    const code = join(directory, `my_tools/failing-${body.length}.mjs`);
    writeFileSync(code, `export function createTool() { ${body}; }`, { mode: 0o600 });
    const { tools, leftOut } = await load(`${fileEntry}  - name: failing\n    source: file:${code}\n`);
    expect(tools.map(({ id }) => id)).toEqual(['core:custom_analyzer@1.0.0']);
    expect(leftOut).toMatchObject([{ place: expect.stringMatching(/line 6$/), problem: expect.stringMatching(message) }]);
  });

  test('code that others could have written is not loaded', async () => {
    chmodSync(join(directory, 'my_tools'), 0o770);
    expect(await problemsOf(fileEntry)).toMatch(/can be written by others; run chmod go-w/);
    chmodSync(join(directory, 'my_tools'), 0o700);
    chmodSync(directory, 0o777);
    expect(await problemsOf(fileEntry)).toMatch(/can be written by others; run chmod go-w/);
    chmodSync(directory, 0o700);
    chmodSync(join(directory, 'my_tools/analyzer.mjs'), 0o606);
    expect(await problemsOf(fileEntry)).toMatch(/can be written by others/);
    chmodSync(join(directory, 'my_tools/analyzer.mjs'), 0o600);
    expect(await toolsOf(fileEntry)).toHaveLength(1);
  });

  test('a manifest that cannot be read is reported', async () => {
    const { tools, leftOut } = await loadManifest(join(directory, 'my_tools'), sources);
    expect([tools, leftOut]).toMatchObject([
      [],
      [{ place: join(directory, 'my_tools'), problem: expect.stringContaining('cannot be read') }],
    ]);
    expect(await loadManifest(join(directory, 'absent.yaml'), sources)).toEqual({
      tools: [],
      leftOut: [],
      changedPlugins: [],
      records: [],
    });
  });
});

describe('a list of tools that got lost', () => {
  const list = '- name: one\n- name: two\n';
  const namesIn = ({ records }: RecordFile) => records.map(({ body }) => body.name);

  test.each(['', ' \n', '\0\0'])('is none where it never said anything: %j', (text) => {
    const folder = mkdtempSync(join(tmpdir(), 'records-'));
    const path = join(folder, 'tools.yaml');
    const parts = { takenOf: takenInMemory() };
    const read = () => readFirstRecordFile([path], parts);
    writeFileSync(path, text, { mode: 0o600 });
    const first = read();
    expect([read(), parts.takenOf(path).get()]).toEqual([first, undefined]);
    rmSync(path);
    expect(read()).toEqual({ records: [], leftOut: [] });
    rmSync(folder, { recursive: true });
  });

  test.each([
    ['is gone', (path: string) => rmSync(path), /is gone; to have no tools of its own, write "tools: \[\]" into it/],
    ['is empty', (path: string) => writeFileSync(path, ''), /is empty; to have no tools/],
    ['is full of zeros', (path: string) => writeFileSync(path, Buffer.alloc(40)), /is empty; to have no tools/],
    ['is no list any more', (path: string) => writeFileSync(path, 'tools: [{name'), /line 1/],
    ['is a folder', (path: string) => [rmSync(path), mkdirSync(path)], /cannot be read/],
    ['can be written by others', (path: string) => chmodSync(path, 0o666), /chmod go-w/],
  ])('since it %s keeps the tools that it had, over restarts, and says why', (_what, damage, fault) => {
    const folder = mkdtempSync(join(tmpdir(), 'records-'));
    const path = join(folder, 'tools_bootstrap.json');
    const parts = { takenOf: takenInMemory() };
    const read = () => readFirstRecordFile([path, join(folder, 'other.json')], parts);
    expect(read()).toEqual({ records: [], leftOut: [] });
    writeFileSync(path, list, { mode: 0o600 });
    expect([namesIn(read()), read().stale]).toEqual([['one', 'two'], undefined]);
    damage(path);
    for (let starts = 0; starts < 2; starts++) {
      expect([namesIn(read()), read().stale]).toEqual([['one', 'two'], { place: path, problem: expect.stringMatching(fault) }]);
    }
    rmSync(path, { recursive: true, force: true });
    writeFileSync(path, 'tools: []', { mode: 0o600 });
    expect(read()).toEqual({ records: [], leftOut: [] });
    rmSync(folder, { recursive: true });
  });
});
