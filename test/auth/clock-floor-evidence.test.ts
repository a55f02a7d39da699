import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { buildTimeMs, SystemClockEvidence } from '../../src/auth/trusted-clock.ts';

const SYSTEM_MS = Date.UTC(2026, 5, 1);

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'atmo-clock-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function evidence(isSynchronised = false): SystemClockEvidence {
  return new SystemClockEvidence({ root, isKernelSynchronised: async () => isSynchronised, systemMs: () => SYSTEM_MS });
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

describe('evidence for the clock', () => {
  test('the kernel says that it is synchronised', async () => {
    mkdirSync(join(root, 'sys/class/rtc'), { recursive: true });
    expect(await evidence(true).detectSource()).toBe('network');
  });

  test('timesyncd has had an answer', async () => {
    mkdirSync(join(root, 'sys/class/rtc'), { recursive: true });
    write('run/systemd/timesync/synchronized', '');
    expect(await evidence().detectSource()).toBe('network');
  });

  test('a machine without the class of hardware clocks has a host', async () => {
    expect(await evidence().detectSource()).toBe('host');
  });

  test('a board without a hardware clock has nothing', async () => {
    mkdirSync(join(root, 'sys/class/rtc'), { recursive: true });
    expect(await evidence().detectSource()).toBeUndefined();
  });

  test.each([
    ['the same time', SYSTEM_MS / 1000 + 1, 'hardware'],
    ['1970, since its battery is missing', 12, undefined],
    ['another day', SYSTEM_MS / 1000 - 86_400, undefined],
    ['nonsense', 'x', undefined],
  ])('a hardware clock that shows %s', async (_name, seconds, found) => {
    write('sys/class/rtc/rtc0/since_epoch', `${seconds}\n`);
    expect(await evidence().detectSource()).toBe(found);
  });

  test('a hardware clock that cannot be read is none', async () => {
    mkdirSync(join(root, 'sys/class/rtc/rtc0'), { recursive: true });
    expect(await evidence().detectSource()).toBeUndefined();
  });

  test('the boot has an id, or an empty one where the kernel tells none', () => {
    write('proc/sys/kernel/random/boot_id', 'c0ffee\n');
    expect(evidence().bootId()).toBe('c0ffee');
    rmSync(join(root, 'proc'), { recursive: true });
    expect(evidence().bootId()).toBe('');
  });

  test('this very machine answers, kernel included', async () => {
    const machine = new SystemClockEvidence();
    expect(['network', 'hardware', 'host', undefined]).toContain(await machine.detectSource());
    expect(machine.bootId()).toMatch(/^[0-9a-f-]{36}$/);
    expect(machine.uptimeMs()).toBeGreaterThan(0);
  });
});

test('the hub was built in the past, and not long before it was written', () => {
  expect(buildTimeMs()).toBeLessThanOrEqual(Date.now());
  expect(buildTimeMs()).toBeGreaterThan(Date.UTC(2025, 0, 1));
});
