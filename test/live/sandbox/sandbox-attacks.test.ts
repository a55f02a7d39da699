import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { openProgramSandbox } from '../../../src/connectors/sandbox/bubblewrap-sandbox.ts';
import { openSandbox } from '../../../src/connectors/sandbox/command-tools.ts';
import { ScriptWorkerPool } from '../../../src/connectors/sandbox/script-worker-pool.ts';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { ProgramRequest } from '../../../src/tools/programs/program-sandbox.ts';
import { makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { sandboxSettings } from '../../connectors/sandbox/sandbox-settings.ts';

const bubblewrap = findDebianTool('bwrap')?.path;
const python = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : undefined;

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'attacks-'));
  mkdirSync(join(home, 'state'));
  mkdirSync(join(home, 'victim'));
  chmodSync(home, 0o777);
  chmodSync(join(home, 'victim'), 0o777);
});
afterAll(() => rmSync(home, { recursive: true }));

const settings = () =>
  sandboxSettings({
    bubblewrap: bubblewrap ?? '/nowhere',
    memory_mb: 64,
    powers: { net: { network: true } },
    commands: {
      touch: {
        description: 'Makes a file.',
        argv: ['/usr/bin/touch', '--', '{path}'],
        parameters: { path: { type: 'string', description: 'Path' } },
        approval: false,
      },
    },
  });
const programs = () => openProgramSandbox(settings(), { stateDir: join(home, 'state'), env: { ...process.env } });

const run = (program: string, args: readonly string[], extra: Partial<ProgramRequest> = {}) =>
  programs().run({
    kind: 'cmd',
    program,
    args,
    powers: [],
    confirm: () => {},
    caller: OWNER,
    signal: AbortSignal.timeout(60_000),
    ...extra,
  });
const sh = (script: string, extra: Partial<ProgramRequest> = {}) => run('/bin/sh', ['-c', script], extra);

test('an answer of a script that would fill the memory of the hub is refused', async () => {
  const scripts = new ScriptWorkerPool({ clock: systemClock });
  const answer = async (length: number) => {
    const code = new TextEncoder().encode(`export const execute = () => 'x'.repeat(${length});`);
    return await scripts.run({ kind: 'js', code, params: {}, config: {}, maxMemoryBytes: 33_554_432, signal: AbortSignal.timeout(60_000) });
  };
  await expect(answer(4_194_304)).rejects.toMatchObject({ code: 'RESOURCE_EXCEEDED', details: { max_answer_characters: 4_194_304 } });
  await expect(answer(4_194_302)).resolves.toHaveLength(4_194_302);
});

test('scripts that many call at once take no more threads than there may be', async () => {
  const scripts = new ScriptWorkerPool({ clock: systemClock });
  const threads = () => Number(/Threads:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  const before = threads();
  const signal = AbortSignal.timeout(1_500);
  const code = new TextEncoder().encode('export const execute = () => { for (;;) {} };');
  const runs = Array.from({ length: 12 }, () =>
    expect(scripts.run({ kind: 'js', code, params: {}, config: {}, maxMemoryBytes: 4_194_304, signal })).rejects.toThrow(),
  );
  let most = 0;
  const look = setInterval(() => {
    most = Math.max(most, threads() - before);
  }, 20);
  await Promise.all(runs);
  clearInterval(look);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(10);
});

describe.skipIf(bubblewrap === undefined)('somebody who wants out of the sandbox', () => {
  test('adds no options to bubblewrap by a folder with NUL characters', async () => {
    const setup = makePipeline({ clock: systemClock });
    const sandbox = settings();
    const programs = openProgramSandbox(sandbox, { env: process.env, stateDir: join(home, 'state') });
    for (const tool of openSandbox({ env: process.env, programs }, { sandbox }).tools) setup.registry.register(tool);
    const target = join(home, 'victim/escaped');
    const answer = await setup.pipeline.call({
      principal: owner,
      tool: 'shell',
      params: { command: `touch -- /tmp${target}`, cwd: '/tmp/\0--bind\0/\0/tmp' },
    });
    expect(existsSync(target)).toBe(false);
    expect(answer).toMatchObject({ status: 'error', error: { code: 'VALIDATION_ERROR' } });
    await expect(sh('true', { cwd: '/tmp/\0--bind\0/\0/tmp' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  test('finds no open files of bubblewrap or the hub', async () => {
    // Those that bubblewrap was given are the ones right behind the standard streams.
    const { stdout } = await sh('for fd in 3 4 5 6 7 8 9; do readlink /proc/self/fd/$fd; done; echo none');
    expect(stdout.split('\n').filter((line) => /^(pipe|socket|anon)/.test(line))).toEqual([]);
  });

  test('is the first to go when the machine has no memory left', async () => {
    expect((await sh('cat /proc/self/oom_score_adj')).stdout.trim()).toBe('1000');
  });

  test.skipIf(!python)('keeps nothing in message queues and semaphores, whose memory no process has', async () => {
    const script = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, args in (('msgget', (0, 0o1600)), ('semget', (0, 32000, 0o1600)), ('shmget', (0, 4096, 0o1600))):
    print(name, getattr(libc, name)(*args), ctypes.get_errno())`;
    const { stdout } = await run(python ?? '', ['-c', script]);
    expect(stdout.trim().split('\n')).toEqual(['msgget -1 1', 'semget -1 1', 'shmget -1 1']);
  });

  test.skipIf(!python || process.arch !== 'x64')('makes no namespace of its own, in which it would be root', async () => {
    const script = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, call, flags in (('clone', 56, 0x10000000 | 17), ('clone', 56, 0x40000000 | 17), ('clone3', 435, 0)):
    pid = libc.syscall(call, flags, 0, 0, 0, 0)
    if pid == 0: libc._exit(0)
    print(name, pid > 0, ctypes.get_errno())
import threading, subprocess
thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()
print(subprocess.run(['/bin/echo', 'process'], capture_output=True, text=True).stdout.strip())`;
    const { stdout } = await run(python ?? '', ['-c', script]);
    expect(stdout.trim().split('\n')).toEqual(['clone False 1', 'clone False 1', 'clone3 False 38', 'thread', 'process']);
  });

  test.skipIf(!python)('reaches no service of the machine over a socket without an address of the network', async () => {
    const name = `atmo-attack-${process.pid}`;
    const server = createServer((socket) => socket.end('inside')).listen(`\0${name}`);
    await new Promise((resolve) => server.once('listening', resolve));
    try {
      const script = `
import socket
try:
    s = socket.socket(socket.AF_UNIX); s.connect('\\0${name}'); print('connected')
except OSError as e:
    print(e.errno)`;
      expect((await run(python ?? '', ['-c', script], { powers: ['net'] })).stdout.trim()).toBe('1');
      expect((await run(python ?? '', ['-c', script])).stdout.trim()).toBe('111');
    } finally {
      server.close();
    }
  });
});
