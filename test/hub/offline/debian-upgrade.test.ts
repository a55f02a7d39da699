import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DebianUpgrade } from '../../../src/hub/offline/debian-upgrade.ts';
import { KeptPackage } from '../../../src/hub/offline/kept-package.ts';
import { MachineCommands } from '../../../src/hub/offline/machine-commands.ts';
import { FakeDebian } from '../../fake-debian.ts';

const NOTES = 'var/lib/atmosphere-edge-upgrade';
const KEPT = 'usr/lib/atmosphere-edge-previous';
const UNIT = 'etc/systemd/system/atmosphere-edge.service';
const PINS = 'etc/apt/preferences.d/atmosphere-edge-avoided';
const RESTART = 'systemctl restart --no-block atmosphere-edge.service';

let debian: FakeDebian;
let machine: DebianUpgrade;
beforeEach(() => {
  debian = new FakeDebian();
  debian.write(`${NOTES}/record.json`, '{"step":"watching","from":"0.1.0","to":"0.2.0"}');
  mkdirSync(join(debian.root, UNIT, '..'), { recursive: true });
  debian.keep('0.1.0');
  machine = new DebianUpgrade({ root: debian.root, env: debian.env });
});
afterEach(() => debian[Symbol.dispose]());

/** The process of the hub runs these files. */
function hubRuns(program: string): void {
  const exe = join(debian.root, 'proc/7/exe');
  mkdirSync(join(exe, '..'), { recursive: true });
  rmSync(exe, { force: true });
  symlinkSync(join(debian.root, program, 'bin/node'), exe);
}
const HOW_A_HUB_IS_RESTARTED = ['systemctl daemon-reload', 'systemctl reset-failed atmosphere-edge.service', RESTART];
const PROGRAM = 'usr/lib/atmosphere-edge';
const modeOf = (path: string): number => statSync(join(debian.root, path)).mode & 0o777;
const inactive = () => debian.say({ hub: 'ActiveState=inactive\nMainPID=0\nNRestarts=0\n' });

describe('what systemd says of the hub', () => {
  test.each([
    ['active', '', 'running'],
    ['activating', '', 'starting'],
    ['inactive', '', 'stopped'],
    ['inactive', 'Job=12\n', 'queued'],
    ['failed', '', 'failed'],
  ])('%s %s', async (active, job, state) => {
    debian.say({ hub: `ActiveState=${active}\n${job}MainPID=7\nNRestarts=2\n` });
    expect(await machine.look()).toEqual({ state, answers: state === 'running', pid: 7, restarts: 2 });
  });
});

describe('what dpkg says of the package', () => {
  test.each([
    ['installed', 'complete'],
    ['triggers-pending', 'complete'],
    ['half-configured', 'configuring'],
    ['unpacked', 'incomplete'],
    ['half-installed', 'incomplete'],
  ])('%s is %s', async (state, phase) => {
    debian.say({ installation: `${state} 0.2.0~rc.1` });
    expect(await machine.installed()).toEqual({ version: '0.2.0~rc.1', phase });
  });

  test('what is configured or installed keeps the settings of the owner, whom nobody asks', async () => {
    await machine.configure();
    await machine.installKept();
    const calls = debian.calls('dpkg --force');
    expect(calls).toHaveLength(2);
    for (const call of calls) expect(call).toContain('--force-confdef --force-confold');
  });

  test('another program with the lock is known in every language, a failure is one', async () => {
    debian.say({ complaint: 'dpkg: error: dpkg frontend lock was locked by another process with pid 7\n' });
    expect(await machine.configure()).toBe('busy');
    expect(await machine.installKept()).toBe('busy');
    expect(await machine.installKept()).toBe('busy');
    debian.say({ complaint: 'dpkg: error: cannot write\n' });
    expect(await machine.installKept()).toBe('failed');
    expect(debian.read('usr/lib/atmosphere-edge-previous/previous.deb')).toBeDefined();
  });

  test('dpkg does not depend on a pipe to the watch, so that it finishes when the watch is ended', async () => {
    expect(await machine.configure()).toBe('done');
    expect(debian.read('fake/stderr')).toContain(`/${NOTES}/dpkg-complaints`);
  });
});

describe('the kept version', () => {
  test('is there as a whole or not at all', () => {
    expect([machine.hasKept('0.1.0'), machine.hasKept('0.2.0')]).toEqual([true, false]);
    debian.write(`${KEPT}/files/usr/lib/atmosphere-edge/bin/other`, '');
    execFileSync('rm', [join(debian.root, KEPT, 'files/usr/lib/atmosphere-edge/bin/node')]);
    expect(machine.hasKept('0.1.0')).toBe(false);
  });

  test('runs from a unit that everybody may read; a second time changes nothing', async () => {
    await machine.runKept();
    expect(debian.read(UNIT)).toContain(`ExecStart=${debian.root}/${KEPT}/files/usr/lib/atmosphere-edge/bin/node serve`);
    expect(modeOf(UNIT)).toBe(0o644);
    expect(debian.calls(RESTART)).toHaveLength(1);
    hubRuns(`${KEPT}/files/${PROGRAM}`);
    await machine.runKept();
    expect(debian.calls(RESTART)).toHaveLength(0);
    expect(await machine.isKeptInUse()).toBe(true);
    await machine.runInstalled();
    expect(debian.read(UNIT)).toBeUndefined();
    expect(debian.calls(RESTART)).toHaveLength(1);
    hubRuns(PROGRAM);
    await machine.runInstalled();
    expect(debian.calls(RESTART)).toHaveLength(0);
    expect(await machine.isKeptInUse()).toBe(false);
  });

  test.each(['daemon-reload', 'restart'])('is brought to run by the next watch where one ended before its %s', async (verb) => {
    hubRuns(PROGRAM);
    debian.say({ failing: verb });
    await expect(machine.runKept()).rejects.toThrow(verb);
    debian.calls('');
    await machine.runKept();
    expect(debian.calls('systemctl').filter((call) => !call.includes(' show '))).toEqual(HOW_A_HUB_IS_RESTARTED);
    hubRuns(`${KEPT}/files/${PROGRAM}`);
    debian.say({ failing: verb });
    await expect(machine.runInstalled()).rejects.toThrow(verb);
    expect(debian.read(UNIT)).toBeUndefined();
    debian.calls('');
    await machine.runInstalled();
    expect(debian.calls('systemctl').filter((call) => !call.includes(' show '))).toEqual(HOW_A_HUB_IS_RESTARTED);
  });

  test('is taken away as a whole before it is removed, and what a power cut left is removed later', () => {
    const kept = new KeptPackage(join(debian.root, KEPT), new MachineCommands(debian.env, join(debian.root, 'complaints')));
    const dies = (path: string) => {
      if (existsSync(path)) throw new Error('no power');
    };
    expect(() => kept.discard(dies)).toThrow('no power');
    expect([debian.read(`${KEPT}/files/${PROGRAM}/bin/node`), debian.read(`${KEPT}/control/status`)]).toEqual([undefined, undefined]);
    machine.discardKept();
    expect(existsSync(join(debian.root, `${KEPT}.gone`))).toBe(false);
  });

  test('does not replace a unit of the owner', async () => {
    debian.write(UNIT, '[Service]\n');
    await machine.runKept();
    await machine.runInstalled();
    expect(debian.read(UNIT)).toBe('[Service]');
    expect(debian.calls(RESTART)).toEqual([]);
  });

  test('does not start a hub that its owner stopped, but one that dpkg stopped', async () => {
    inactive();
    await machine.runKept();
    expect(debian.calls(RESTART)).toEqual([]);
    await machine.runInstalled();
    debian.write('run/atmosphere-edge-stopped-by-dpkg', '');
    await machine.runKept();
    expect(debian.calls(RESTART)).toHaveLength(1);
  });

  test('becomes a package again, which dpkg installs; what cannot be packed is an error', async () => {
    expect(await machine.installKept()).toBe('done');
    const file = join(debian.root, KEPT, 'previous.deb');
    expect(debian.calls('dpkg --force')).toEqual([`dpkg --force-downgrade --force-confdef --force-confold --install ${file}`]);
    expect(execFileSync('dpkg-deb', ['--field', file, 'Version'], { encoding: 'utf8' }).trim()).toBe('0.1.0');
    debian.write(`${KEPT}/control/status`, 'Package: atmosphere-edge\n');
    const other = new DebianUpgrade({ root: debian.root, env: debian.env });
    await expect(other.installKept()).rejects.toThrow('dpkg-deb');
  });
});

describe('versions that apt does not bring by itself', () => {
  const pins = () =>
    [...(debian.read(PINS) ?? '').matchAll(/^Package: atmosphere-edge\nPin: version (.*)\nPin-Priority: -1$/gm)].map(([, one]) => one);

  test('are those that were not kept, once each, until they come up', () => {
    machine.avoid('0.2.0');
    machine.avoid('0.3.0');
    machine.avoid('0.2.0');
    expect(pins()).toEqual(['0.2.0', '0.3.0']);
    expect(modeOf(PINS)).toBe(0o644);
    expect(debian.read(PINS)).toContain('\n\nExplanation:');
    machine.allow('0.2.0');
    expect(pins()).toEqual(['0.3.0']);
    machine.allow('0.3.0');
    machine.allow('0.3.0');
    expect(debian.read(PINS)).toBeUndefined();
  });
});

describe('the lowest version without a known security hole', () => {
  const minimum = () => debian.read(`${NOTES}/security-minimum`);

  test('rises to what the installed version names, and never falls', async () => {
    for (const [named, expected] of [
      ['0.2.0~rc.1', '0.2.0~rc.1'],
      ['0.2.0', '0.2.0'],
      ['0.2.0~rc.2', '0.2.0'],
      ['', '0.2.0'],
    ] as const) {
      debian.say({ minimum: named });
      await machine.raiseMinimum();
      expect(minimum()).toBe(expected);
    }
    expect(modeOf(`${NOTES}/security-minimum`)).toBe(0o644);
    expect(await Promise.all(['0.1.9', '0.2.0~rc.2', '0.2.0', '0.10.0'].map((one) => machine.isBelowMinimum(one)))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test('is none where nothing was named', async () => {
    expect(await machine.isBelowMinimum('0.0.1')).toBe(false);
  });
});
