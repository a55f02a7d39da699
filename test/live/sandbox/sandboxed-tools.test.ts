import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { openProgramSandbox } from '../../../src/connectors/sandbox/bubblewrap-sandbox.ts';
import { openSandbox } from '../../../src/connectors/sandbox/command-tools.ts';
import { ScriptWorkerPool } from '../../../src/connectors/sandbox/script-worker-pool.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { loadManifest } from '../../../src/tools/manifest/tool-manifest.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { makeRegistrar, record } from '../../calls/registration/registrar-fixture.ts';
import { sandboxSettings } from '../../connectors/sandbox/sandbox-settings.ts';
import { takenInMemory } from '../../taken-texts.ts';

const bubblewrap = findDebianTool('bwrap')?.path;

const MODULE = `
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { helper } from './helper.mjs';
const hosts = (port) => new Promise((resolve) => connect(port, '127.0.0.1').on('connect', () => resolve('connected')).on('error', (error) => resolve(error.code)));
export const createTool = (config) => ({
  async execute({ do: what, path, port }) {
    console.log('noise');
    if (what === 'answer') return { config, helper: helper(), env: Object.keys(process.env).sort(), root: readdirSync('/').sort() };
    if (what === 'read') return readFileSync(path, 'utf8');
    if (what === 'write') return writeFileSync(path, 'x') ?? 'written';
    if (what === 'connect') return hosts(port);
    if (what === 'buffers') { const hoard = []; for (;;) { hoard.push(Buffer.alloc(8_388_608, 1)); await new Promise((resolve) => setImmediate(resolve)); } }
    if (what === 'heap') { const hoard = []; for (;;) hoard.push(new Array(100_000).fill({ what })); }
    if (what === 'throw') throw new Error('inner secret');
    for (;;) {}
  },
});`;
const SCRIPT = `
export async function execute({ do: what, n }, { factor }) {
  if (what === 'count') { let sum = 0; for (let i = 0; i < n; i++) sum += factor; return { sum }; }
  if (what === 'globals') return [typeof process, typeof require, typeof fetch, typeof setTimeout, typeof Buffer, typeof WebAssembly];
  if (what === 'bomb') { const hoard = []; for (;;) hoard.push(new Uint8Array(1_000_000).fill(1)); }
  if (what === 'import') return import('node:fs');
  if (what === 'throw') throw new Error('inner secret');
  for (;;) {}
}`;
/**
 * (module (memory (export "memory") 1 2) (global $next (mut i32) (i32.const 0))
 *   (func (export "alloc") (param i32) (result i32) (i32.const 1024))
 *   (func (export "execute") (param i32 i32) (result i64) answers its input as it is))
 */
const ECHO_WASM = Uint8Array.from([
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 12, 2, 0x60, 1, 0x7f, 1, 0x7f, 0x60, 2, 0x7f, 0x7f, 1, 0x7e],
  ...[3, 3, 2, 0, 1],
  ...[5, 4, 1, 1, 1, 2],
  ...[7, 28, 3, 6, ...Buffer.from('memory'), 2, 0, 5, ...Buffer.from('alloc'), 0, 0, 7, ...Buffer.from('execute'), 0, 1],
  ...[10, 20, 2, 5, 0, 0x41, 0x80, 8, 0x0b, 12, 0, 0x20, 0, 0xad, 0x42, 32, 0x86, 0x20, 1, 0xad, 0x84, 0x0b],
]);

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'sandboxed-'));
  mkdirSync(join(home, 'tools'), { mode: 0o755 });
  mkdirSync(join(home, 'media'));
  const write = (name: string, content: string | Uint8Array) => writeFileSync(join(home, 'tools', name), content, { mode: 0o644 });
  write('module.mjs', MODULE);
  write('helper.mjs', 'export const helper = () => 7;');
  write('script.js', SCRIPT);
  write('echo.wasm', ECHO_WASM);
  writeFileSync(join(home, 'key'), 'the key of the home');
  writeFileSync(join(home, 'media/words'), 'a b c\n');
});
afterAll(() => rmSync(home, { recursive: true }));

const settings = (extra: JsonObject = {}) =>
  sandboxSettings({
    bubblewrap: bubblewrap ?? '/nowhere',
    powers: { media: { read: [join(home, 'media')] }, out: { write: [join(home, 'media')] } },
    ...extra,
  });
const place = () => ({ stateDir: join(home, 'state'), env: { ...process.env } });
const programs = () => openProgramSandbox(settings(), place());

let setup: ReturnType<typeof makePipeline>;
beforeEach(() => {
  setup = makePipeline({ clock: systemClock });
});
const call = (tool: string, params: JsonObject, timeoutMs = 20_000) => setup.pipeline.call({ principal: owner, tool, params, timeoutMs });

async function load(entries: string): Promise<void> {
  const path = join(home, 'tools.yaml');
  writeFileSync(path, `tools:\n${entries}`, { mode: 0o600 });
  const { tools, leftOut } = await loadManifest(path, {
    builtins: new Map(),
    allowedPlugins: [],
    programs: programs(),
    scripts: new ScriptWorkerPool({ clock: systemClock }),
    takenOf: takenInMemory(),
  });
  expect(leftOut).toEqual([]);
  for (const tool of tools) setup.registry.register(tool);
}
const described = (execution: string) =>
  `    definition: { description: Does it., parameters: { type: object, properties: { do: { type: string }, n: { type: integer }, path: { type: string }, port: { type: integer } } }, requires: { permissions: ['proc:exec:own'] }, execution: { side_effects: false, ${execution} } }\n`;

describe.skipIf(bubblewrap === undefined)('a file of the owner in the sandbox', () => {
  const entry = `  - name: own\n    source: file:./tools/module.mjs\n    sandbox: true\n    powers: [media]\n    config: { unit: C }\n${described('max_memory_bytes: 33554432')}`;

  test('has its own code, its configuration and its powers, and nothing of the home', async () => {
    await load(entry);
    const { result } = (await call('own', { do: 'answer' })) as unknown as { result: { root: string[] } };
    expect(result).toMatchObject({ config: { unit: 'C' }, helper: 7, env: ['HOME', 'LANG', 'PATH', 'PWD'] });
    expect(await call('own', { do: 'read', path: join(home, 'media/words') })).toMatchObject({ result: 'a b c\n' });
    for (const params of [
      { do: 'read', path: join(home, 'key') },
      { do: 'read', path: '/etc/passwd' },
      { do: 'write', path: join(home, 'media/new') },
      { do: 'write', path: join(home, 'tools/module.mjs') },
      { do: 'throw' },
    ]) {
      const answer = await call('own', params);
      expect([params, answer]).toMatchObject([params, { error: { code: 'INTERNAL_ERROR' } }]);
      expect(JSON.stringify(answer)).not.toMatch(/inner secret|key of the home/);
    }
    expect(readFileSync(join(home, 'tools/module.mjs'), 'utf8')).toBe(MODULE);
    expect(await call('own', { do: 'connect', port: 22 })).toMatchObject({ result: expect.stringMatching(/^E/) });
  });

  test('ends at its bounds', async () => {
    await load(entry);
    expect(await call('own', { do: 'buffers' })).toMatchObject({ error: { code: 'RESOURCE_EXCEEDED' } });
    expect(await call('own', { do: 'heap' })).toMatchObject({ status: 'error' });
    expect(await call('own', { do: 'loop' }, 1_500)).toMatchObject({ error: { code: 'TIMEOUT' } });
  });
});

describe('a script', () => {
  const entry = `  - name: own\n    source: js:./tools/script.js\n    config: { factor: 2 }\n${described('max_memory_bytes: 8388608, max_fuel: 5000000')}`;

  test('computes, and knows nothing but its parameters', async () => {
    await load(entry);
    expect(await call('own', { do: 'count', n: 1000 })).toMatchObject({ result: { sum: 2000 } });
    expect(await call('own', { do: 'globals' })).toMatchObject({ result: Array.from({ length: 6 }, () => 'undefined') });
    for (const what of ['throw', 'import'])
      expect([what, await call('own', { do: what })]).toMatchObject([what, { error: { code: 'INTERNAL_ERROR' } }]);
  });

  test('takes no more steps and memory than it may, each time the same', async () => {
    await load(entry);
    for (const n of [100_000, 100_000]) expect(await call('own', { do: 'count', n })).toMatchObject({ result: { sum: 200_000 } });
    for (const params of [{ do: 'loop' }, { do: 'count', n: 100_000_000 }]) {
      expect(await call('own', params)).toMatchObject({ error: { code: 'RESOURCE_EXCEEDED', details: { max_fuel: 5_000_000 } } });
    }
    const before = process.memoryUsage().rss;
    expect(await call('own', { do: 'bomb' })).toMatchObject({
      error: { code: 'RESOURCE_EXCEEDED', details: { max_memory_bytes: 8_388_608 } },
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
  });

  test('without a bound on steps ends at the deadline, and the hub answers meanwhile', async () => {
    await load(entry.replace(', max_fuel: 5000000', ''));
    let beats = 0;
    const heart = setInterval(() => beats++, 10);
    expect(await call('own', { do: 'loop' }, 700)).toMatchObject({ error: { code: 'TIMEOUT' } });
    clearInterval(heart);
    expect(beats).toBeGreaterThan(4);
  });

  test('may be a WebAssembly module, with JSON in its memory', async () => {
    await load(`  - name: own\n    source: wasm:./tools/echo.wasm\n    config: { factor: 2 }\n${described('max_memory_bytes: 131072')}`);
    expect(await call('own', { do: 'grüße', n: 5 })).toMatchObject({ result: { params: { do: 'grüße', n: 5 }, config: { factor: 2 } } });
  });

  test('as a WebAssembly module takes no more instructions than it may', async () => {
    const bounded = (name: string, fuel: number) =>
      load(`  - name: ${name}\n    source: wasm:./tools/echo.wasm\n${described(`max_memory_bytes: 131072, max_fuel: ${fuel}`)}`);
    // Two instructions of alloc, eight of execute.
    await bounded('own', 10);
    expect(await call('own', { n: 5 })).toMatchObject({ result: { params: { n: 5 } } });
    await bounded('tight', 9);
    expect(await call('tight', { n: 5 })).toMatchObject({ error: { code: 'RESOURCE_EXCEEDED', details: { max_fuel: 9 } } });
  });
});

describe.skipIf(bubblewrap === undefined)('a program of a tool', () => {
  test('of a record runs in the sandbox, and of a command of the owner too', async () => {
    const own = makeRegistrar({ clock: systemClock, programs: programs() });
    const exec = { type: 'cmd', cmd: 'wc', args: ['{flag}', '--', '{file}'], powers: ['media'] };
    own.registrar.register(record('count', [], { exec, input_schema: { file: 'string', 'flag?': 'int' }, safety_level: 'low' }), owner);
    expect(await own.call('count', { file: join(home, 'media/words') })).toMatchObject({ result: { output: `1 3 6 ${home}/media/words` } });
    expect(await own.call('count', { file: join(home, 'key') })).toMatchObject({
      error: { code: 'SERVICE_REFUSED', details: { exit_code: 1 } },
    });
    const python = { type: 'cmd', cmd: '/usr/bin/perl', args: ['-ne', 'print "log\\n"; print "{\\"got\\": $_}\\n"'] };
    own.registrar.register(record('wrap', [], { exec: python, input_schema: { stdin: 'any' }, safety_level: 'low' }), owner);
    expect(await own.call('wrap', { stdin: [1, 2] })).toMatchObject({ result: { got: [1, 2] } });
    const commands = {
      words: {
        description: 'Counts.',
        argv: ['wc', '-w', '{name}'],
        parameters: { name: { type: 'string', description: 'File' } },
        powers: ['media'],
        approval: false,
      },
    };
    const { tools } = openSandbox({ ...place(), programs: programs() }, { sandbox: settings({ commands }) });
    for (const tool of tools) setup.registry.register(tool);
    expect(await call('shell', { command: 'wc -w words', cwd: join(home, 'media') })).toMatchObject({
      result: { stdout: '3 words\n', stderr: '', exit_code: 0 },
    });
    expect(await call('exec', { cmd: 'wc -w words' })).toMatchObject({
      result: { exit_code: 1, stderr: expect.stringContaining('No such file') },
    });
    expect(await call('exec', { cmd: 'wc -w /etc/passwd' })).toMatchObject({ error: { code: 'RULE_BLOCKED' } });
  });
});

describe('an image', () => {
  /** Says what it was called with, as an engine would run it. */
  const ENGINE = `#!/bin/sh
case "$1" in
  run) case "$*" in *absent*) echo "Error: no such image" >&2; exit 125;; *slow*) exec sleep 30;; esac; printf '{"args": "%s", "in": "%s", "words": "%s"}' "$*" "$(cat)" "$WORDS";;
  rm) echo "$3" >> "$(dirname "$0")/removed";;
  ps) printf 'db postgres:16 Up 2 hours\\nweb nginx:1 Exited\\n';;
  images) printf 'nginx:1\\n';;
esac`;

  test('runs in a container without network and rights, by an engine that the owner named', async () => {
    const engine = join(home, 'engine');
    writeFileSync(engine, ENGINE);
    chmodSync(engine, 0o755);
    const config = settings({
      container_engine: engine,
      powers: { words: { env: { WORDS: 'env:SANDBOX_WORDS' }, read: [join(home, 'media')] } },
    });
    const where = { ...place(), env: { ...process.env, SANDBOX_WORDS: 'given', SANDBOX_OTHER: 'kept' } };
    const containers = openProgramSandbox(config, where);
    const own = makeRegistrar({ clock: systemClock, programs: containers });
    const register = (id: string, exec: JsonObject) =>
      own.registrar.register(
        record(id, [], { exec: { type: 'image', ...exec }, input_schema: { 'file?': 'string', 'stdin?': 'string' }, safety_level: 'low' }),
        owner,
      );
    register('inside', { image: 'alpine:3', cmd: 'wc', args: ['{file}'], powers: ['words'] });
    const { result } = (await own.call('inside', { file: 'a b', stdin: 'hello' })) as unknown as { result: { args: string } };
    expect(result).toMatchObject({ in: 'hello', words: 'given' });
    for (const part of [
      '--pull never',
      '--read-only',
      '--cap-drop ALL',
      '--network none',
      '--env WORDS',
      `${home}/media:${home}/media:ro`,
      '-- alpine:3 wc a b',
    ]) {
      expect(result.args).toContain(part);
    }
    register('gone', { image: 'absent:1' });
    expect(await own.call('gone')).toMatchObject({ error: { code: 'NOT_FOUND' } });
    register('long', { image: 'slow:1' });
    const ended = await own.pipeline.call({ principal: owner, tool: 'long', params: {}, timeoutMs: 1_500 });
    expect(ended).toMatchObject({ error: { code: 'TIMEOUT' } });
    await expect.poll(() => readFileSync(join(home, 'removed'), 'utf8')).toMatch(/^atmo-[0-9a-f]{16}$/m);
    const { tools } = openSandbox({ env: where.env, programs: containers }, { sandbox: config });
    for (const tool of tools) setup.registry.register(tool);
    expect(await call('docker_list', { type: 'containers' })).toMatchObject({
      result: { items: ['db postgres:16 Up 2 hours', 'web nginx:1 Exited'] },
    });
    expect(await setup.pipeline.call({ principal: agent('net:read'), tool: 'docker_list', params: {} })).toMatchObject({
      error: { code: 'TOOL_NOT_FOUND' },
    });
  });
});
