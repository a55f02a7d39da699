import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../../scripts/bundle.ts';
import { debianArchitecture, THIS_ARCHITECTURE } from '../../../scripts/package/debian-architecture.ts';
import { writeDebianArchive } from '../../../scripts/package/debian-archive.ts';
import { layOutPackage } from '../../../scripts/package/debian-tree.ts';
import { until } from '../../matter/device-hub.ts';
import { DebianMachine, missingForMachine } from './debian-machine.ts';

const missing = missingForMachine();
const STATE = '/var/lib/atmosphere-edge';
const TIME = new Date('2026-01-01T00:00:00Z');
/** A package is built and machines boot while others use the processors. */
const BOOT_LIMIT_MS = 180_000;

/** A tool that the owner wrote badly: it never gives the hub its thread back. */
const STUCK_TOOL = `export function createTool() {
  const definition = {
    name: 'get_stuck', version: '1.0.0', description: 'Never returns and lets nothing else run, for a test of the watchdog',
    parameters: { type: 'object', properties: {}, additionalProperties: false }, returns: { type: 'object' },
    permissions: ['test:stuck'],
  };
  return { definition, execute() { for (;;) Math.sqrt(2); } };
}
`;

const SANDBOX_CONFIG = `connectors:
  sandbox: { commands: { who_runs: { description: Tells who runs it, argv: [/usr/bin/id, -u], approval: false } } }
`;

let dir: string;
let machine: DebianMachine;

const stateOf = async (unit: string): Promise<string> => (await machine.run(`systemctl is-active ${unit}`)).output.trim();
const property = async (name: string): Promise<string> => machine.must(`systemctl show atmosphere-edge --property ${name} --value`);
const isUp = async (): Promise<boolean> => (await stateOf('atmosphere-edge')) === 'active';
const hubId = async (): Promise<string> => JSON.parse(await machine.must('atmo status --json')).node_id;

/** The package as two releases; only their numbers differ. */
async function buildReleases(): Promise<void> {
  const architecture = debianArchitecture(THIS_ARCHITECTURE);
  const root = join(dir, 'tree');
  await layOutPackage(root, architecture, TIME);
  for (const version of ['1.0.0', '1.1.0']) {
    const archive = { root, version, architecture: architecture.name, time: TIME, compression: 'none' } as const;
    await writeDebianArchive(archive, join(dir, `${version}.deb`));
  }
  rmSync(root, { recursive: true });
}

/** The commands that the page shows in blocks of shell, for this machine, with a passphrase where the first block set one. */
function walkOf(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll('_arm64.deb', `_${THIS_ARCHITECTURE}.deb`);
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  const passphrase = /^export .*$/m.exec(blocks.join(''))?.[0] ?? '';
  return blocks.map((block) => ['set -e', 'cd /root', passphrase, block].join('\n'));
}

describe.skipIf(missing !== undefined)(`the package on a Debian with systemd${missing === undefined ? '' : ` (${missing})`}`, () => {
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'atmo-package-'));
    await buildReleases();
    machine = DebianMachine.create();
    for (const version of ['1.0.0', '1.1.0']) machine.copyIn(join(dir, `${version}.deb`), `/root/${version}.deb`);
    machine.copyIn(join(dir, '1.1.0.deb'), `/root/atmosphere-edge_0.1.0_${THIS_ARCHITECTURE}.deb`);
    await machine.boot();
  }, BOOT_LIMIT_MS);
  afterAll(async () => {
    await machine[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  test(
    'apt installs it, the hub runs as a user of its own, and its state is private',
    async () => {
      await machine.must('apt-get install --yes /root/1.0.0.deb');
      expect(await stateOf('atmosphere-edge')).toBe('active');
      expect(await machine.must('systemctl is-enabled atmosphere-edge')).toBe('enabled');
      expect(await machine.must(`stat -c '%U %a' ${STATE}`)).toBe('atmosphere-edge 700');
      expect(await machine.must('dpkg --verify atmosphere-edge')).toBe('');
      expect(await machine.must('sudo atmo status')).toContain('http://127.0.0.1:8081');
      expect(await machine.must('id -nG atmosphere-edge')).toContain('gpio i2c spi');
    },
    BOOT_LIMIT_MS,
  );

  test('systemd accepts the unit and finds it exposed by at most 2.5 of 10', async () => {
    expect(await machine.must('systemd-analyze verify --man=no atmosphere-edge.service 2>&1')).toBe('');
    await machine.must('systemd-analyze security --threshold=25 atmosphere-edge.service');
  });

  test('the process has no rights that it could lose', async () => {
    const status = await machine.must(`cat /proc/${await property('MainPID')}/status`);
    expect(status).toMatch(/^NoNewPrivs:\s1$/m);
    expect(status).toMatch(/^CapBnd:\s0{16}$/m);
    expect(status).toMatch(/^Seccomp:\s2$/m);
  });

  test(
    'a hub that hangs is ended and started again',
    async () => {
      machine.write('/etc/systemd/system/atmosphere-edge.service.d/watchdog.conf', '[Service]\nWatchdogSec=4\nRestartSec=0\n');
      machine.write('/etc/atmosphere-edge/stuck.mjs', STUCK_TOOL);
      machine.write('/etc/atmosphere-edge/tools.yaml', 'tools: [{ name: get_stuck, source: "file:/etc/atmosphere-edge/stuck.mjs" }]\n');
      machine.write('/etc/atmosphere-edge/config.yaml', 'tools: { manifest: /etc/atmosphere-edge/tools.yaml }\n');
      await machine.must('systemctl daemon-reload && systemctl restart atmosphere-edge');
      const stuckPid = await property('MainPID');
      void machine.run('atmo call get_stuck');
      await until(async () => (await property('NRestarts')) === '1' && (await isUp()), 40_000);
      expect(await machine.must('journalctl -u atmosphere-edge')).toContain('Watchdog timeout');
      expect(await property('MainPID')).not.toBe(stuckPid);
      expect(await machine.must('atmo status')).toContain('http://127.0.0.1:8081');
    },
    BOOT_LIMIT_MS,
  );

  test(
    'programs run in a sandbox once the drop-in of the package is there, and not before',
    async () => {
      machine.write('/etc/atmosphere-edge/config.yaml', SANDBOX_CONFIG);
      await machine.must('systemctl restart atmosphere-edge');
      expect((await machine.run('atmo call who_runs')).complaint).toContain('NOT_CONFIGURED');
      const [, commands = ''] = /\n( {6}sudo mkdir[\s\S]*?)\n\n/.exec(readFileSync(join(ROOT, 'docs/install.md'), 'utf8')) ?? [];
      await machine.must(commands);
      expect(await machine.must('atmo call who_runs')).toMatch(/stdout +\d+/);
      await machine.must('systemd-analyze security --threshold=30 atmosphere-edge.service');
    },
    BOOT_LIMIT_MS,
  );

  test(
    'an upgrade keeps state, settings and tokens',
    async () => {
      const [id, token] = [await hubId(), await machine.must("atmo token mint --agent reader --allow 'device:read:*' --ttl 1d")];
      machine.write('/etc/atmosphere-edge/config.yaml', '# mine\nlog: debug\n');
      await machine.must('apt-get install --yes -o Dpkg::Options::=--force-confdef /root/1.1.0.deb');
      expect(await machine.must('dpkg-query --show atmosphere-edge')).toMatch(/1\.1\.0$/);
      expect(await stateOf('atmosphere-edge')).toBe('active');
      expect(await hubId()).toBe(id);
      expect(await machine.must('cat /etc/atmosphere-edge/config.yaml')).toContain('# mine');
      const answer = await machine.must(
        `curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer ${token}' http://127.0.0.1:8081/api/v1/devices`,
      );
      expect(answer).toBe('200');
    },
    BOOT_LIMIT_MS,
  );

  test(
    'removal keeps state and settings, and a new installation goes on with them',
    async () => {
      const id = await hubId();
      await machine.must('apt-get remove --yes atmosphere-edge');
      expect((await machine.run('command -v atmo')).status).not.toBe(0);
      expect(await stateOf('atmosphere-edge')).not.toBe('active');
      await machine.must(`test -s /etc/atmosphere-edge/config.yaml && test -e ${STATE}/owner.key`);
      await machine.must('apt-get install --yes /root/1.1.0.deb');
      expect(await hubId()).toBe(id);
    },
    BOOT_LIMIT_MS,
  );

  test(
    'a purge leaves nothing of the hub',
    async () => {
      await machine.must('apt-get purge --yes atmosphere-edge');
      for (const left of [STATE, '/var/cache/atmosphere-edge', '/etc/atmosphere-edge', '/usr/lib/atmosphere-edge']) {
        expect((await machine.run(`test -e ${left}`)).status, left).toBe(1);
      }
    },
    BOOT_LIMIT_MS,
  );

  test(
    'the page for newcomers leads from the package to a history, and to the same history on an empty board',
    async () => {
      const [first = '', second = ''] = walkOf('docs/install.md');
      const history = `atmo read w1-28-000005e2fdc3/temperature --since 1h --json`;
      expect(await machine.must(first)).toContain('21.437');
      const before = JSON.parse(await machine.must(history)).points;
      expect(before.length).toBeGreaterThan(0);
      await machine.must('apt-get purge --yes atmosphere-edge');
      expect(await machine.must(second)).toContain('21.437');
      const after = JSON.parse(await machine.must(history)).points;
      expect(after.slice(0, before.length)).toEqual(before);
    },
    BOOT_LIMIT_MS,
  );
});
