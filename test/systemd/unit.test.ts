import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { findCommand } from '../../src/cli/command-line.ts';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { MEMORY_PROFILES, memoryProfile } from '../../src/hub/config/memory-profile.ts';
import { isOpen, recordFile, UPGRADE_DIRECTORY, type UpgradeRecord, writeUpgradeRecord } from '../../src/hub/upgrade-record.ts';

const UNIT = readFileSync(join(import.meta.dirname, '../../systemd/atmosphere-edge.service'), 'utf8');
const hasAnalyzer = spawnSync('systemd-analyze', ['--version']).status === 0;
const directory = mkdtempSync(join(tmpdir(), 'atmo-unit-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** The drop-in for a memory profile. */
const dropIn = (name: string) => readFileSync(join(import.meta.dirname, `../../systemd/${name}.conf`), 'utf8');

/** The unit with a program that exists here: `verify` looks for it. */
function localCopy(): string {
  const file = join(directory, 'atmosphere-edge.service');
  writeFileSync(file, UNIT.replaceAll('/usr/lib/atmosphere-edge/bin/node', process.execPath));
  return file;
}

function analyze(...args: string[]) {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  return { status, text: stdout + stderr };
}

describe('the unit that watches upgrades', () => {
  const watch = readFileSync(join(import.meta.dirname, '../../systemd/atmosphere-edge-upgrade.service'), 'utf8');

  test.each(['installing', 'watching', 'rolling-back', 'settled', 'rolled-back', 'stayed'] as const)(
    'runs at a start of the machine if something is left to do (%s)',
    (step) => {
      const record: UpgradeRecord = { step, from: '0.1.0', to: '0.2.0' };
      writeUpgradeRecord(directory, record);
      const [, command = ''] = /^ExecCondition=(.*)$/m.exec(watch) ?? [];
      const { status } = spawnSync('sh', ['-c', command.replace(recordFile(UPGRADE_DIRECTORY), recordFile(directory))]);
      expect(status).toBe(isOpen(record) ? 0 : 1);
    },
  );

  test.skipIf(!hasAnalyzer)('is accepted without a warning', () => {
    const file = join(directory, 'atmosphere-edge-upgrade.service');
    writeFileSync(file, watch);
    expect(analyze('verify', '--man=no', file)).toEqual({ status: 0, text: '' });
  });
});

describe('systemd unit', () => {
  test.skipIf(!hasAnalyzer)('is accepted without a warning', () => {
    expect(analyze('verify', '--man=no', localCopy())).toEqual({ status: 0, text: '' });
  });

  test.skipIf(!hasAnalyzer)('exposes at most 2.5 of 10', () => {
    const { status, text } = analyze('security', '--offline=yes', '--threshold=25', localCopy());
    expect(text).toContain('Overall exposure level');
    expect(status).toBe(0);
  });

  test.skipIf(!hasAnalyzer)('is accepted with the drop-in for a sandbox as well, and exposes at most 3 of 10 with it', () => {
    const unit = localCopy();
    mkdirSync(`${unit}.d`, { recursive: true });
    copyFileSync(join(import.meta.dirname, '../../systemd/sandbox.conf'), join(`${unit}.d`, 'sandbox.conf'));
    expect(analyze('verify', '--man=no', unit)).toEqual({ status: 0, text: '' });
    const { status, text } = analyze('security', '--offline=yes', '--threshold=30', unit);
    rmSync(`${unit}.d`, { recursive: true });
    expect(text).toMatch(/✗ RestrictNamespaces=~user/);
    expect(status).toBe(0);
  });

  test.skipIf(!hasAnalyzer)('is accepted with the drop-in for small boards as well', () => {
    const unit = localCopy();
    mkdirSync(`${unit}.d`, { recursive: true });
    writeFileSync(join(`${unit}.d`, 'small.conf'), dropIn('small').replaceAll('/usr/lib/atmosphere-edge/bin/node', process.execPath));
    expect(analyze('verify', '--man=no', unit)).toEqual({ status: 0, text: '' });
    rmSync(`${unit}.d`, { recursive: true });
  });

  test.each(MEMORY_PROFILES)('is bounded as the memory profile %s says', (name) => {
    const { service, nodeFlags, environment } = memoryProfile(name);
    const text = name === 'normal' ? UNIT : dropIn(name);
    expect(/^MemoryHigh=(\d+)M$/m.exec(text)?.[1]).toBe(String(service.highMb));
    expect(/^MemoryMax=(\d+)M$/m.exec(text)?.[1]).toBe(String(service.maxMb));
    const flags = /^ExecStart=\S+ (.*) \S+atmo\.mjs serve$/m.exec(text)?.[1]?.split(' ');
    expect(flags).toEqual(expect.arrayContaining([...nodeFlags]));
    const variables = Object.entries({ ATMO_MEMORY: name, ...environment }).map(([variable, value]) => `${variable}=${value}`);
    if (name !== 'normal') expect(/^Environment=(.*)$/m.exec(text)?.[1]?.split(' ')).toEqual(variables);
  });

  test('reaches lines, buses, serial ports and cameras of the board, and no disk', () => {
    const devices = [...UNIT.matchAll(/^DeviceAllow=char-(\w+) rw$/gm)].map(([, name]) => name);
    expect(devices).toEqual(expect.arrayContaining(['gpiochip', 'i2c', 'ttyAMA', 'ttyUSB', 'video4linux']));
    expect(UNIT).toMatch(/^DevicePolicy=closed$/m);
    expect(UNIT).not.toMatch(/^DeviceAllow=(?!char-)/m);
  });

  test('the hub reports readiness and life itself, from its main process', () => {
    expect(UNIT).toMatch(/^Type=notify$/m);
    expect(UNIT).toMatch(/^NotifyAccess=main$/m);
    expect(UNIT).toMatch(/^WatchdogSec=\d+$/m);
    expect(UNIT).toMatch(/^MemoryMax=\d+M$/m);
  });

  test('a tool that takes the last memory of the unit ends alone', () => {
    expect(UNIT).toMatch(/^OOMPolicy=continue$/m);
    expect(UNIT).toMatch(/^Restart=on-failure$/m);
  });

  test('leaves outputs safe after each end, and a failure of that is none of the hub', () => {
    const [, words = ''] = /^ExecStopPost=-\S+ \S+atmo\.mjs (.*)$/m.exec(UNIT) ?? [];
    expect(findCommand(COMMANDS, words.split(' '))?.name).toBe('outputs safe');
  });

  test('keeps its state private and in the place where atmo looks', () => {
    expect(UNIT).toMatch(/^StateDirectory=atmosphere-edge$/m);
    expect(UNIT).toMatch(/^StateDirectoryMode=0700$/m);
    expect(UNIT).toMatch(/^Environment=ATMO_STATE_DIR=%S\/atmosphere-edge\b/m);
  });
});
