import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../../scripts/bundle.ts';
import { debianArchitecture, THIS_ARCHITECTURE } from '../../../scripts/package/debian-architecture.ts';
import { writeDebianArchive } from '../../../scripts/package/debian-archive.ts';
import { until } from '../../matter/device-hub.ts';
import { DebianMachine, LOOK_MS, missingForMachine } from './debian-machine.ts';
import { layOutOnce, PACKAGE_TIME } from './package-tree.ts';

const missing = await missingForMachine();
/** Where they lie in the machine. */
const PACKAGES = '/srv';
const STATE = '/var/lib/atmosphere-edge';
/** A package is built and machines boot while others use the processors. */
const BOOT_LIMIT_MS = 180_000;

/** A tool that the owner wrote badly: it never gives the hub its thread back. */
const STUCK_TOOL = `export function createTool() {
  const definition = {
    name: 'get_stuck', version: '1.0.0', description: 'Never returns and lets nothing else run, for a test of the watchdog',
    parameters: { type: 'object', properties: {}, additionalProperties: false }, returns: { type: 'object' },
    permissions: ['test:stuck'],
  };
  return { definition, execute() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); } };
}
`;

const SANDBOX_CONFIG = `connectors:
  sandbox: { commands: { who_runs: { description: Tells who runs it, argv: [/usr/bin/id, -u], approval: false } } }
`;

let dir: string;
let machine: DebianMachine;
/** What the probe of the walk had said when its backup was made. */
let before: readonly unknown[];

const stateOf = async (unit: string): Promise<string> => (await machine.run(`systemctl is-active ${unit}`)).output.trim();
const property = async (name: string): Promise<string> => machine.must(`systemctl show atmosphere-edge --property ${name} --value`);
const isUp = async (): Promise<boolean> => (await stateOf('atmosphere-edge')) === 'active';
const history = async (): Promise<readonly unknown[]> =>
  JSON.parse(await machine.must('atmo read w1-28-000005e2fdc3/temperature --since 1h --json')).points;
const hubId = async (): Promise<string> => JSON.parse(await machine.must('atmo status --json')).node_id;

/** The package as two releases; only their numbers differ. */
async function buildReleases(): Promise<void> {
  const architecture = debianArchitecture(THIS_ARCHITECTURE);
  const root = join(dir, 'tree');
  await layOutOnce(root);
  for (const version of ['0.1.0', '0.2.0']) {
    const archive = {
      root,
      version,
      securityMinimum: '0.1.0',
      architecture: architecture.name,
      time: PACKAGE_TIME,
      compression: 'none',
    } as const;
    await writeDebianArchive(archive, join(dir, `${version}.deb`));
  }
  rmSync(root, { recursive: true });
}

/** The commands that the page shows in blocks of shell, for this machine, with a passphrase where the first block set one. */
function walkOf(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll('_arm64.deb', `_${THIS_ARCHITECTURE}.deb`);
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  const passphrase = /^export .*$/m.exec(blocks.join(''))?.[0] ?? '';
  return blocks.map((block) => ['set -e', `cd ${PACKAGES}`, passphrase, block].join('\n'));
}

describe.skipIf(missing !== undefined)(`the package on a Debian with systemd${missing === undefined ? '' : ` (${missing})`}`, () => {
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'atmo-package-'));
    await buildReleases();
    machine = DebianMachine.create();
    machine.copyIn(join(dir, '0.1.0.deb'), `${PACKAGES}/atmosphere-edge_0.1.0_${THIS_ARCHITECTURE}.deb`);
    machine.copyIn(join(dir, '0.2.0.deb'), `${PACKAGES}/newer.deb`);
    await machine.boot();
  }, BOOT_LIMIT_MS);
  afterAll(async () => {
    await machine[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  test(
    'the page for newcomers leads from the package to a history and a backup; the hub runs as a user of its own, and its state is private',
    async () => {
      const [first = ''] = walkOf('docs/install.md');
      expect(await machine.must(first)).toContain('21.437');
      expect(await stateOf('atmosphere-edge')).toBe('active');
      expect(await machine.must('systemctl is-enabled atmosphere-edge')).toBe('enabled');
      expect(await machine.must(`stat -c '%U %a' ${STATE}`)).toBe('atmosphere-edge 700');
      expect(await machine.must('dpkg --verify atmosphere-edge | grep -v /etc/atmosphere-edge/config.yaml || true')).toBe('');
      expect(await machine.must('sudo atmo status')).toContain('http://127.0.0.1:8081');
      expect(await machine.must('id -nG atmosphere-edge')).toContain('gpio i2c spi');
      before = await history();
      expect(before.length).toBeGreaterThan(0);
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
    'a hub that hangs is ended, its outputs are made safe, and it is started again',
    async () => {
      // A hub that only waits for a processor must not be ended again and again: systemd gives up after five starts in two minutes.
      machine.write('/etc/systemd/system/atmosphere-edge.service.d/watchdog.conf', '[Service]\nWatchdogSec=20\nRestartSec=0\n');
      machine.write('/etc/atmosphere-edge/stuck.mjs', STUCK_TOOL);
      machine.write('/etc/atmosphere-edge/tools.yaml', 'tools: [{ name: get_stuck, source: "file:/etc/atmosphere-edge/stuck.mjs" }]\n');
      const outputs = 'sensors: { gpio: { backend: sim, outputs: { pump: { line: GPIO27 } } } }';
      machine.write('/etc/atmosphere-edge/config.yaml', `tools: { manifest: /etc/atmosphere-edge/tools.yaml }\n${outputs}\n`);
      await machine.must('systemctl daemon-reload && systemctl restart atmosphere-edge');
      const stuckPid = await property('MainPID');
      void machine.run('atmo call get_stuck');
      await until(async () => Number(await property('NRestarts')) > 0 && (await isUp()), BOOT_LIMIT_MS / 2, LOOK_MS);
      const journal = () => machine.must('journalctl -u atmosphere-edge');
      await expect.poll(journal, { interval: 500 }).toMatch(/Watchdog timeout[\s\S]*outputs safe: pump off[\s\S]*Started/);
      expect(await property('MainPID')).not.toBe(stuckPid);
      expect(await machine.must('atmo status')).toContain('http://127.0.0.1:8081');
      await machine.must('rm /etc/systemd/system/atmosphere-edge.service.d/watchdog.conf && systemctl daemon-reload');
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
      await machine.must(`apt-get install --yes -o Dpkg::Options::=--force-confdef ${PACKAGES}/newer.deb`);
      expect(await machine.must('dpkg-query --show atmosphere-edge')).toMatch(/0\.2\.0$/);
      expect(await stateOf('atmosphere-edge')).toBe('active');
      expect(await hubId()).toBe(id);
      expect(await machine.must('cat /etc/atmosphere-edge/config.yaml')).toContain('# mine');
      await machine.must('systemctl reload atmosphere-edge');
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
      await machine.must(`apt-get install --yes ${PACKAGES}/newer.deb`);
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
    'the page for newcomers leads to the same history on an empty board',
    async () => {
      const [, second = ''] = walkOf('docs/install.md');
      expect(await machine.must(second)).toContain('21.437');
      expect((await history()).slice(0, before.length)).toEqual(before);
      expect(await machine.must('atmo sensors')).toContain('reachable');
    },
    BOOT_LIMIT_MS,
  );
});
