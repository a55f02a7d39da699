import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hasGpu, NetworkRoutes } from '../../src/hub/capabilities.ts';
import { ManualClock } from '../manual-clock.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'machine-'));
});

afterEach(() => rmSync(root, { recursive: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

const HEAD = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n';
const DEFAULT = 'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n';
const LAN = 'eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n';
const LINK_LOCAL = 'eth0\t0000FEA9\t00000000\t0001\t0\t0\t1000\t0000FFFF\t0\t0\t0\n';
const zeros = '0'.repeat(32);
const six = (destination: string, length: string, flags: string, device: string) =>
  `${destination} ${length} ${zeros} 00 ${zeros} 00000400 00000001 00000000 ${flags} ${device.padStart(8)}\n`;
const OWN_6 = [
  six(`${'0'.repeat(31)}1`, '80', '80200001', 'lo'),
  six(`fe80${'0'.repeat(28)}`, '40', '00000001', 'eth0'),
  six(`fd00${'0'.repeat(27)}2`, '80', '80200001', 'eth0'),
  six(`ff00${'0'.repeat(28)}`, '08', '00000001', 'eth0'),
  six(zeros, '00', '00200200', 'lo'),
].join('');

describe('a hub has a network', () => {
  test.each([
    ['with a default route', HEAD + DEFAULT + LAN, OWN_6, true],
    ['with a house and no internet', HEAD + LAN, '', true],
    ['by IPv6 alone', HEAD, OWN_6 + six(zeros, '00', '00000003', 'eth0'), true],
    ['not without any route', HEAD, '', false],
    ['not with routes to itself and its link alone', HEAD + LINK_LOCAL, OWN_6, false],
    ['not by a route that refuses', `${HEAD}eth0\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n`, '', false],
  ])('%s', (_what, four, sixth, isOnline) => {
    write({ 'proc/net/route': four, 'proc/net/ipv6_route': sixth });
    expect(new NetworkRoutes(new ManualClock(), root).isOnline()).toBe(isOnline);
  });

  test('not by an interface that is down', () => {
    write({ 'proc/net/route': HEAD + DEFAULT, 'sys/class/net/eth0/operstate': 'down\n' });
    expect(new NetworkRoutes(new ManualClock(), root).isOnline()).toBe(false);
  });

  test('where the kernel does not say, as far as anybody knows', () => {
    expect(new NetworkRoutes(new ManualClock(), root).isOnline()).toBe(true);
  });

  test('as it was some seconds ago, and soon as it is', async () => {
    const clock = new ManualClock();
    const routes = new NetworkRoutes(clock, root);
    write({ 'proc/net/route': HEAD });
    expect(routes.isOnline()).toBe(false);
    write({ 'proc/net/route': HEAD + DEFAULT });
    expect(routes.isOnline()).toBe(false);
    clock.advance(3_000);
    expect(routes.isOnline()).toBe(true);
  });
});

describe('a machine has a GPU', () => {
  test.each([
    ['of NVIDIA', { 'dev/nvidia0': '' }, true],
    ['in the form of a Hailo', { 'dev/hailo0': '' }, true],
    ['on which models run', { 'dev/dri/renderD128': '', 'sys/class/drm/renderD128/device/uevent': 'DRIVER=i915\nPCI_ID=1\n' }, true],
    ['and a Raspberry Pi has none', { 'dev/dri/renderD128': '', 'sys/class/drm/renderD128/device/uevent': 'DRIVER=v3d\n' }, false],
    ['and a screen is none', { 'dev/dri/card0': '', 'dev/null0': '' }, false],
  ])('%s', (_what, files, has) => {
    write(files);
    expect(hasGpu(root)).toBe(has);
  });
});
