import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileRoots } from '../../../src/connectors/files/file-roots.ts';
import { openFiles } from '../../../src/connectors/files/file-tools.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';

let home: string;
let notes: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'files-'));
  notes = join(home, 'notes');
  for (const folder of ['notes/plans', 'photos', 'state', 'secret']) mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(join(home, 'secret/key'), 'THE KEY');
  writeFileSync(join(notes, 'shopping.txt'), 'peas\n');
  writeFileSync(join(notes, '.env'), 'TOKEN=1');
});

afterEach(() => rmSync(home, { recursive: true }));

function fixture() {
  const roots = { notes: { path: notes, writable: true }, photos: { path: join(home, 'photos'), writable: false } };
  const { tools, aliases = {} } = openFiles({ stateDir: join(home, 'state') }, { files: { roots } });
  const hub = makePipeline();
  const findings = tools.flatMap((tool) => hub.registry.register(tool));
  for (const [alias, name] of Object.entries(aliases)) hub.registry.alias(alias, name);
  const call = async (tool: string, params: JsonObject, principal = owner) => {
    const answer = await hub.pipeline.call({ principal, tool, params });
    return answer.status === 'success' ? (answer.result as JsonObject) : answer.error.code;
  };
  return { call, findings };
}

describe('files', () => {
  test('are written with the folders around them, read and listed', async () => {
    const { call, findings } = fixture();
    expect(findings).toEqual([]);
    const path = 'notes/2026/May list.txt';
    expect(await call('write_file', { path, content: 'bärlauch' })).toMatchObject({ written: 9 });
    expect(readFileSync(join(notes, '2026/May list.txt'), 'utf8')).toBe('bärlauch');
    expect(await call('read_file', { path })).toEqual({ content: 'bärlauch' });
    const listed = (await call('list_files', { path: 'notes/2026' })) as { entries: JsonObject[] };
    expect(listed).toMatchObject({
      total: 1,
      entries: [{ name: 'May list.txt', path: 'notes/2026/May+20list.txt', type: 'file', size_bytes: 9 }],
    });
    expect(await call('tool_file_read', { path: String(listed.entries[0]?.path) })).toEqual({ content: 'bärlauch' });
    expect(await call('tool_ls', { path: '.' })).toMatchObject({ entries: [{ name: 'notes', type: 'folder' }, { name: 'photos' }] });
    expect(await call('read_file', { path: join(notes, 'shopping.txt') })).toEqual({ content: 'peas\n' });
  });

  test('are replaced in one step, with the mode that they had, and nothing else is left', async () => {
    const { call } = fixture();
    const file = join(notes, 'shopping.txt');
    chmodSync(file, 0o600);
    const { ino } = statSync(file);
    expect(await call('tool_file_write', { path: 'notes/shopping.txt', content: 'beans' })).toMatchObject({ written: 5 });
    expect(statSync(file).ino).not.toBe(ino);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(notes).sort()).toEqual(['.env', 'plans', 'shopping.txt']);
  });

  test('that share their content with another name leave that one alone', async () => {
    linkSync(join(home, 'secret/key'), join(notes, 'hard'));
    expect(await fixture().call('write_file', { path: 'notes/hard', content: 'mine' })).toMatchObject({ written: 4 });
    expect(readFileSync(join(home, 'secret/key'), 'utf8')).toBe('THE KEY');
  });

  test('are as many as one can look through, and the rest is counted', async () => {
    for (let n = 0; n < 12; n++) writeFileSync(join(notes, 'plans', `p${n}`), '');
    expect(await fixture().call('list_files', { path: 'notes/plans', limit: 10 })).toMatchObject({ total: 12, entries: { length: 10 } });
  });
});

describe('nothing leads out', () => {
  test.each([
    ['a path from / on', '/etc/passwd'],
    ['a path that leads up', 'notes/../secret/key'],
    ['an escaped path that leads up', 'notes/+2E+2E/secret/key'],
    ['a hidden name', 'notes/.env'],
  ])('%s', async (_, path) => {
    const { call } = fixture();
    expect(await call('read_file', { path })).toBe('PERMISSION_DENIED');
    expect(await call('write_file', { path, content: 'x' })).toBe('PERMISSION_DENIED');
    expect(await call('list_files', { path })).toBe('PERMISSION_DENIED');
  });

  test('links, of files and of folders', async () => {
    const { call } = fixture();
    symlinkSync(join(home, 'secret/key'), join(notes, 'link'));
    symlinkSync(join(home, 'secret'), join(notes, 'door'));
    expect(await call('read_file', { path: 'notes/link' })).toBe('NOT_FOUND');
    expect(await call('read_file', { path: 'notes/door/key' })).toBe('NOT_FOUND');
    expect(await call('list_files', { path: 'notes/door' })).toBe('NOT_FOUND');
    expect(await call('write_file', { path: 'notes/door/new', content: 'x' })).toBe('NOT_FOUND');
    expect(await call('write_file', { path: 'notes/link', content: 'x' })).toBe('CONFLICT');
    expect(readFileSync(join(home, 'secret/key'), 'utf8')).toBe('THE KEY');
    expect(readdirSync(join(home, 'secret'))).toEqual(['key']);
  });

  test('a folder that becomes a link while files in it are read', async () => {
    const { call } = fixture();
    writeFileSync(join(notes, 'plans/key'), 'a plan');
    let isSwapping = true;
    const plans = join(notes, 'plans');
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const swapping = (async () => {
      while (isSwapping) {
        renameSync(plans, join(notes, 'aside'));
        symlinkSync(join(home, 'secret'), plans);
        await turn();
        rmSync(plans);
        renameSync(join(notes, 'aside'), plans);
        await turn();
      }
    })();
    const answers = new Set<string>();
    for (let n = 0; n < 150; n++) {
      answers.add(JSON.stringify(await call('read_file', { path: 'notes/plans/key' })));
    }
    isSwapping = false;
    await swapping;
    expect([...answers].sort()).toEqual(['"NOT_FOUND"', '{"content":"a plan"}']);
    expect(readdirSync(join(home, 'secret'))).toEqual(['key']);
  });
});

describe('what is refused', () => {
  test('a file that is too long, no text, or no file', async () => {
    const { call } = fixture();
    writeFileSync(join(notes, 'long'), Buffer.alloc(1_048_577, 'a'));
    writeFileSync(join(notes, 'most'), Buffer.alloc(1_048_576, 'a'));
    writeFileSync(join(notes, 'photo'), Buffer.from([0xff, 0xd8]));
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(notes, 'pipe')]);
    expect(await call('read_file', { path: 'notes/long' })).toBe('PAYLOAD_TOO_LARGE');
    expect(await call('read_file', { path: 'notes/most' })).toEqual({ content: 'a'.repeat(1_048_576) });
    expect(await call('read_file', { path: 'notes/photo' })).toBe('NOT_SUPPORTED');
    expect(await call('read_file', { path: 'notes/plans' })).toBe('NOT_SUPPORTED');
    expect(await call('read_file', { path: 'notes/pipe' })).toBe('NOT_SUPPORTED');
    expect(await call('read_file', { path: 'notes/none' })).toBe('NOT_FOUND');
    expect(await call('read_file', { path: 'notes' })).toBe('CONFLICT');
    expect(await call('read_file', { path: 'elsewhere/x' })).toBe('NOT_FOUND');
    expect(await call('write_file', { path: 'notes/plans', content: 'x' })).toBe('CONFLICT');
    expect(await call('list_files', { path: 'notes/shopping.txt' })).toBe('NOT_FOUND');
  });

  test('a folder that is for reading is not written', async () => {
    expect(await fixture().call('write_file', { path: 'photos/x', content: 'x' })).toBe('PERMISSION_DENIED');
    expect(readdirSync(join(home, 'photos'))).toEqual([]);
  });

  test('an agent reads and writes where it may, by whatever name it asks', async () => {
    const { call } = fixture();
    const reader = agent('fs:read:notes/plans/*', 'fs:write:notes/plans/mine.txt');
    writeFileSync(join(notes, 'plans/a b'), 'plan');
    expect(await call('read_file', { path: 'notes/plans/a b' }, reader)).toEqual({ content: 'plan' });
    expect(await call('read_file', { path: join(notes, 'plans/a b') }, reader)).toEqual({ content: 'plan' });
    expect(await call('read_file', { path: 'notes/shopping.txt' }, reader)).toBe('PERMISSION_DENIED');
    expect(await call('read_file', { path: join(notes, 'shopping.txt') }, reader)).toBe('PERMISSION_DENIED');
    expect(await call('write_file', { path: 'notes/plans/mine.txt', content: '' }, reader)).toMatchObject({ written: 0 });
    expect(await call('write_file', { path: 'notes/plans/yours.txt', content: '' }, reader)).toBe('PERMISSION_DENIED');
  });
});

describe('folders for agents', () => {
  const open = (path: string) => openFiles({ stateDir: join(home, 'state') }, { files: { roots: { some: { path, writable: false } } } });

  test('are not those of the machine, nor any with the keys of the hub', () => {
    for (const path of ['/', '/etc', '/etc/ssl', '/proc/self', '/var', '/run', join(home, 'state'), join(home, 'state/tls'), home]) {
      expect(() => open(path), path).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    }
    expect(() => open('/run/media/stick')).not.toThrow();
  });

  test('are judged again where they really are', async () => {
    symlinkSync('/etc', join(home, 'looks-harmless'));
    const { tools } = open(join(home, 'looks-harmless'));
    const hub = makePipeline();
    for (const tool of tools) hub.registry.register(tool);
    const answer = await hub.pipeline.call({ principal: owner, tool: 'read_file', params: { path: 'some/passwd' } });
    expect(answer).toMatchObject({ error: { code: 'CONFIG_INVALID' } });
  });

  test('that do not exist are named, and not the file in them', async () => {
    rmSync(notes, { recursive: true });
    const files = new FileRoots({ notes: { path: notes, writable: true } }, join(home, 'state'));
    await expect(files.write('notes/list.txt', 'peas')).rejects.toThrow('The folder behind notes does not exist');
  });

  test('a path outside of the folders is refused with the names of the folders', async () => {
    const files = new FileRoots({ notes: { path: notes, writable: true } }, join(home, 'state'));
    for (const [path, folder] of [
      ['output.txt', 'output.txt'],
      ['notes+5C..+5Cx', 'notes\\..\\x'],
      ['desk/list.txt', 'desk'],
    ] as const) {
      await expect(files.write(path, 'peas')).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: `There is no folder ${folder}; folders are: notes. A path begins with one of them`,
      });
    }
    await expect(files.read('notes')).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  test('are none without a setting', async () => {
    const { tools } = openFiles({ stateDir: join(home, 'state') }, {});
    const hub = makePipeline();
    for (const tool of tools) hub.registry.register(tool);
    expect(await hub.pipeline.call({ principal: owner, tool: 'list_files', params: { path: 'notes' } })).toMatchObject({
      error: { code: 'NOT_CONFIGURED' },
    });
  });
});
