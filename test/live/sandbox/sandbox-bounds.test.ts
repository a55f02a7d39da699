import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { openProgramSandbox } from '../../../src/connectors/sandbox/bubblewrap-sandbox.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import { toAtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import type { ProgramRequest, ProgramSandbox } from '../../../src/tools/programs/program-sandbox.ts';
import { sandboxSettings } from '../../connectors/sandbox/sandbox-settings.ts';

const bubblewrap = findDebianTool('bwrap')?.path;
const MARK = `atmo-mark-${process.pid}`;

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'sandbox-'));
  for (const folder of ['read', 'write', 'state']) mkdirSync(join(home, folder));
  // A hub that runs as root has programs of nobody.
  chmodSync(join(home, 'write'), 0o777);
  writeFileSync(join(home, 'read/words'), 'for reading');
  writeFileSync(join(home, 'state/key'), 'secret key');
});
afterAll(() => rmSync(home, { recursive: true }));

function open(extra: JsonObject = {}): ProgramSandbox {
  const powers = {
    reader: { read: [join(home, 'read')] },
    writer: { write: [join(home, 'write')] },
    net: { network: true },
    words: { env: { WORDS: 'env:SANDBOX_WORDS' } },
  };
  const config = sandboxSettings({
    bubblewrap: bubblewrap ?? '/nowhere',
    memory_mb: 64,
    temp_mb: 4,
    output_kb: 64,
    processes: 16,
    powers,
    ...extra,
  });
  return openProgramSandbox(config, { stateDir: join(home, 'state'), env: { SANDBOX_WORDS: 'given', PATH: '/usr/bin' } });
}

const callerOf = (id: string): Principal => ({ id, kind: 'agent', permissions: [] });
const order = (script: string, extra: Partial<ProgramRequest> = {}): ProgramRequest => ({
  kind: 'cmd',
  program: '/bin/sh',
  args: ['-c', script],
  confirm: () => {},
  powers: [],
  caller: callerOf('one'),
  signal: AbortSignal.timeout(60_000),
  ...extra,
});
const sh = (script: string, extra: Partial<ProgramRequest> = {}) => open().run(order(script, extra));
const refusal = async (work: Promise<unknown>) => {
  const { code, details } = toAtmoError(await work.then(String, (error: unknown) => error));
  return { code, details };
};
/** Processes of this machine whose command line holds the text. */
const withMark = (text: string) =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && Number(pid) !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
const gone = (text: string) => expect.poll(() => withMark(text), { interval: 25 }).toEqual([]);

/** A program that prints its name once `release` was called, and not before. */
function heldProgram(name: string) {
  const file = join(home, 'write', `release-${name}`);
  const script = `until [ -e ${file} ]; do sleep 0.05; done; echo ${name}`;
  return { script, extra: { powers: ['writer'] }, release: () => writeFileSync(file, '') };
}

describe.skipIf(bubblewrap === undefined)('a program in the sandbox', () => {
  test('answers with what it prints and how it ends', async () => {
    const result = await sh('read word; echo "out $word"; echo err >&2; exit 3', { stdin: 'hello\n' });
    expect(result).toEqual({ exitCode: 3, stdout: 'out hello\n', stderr: 'err\n' });
  });

  test('has nothing of the home: no files, no variables, no network, no other processes, no rights', async () => {
    const script =
      'id -u; env | sort; ls /; ls /proc | grep -c "^[0-9]"; ls /sys/class/net 2>&1; cat /proc/net/dev | grep -c :; grep -E "CapEff|NoNewPrivs|Seccomp:" /proc/self/status';
    const { stdout } = await sh(script);
    expect(stdout).toContain('65534\n');
    expect(stdout).toContain('HOME=/tmp\nLANG=C.UTF-8\n');
    expect(stdout).not.toMatch(/SANDBOX_WORDS|ATMO_|NODE_|etc\/passwd|\nhome|\nroot|\nwork|\nvar\n/);
    expect(stdout).toMatch(/CapEff:\s0000000000000000\nNoNewPrivs:\s1\nSeccomp:\s2/);
    // Its own loopback, which is down.
    expect(stdout).toMatch(/\n1\nCapEff/);
    const peek = `ls ${home} 2>&1; cat ${home}/state/key 2>&1; ls -d /proc/${process.pid} 2>&1`;
    expect((await sh(peek)).stdout).not.toMatch(/secret|words/);
  });

  test('writes nowhere but into its own folder, which is small and gone afterwards', async () => {
    const script =
      'for p in /x /usr/x /dev/x /etc/x /proc/sys/kernel/hostname; do echo a 2>/dev/null > $p && echo "wrote $p"; done; echo kept > /tmp/own && cat /tmp/own';
    expect((await sh(script)).stdout).toBe('kept\n');
    expect((await sh('ls -A /tmp')).stdout).toBe('');
    for (const folder of ['/tmp', '/dev/shm']) {
      const full = await sh(`for i in 1 2 3 4; do head -c 3000000 /dev/zero > ${folder}/file$i || exit 7; done`);
      expect([folder, full.exitCode]).toEqual([folder, 7]);
    }
  });

  test('has the powers that it was given, and no others', async () => {
    expect((await sh(`cat ${home}/read/words; echo more > ${home}/read/words`, { powers: ['reader'] })).stdout).toBe('for reading');
    await sh(`echo written > ${home}/write/file`, { powers: ['writer'] });
    expect(readFileSync(join(home, 'write/file'), 'utf8')).toBe('written\n');
    expect((await sh('echo $WORDS', { powers: ['words'] })).stdout).toBe('given\n');
    const { stdout } = await sh('grep -c : /proc/net/dev', { powers: ['net'] });
    expect(Number(stdout)).toBe(
      readFileSync('/proc/net/dev', 'utf8')
        .split('\n')
        .filter((line) => line.includes(':')).length,
    );
    expect(await refusal(sh('true', { powers: ['admin'] }))).toMatchObject({ code: 'NOT_CONFIGURED' });
  });

  test('cannot ask the kernel for what no tool needs', async () => {
    const perl = (call: string) => sh(`perl -e '$n = "x"; $r = ${call}; print $r < 0 ? "no: $!" : "yes"'`);
    const numbers = process.arch === 'x64' ? { unshare: 272, memfd: 319, bpf: 321 } : { unshare: 97, memfd: 279, bpf: 280 };
    expect((await perl(`syscall(${numbers.unshare}, 0x10000000)`)).stdout).toBe('no: Operation not permitted');
    expect((await perl(`syscall(${numbers.memfd}, $n, 0)`)).stdout).toBe('no: Operation not permitted');
    expect((await perl(`syscall(${numbers.bpf}, 0, 0, 0)`)).stdout).toBe('no: Operation not permitted');
    const socket = (family: number) => sh(`perl -e 'print socket(my $s, ${family}, 5, 0) ? "yes" : "no: $!"'`);
    // AF_ALG and AF_VSOCK reach the kernel's own cryptography and the machine around this one.
    expect((await socket(38)).stdout).toBe('no: Operation not permitted');
    expect((await socket(40)).stdout).toBe('no: Operation not permitted');
    expect((await sh(`perl -e 'print socket(my $s, 1, 1, 0) ? "yes" : "no"'`)).stdout).toBe('yes');
  });
});

describe.skipIf(bubblewrap === undefined)('bounds end', () => {
  test('a memory bomb of one process', async () => {
    const bomb = refusal(
      sh(`perl -e 'while (1) { $x .= "a" x 1000000; select undef, undef, undef, 0.02 }'`, { maxMemoryBytes: 48_000_000 }),
    );
    expect((await bomb).code).toBe('RESOURCE_EXCEEDED');
  });

  test('a memory bomb of many, each of which stays within its own limit', async () => {
    const bomb = `for i in 1 2 3 4 5 6 7 8; do perl -e '$x = "a" x 20_000_000; sleep 20' & done; wait`;
    expect(await refusal(sh(bomb))).toMatchObject({ code: 'RESOURCE_EXCEEDED', details: { max_memory_bytes: 67_108_864 } });
  });

  test('a fork bomb', async () => {
    // One that stays at the limit of the kernel, where a shell would end by itself.
    const bomb = refusal(sh(`perl -e 'fork while 1; # ${MARK}fork'`));
    expect(await bomb).toMatchObject({ code: 'RESOURCE_EXCEEDED', details: { max_processes: 16 } });
    await gone(`${MARK}fork`);
  });

  test('an endless loop, at the deadline', async () => {
    const signal = AbortSignal.timeout(300);
    await expect(sh(`# ${MARK}loop\nwhile :; do :; done`, { signal })).rejects.toThrow(/timeout/i);
    await gone(`${MARK}loop`);
  });

  test('a gigabyte of output, on either stream', async () => {
    const before = process.memoryUsage().rss;
    for (const script of ['yes', 'yes >&2']) {
      expect(await refusal(sh(script))).toMatchObject({ code: 'RESOURCE_EXCEEDED', details: { max_output_bytes: 65_536 } });
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(64_000_000);
  });

  test('what detaches itself and wants to live on', async () => {
    const orphan = `( setsid sh -c 'sleep 60 # ${MARK}orphan' >/dev/null 2>&1 & ) & echo started`;
    expect((await sh(orphan)).stdout).toBe('started\n');
    await gone(`${MARK}orphan`);
    const kept = refusal(sh(`setsid sh -c 'sleep 60 # ${MARK}kept' & wait`, { signal: AbortSignal.timeout(300) }));
    await kept;
    await gone(`${MARK}kept`);
  });

  test('what is given up at any moment of its start', async () => {
    const sandbox = open();
    await sandbox.run(order('true'));
    for (let ms = 0; ms < 40; ms += 1) {
      const work = sandbox.run(order(`sleep 60 # ${MARK}early`, { signal: AbortSignal.timeout(ms) }));
      await expect(work).rejects.toThrow(/timeout/i);
    }
    await gone(`${MARK}early`);
  });

  test('waiting for room, when the caller gives up', async () => {
    const sandbox = open({ max_concurrent: 1 });
    const held = heldProgram('first');
    const first = sandbox.run(order(held.script, held.extra));
    await expect(sandbox.run(order('echo second', { signal: AbortSignal.timeout(100) }))).rejects.toThrow(/timeout/i);
    held.release();
    expect((await first).stdout).toBe('first\n');
    expect((await sandbox.run(order('echo third'))).stdout).toBe('third\n');
  });
});

describe.skipIf(bubblewrap === undefined)('two slots for programs', () => {
  test('are never both held by one caller, whose programs keep nobody waiting', async () => {
    const sandbox = open({ max_concurrent: 2 });
    const held = heldProgram('long');
    const ended: string[] = [];
    const run = async (name: string, work: ProgramRequest) => {
      await sandbox.run(work);
      ended.push(name);
    };
    await sandbox.run(order('true'));
    const long = run('long', order(held.script, { ...held.extra, caller: callerOf('one') }));
    const queued = run('queued', order('true', { caller: callerOf('one') }));
    await run('other', order('true', { caller: callerOf('two') }));
    held.release();
    await Promise.all([long, queued]);
    expect(ended).toEqual(['other', 'long', 'queued']);
  });
});

describe('without a sandbox', () => {
  test('nothing runs: bubblewrap is not there, or may not make namespaces', async () => {
    const absent = open({ bubblewrap: '/nowhere/bwrap' });
    expect(absent.missingSetting('cmd')).toContain('apt install bubblewrap');
    const script = join(home, 'bwrap');
    writeFileSync(script, '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n', { mode: 0o755 });
    const closed = open({ bubblewrap: script });
    expect(closed.missingSetting('cmd')).toBeUndefined();
    expect(await refusal(closed.run(order(`touch ${home}/ran`)))).toMatchObject({ code: 'NOT_CONFIGURED' });
    expect(closed.missingSetting('cmd')).toContain('No permissions to create new namespace');
    expect(existsSync(join(home, 'ran'))).toBe(false);
  });

  test('one that is slow to start is tried again by the next program', async () => {
    const [script, isFast] = [join(home, 'slow-bwrap'), join(home, 'is-fast')];
    writeFileSync(script, `#!/bin/sh\n[ -e ${isFast} ] || exec sleep 60\necho "bwrap: No permissions" >&2\nexit 1\n`, { mode: 0o755 });
    const slow = open({ bubblewrap: script });
    expect(await refusal(slow.run(order('true')))).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(slow.missingSetting('cmd')).toBeUndefined();
    writeFileSync(isFast, '');
    expect(await refusal(slow.run(order('true')))).toMatchObject({ code: 'NOT_CONFIGURED' });
    expect(slow.missingSetting('cmd')).toContain('No permissions');
  });

  test('a power over the hub’s own state is a mistake in the configuration', () => {
    for (const path of [join(home, 'state'), home, '/', join(home, 'state/key')]) {
      expect(() => open({ powers: { all: { read: [path] } } })).toThrow(/state directory/);
    }
  });
});
