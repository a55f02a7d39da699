import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeAptRepository } from '../../../scripts/package/apt-repository.ts';
import { debianArchitecture, THIS_ARCHITECTURE } from '../../../scripts/package/debian-architecture.ts';
import { writeDebianArchive } from '../../../scripts/package/debian-archive.ts';
import { SigningKey } from '../../../scripts/package/signing-key.ts';
import { until } from '../../matter/device-hub.ts';
import { DebianMachine, LOOK_MS, missingForMachine } from './debian-machine.ts';
import { layOutOnce, PACKAGE_TIME } from './package-tree.ts';

const missing = await missingForMachine();
const LIMIT_MS = 240_000;
/** Five packages are built while others use the processors. */
const BUILD_LIMIT_MS = 480_000;
const NOTES = '/var/lib/atmosphere-edge-upgrade';
const STATE = '/var/lib/atmosphere-edge';
const MAIN = 'usr/lib/atmosphere-edge/dist/atmo.mjs';
/** What stands in the place of the program in versions that do not come up. */
const POISON = { '0.3.0': 'process.exit(0);\n', '0.4.0': 'setInterval(() => undefined, 1_000_000);\n' } as const;
/** The version that closes a security hole of all before it. */
const CLOSES_HOLE = '0.5.0';
const VERSIONS = ['0.1.0', '0.2.0', ...Object.keys(POISON), CLOSES_HOLE];

interface AgentResult {
  readonly isError?: boolean;
  readonly structuredContent: Record<string, unknown>;
}

let dir: string;
let machine: DebianMachine;

const statusOf = async () => JSON.parse(await machine.must('atmo status --json'));
const record = async () => JSON.parse(await machine.must(`cat ${NOTES}/record.json`));
const installed = async (): Promise<string> => (await machine.must('dpkg-query --show atmosphere-edge')).split(/\s+/)[1] ?? '';
/** Asks without `atmo`: that of a version that hangs hangs too, until the version before is installed. */
const answers = async (): Promise<boolean> => (await machine.run('curl -sf -m 5 http://127.0.0.1:8081/healthz')).status === 0;
const withToken = (token: string): Promise<string> =>
  machine.must(`curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer ${token}' http://127.0.0.1:8081/api/v1/tools`);
const mint = (agent: string): Promise<string> => machine.must(`atmo token mint --agent ${agent} --allow 'device:read:*' --ttl 1d`);
const tokenOf = async (agent: string): Promise<string> => {
  const { tokens } = JSON.parse(await machine.must('atmo tokens --json')) as { tokens: { token_id: string; agent_id: string }[] };
  return tokens.find(({ agent_id: named }) => named === agent)?.token_id ?? '';
};
/** Lets an agent ask for what needs a person, and the owner agree. The agent does not use the approval. */
async function approve(agent: string): Promise<string> {
  const token = await machine.must(`atmo token mint --agent ${agent} --allow admin:approvals --ttl 1d`);
  const call = `-H 'Authorization: Bearer ${token}' --json '{"key_id":"0123456789abcdef"}' http://127.0.0.1:8081/api/v1/tools/hub%3Aremove_approver/invoke`;
  const { error } = JSON.parse(await machine.must(`curl -s ${call}`)) as { error: { details: { approval_id: string } } };
  await machine.must(`atmo approve ${error.details.approval_id}`);
  return error.details.approval_id;
}
const approval = async (id: string) => JSON.parse(await machine.must(`atmo approvals ${id} --json`));
const fabric = (): Promise<string> => machine.must(`cat ${STATE}/matter/fabric.json`);
/** Number of rows in the journal, whose chain is intact. */
const auditRows = async (): Promise<number> => Number(JSON.parse(await machine.must('atmo audit verify --json')).rows);
const publish = (version: string): Promise<string> => machine.must(`cp -r /srv/${version}/. /srv/apt/ && apt-get -q update`);
const upgrade = () => machine.must('apt-get install --yes --only-upgrade atmosphere-edge 2>&1');
/** Whether nothing is left to do: the hub is started once more after the version before was installed. */
const isDone = async () =>
  (await machine.run('! systemctl is-active atmosphere-edge-upgrade && systemctl is-active atmosphere-edge')).status === 0;
/** What an agent gets from a program that starts `atmo mcp` with the token of that agent alone: the result of each call. */
async function callsOf(token: string, calls: readonly object[]): Promise<readonly AgentResult[]> {
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'first', version: '1' } };
  const requests = [{ method: 'initialize', params: hello }, ...calls.map((params) => ({ method: 'tools/call', params }))];
  const lines = requests.map((request, id) => JSON.stringify({ jsonrpc: '2.0', id, ...request }));
  machine.write('/srv/requests', `${lines.join('\n')}\n`);
  // A client keeps stdin open until it has its answers.
  const client = `{ cat requests; until [ "$(wc -l <answers)" -ge ${lines.length} ]; do sleep 0.1; done; }`;
  await machine.must(`cd /srv && : >answers && ${client} | ATMO_TOKEN=${token} atmo mcp >answers`);
  const answers = (await machine.must('cat /srv/answers')).split('\n').map((line) => JSON.parse(line));
  return calls.map((_, index) => answers.find(({ id }) => id === index + 1)?.result);
}
const settled = (step: string) =>
  until(async () => (await record()).step === step && (await isDone()) && (await answers()), LIMIT_MS, LOOK_MS);

/** The same program as several releases in one repository of the machine, with the index as it was after each of them. */
async function buildReleases(): Promise<void> {
  const architecture = debianArchitecture(THIS_ARCHITECTURE);
  const root = join(dir, 'tree');
  await layOutOnce(root);
  cpSync(join(root, MAIN), join(dir, 'main.mjs'));
  using key = SigningKey.open(throwAwayKey());
  for (const version of VERSIONS) {
    cpSync(join(dir, 'main.mjs'), join(root, MAIN));
    if (version in POISON) writeFileSync(join(root, MAIN), POISON[version as keyof typeof POISON]);
    const file = join(dir, `atmosphere-edge_${version}_${architecture.name}.deb`);
    const securityMinimum = version === CLOSES_HOLE ? CLOSES_HOLE : '0.1.0';
    await writeDebianArchive(
      { root, version, securityMinimum, architecture: architecture.name, time: PACKAGE_TIME, compression: 'quick' },
      file,
    );
    const folder = join(machine.root, 'srv/apt');
    writeAptRepository({ folder, packages: [file], architectures: [architecture.name], time: PACKAGE_TIME, key });
    cpSync(join(folder, 'dists'), join(machine.root, 'srv', version, 'dists'), { recursive: true });
    rmSync(file);
  }
  rmSync(root, { recursive: true });
}

function throwAwayKey(): string {
  const home = mkdtempSync(join(tmpdir(), 'atmo-key-'));
  const gpg = (...args: string[]) => execFileSync('gpg', ['--homedir', home, '--batch', '--quiet', ...args], { stdio: 'pipe' });
  gpg('--passphrase', '', '--quick-gen-key', 'Owner <owner@example.org>', 'ed25519', 'sign', 'never');
  writeFileSync(join(dir, 'secret.asc'), gpg('--armor', '--export-secret-keys'));
  execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']);
  rmSync(home, { recursive: true });
  return join(dir, 'secret.asc');
}

describe.skipIf(missing !== undefined)(`upgrades of the package${missing === undefined ? '' : ` (${missing})`}`, () => {
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'atmo-upgrade-'));
    machine = DebianMachine.create();
    await buildReleases();
    await machine.boot();
    await machine.must('rm -f /etc/apt/sources.list && mkdir -p /etc/apt/keyrings /srv/apt');
  }, BUILD_LIMIT_MS);
  afterAll(async () => {
    await machine[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  test(
    'from an empty Debian to the first call of an agent it takes three minutes at most',
    async () => {
      const beganMs = performance.now();
      const line = 'deb [signed-by=/etc/apt/keyrings/atmosphere-edge.asc] file:/srv/apt stable main';
      machine.write('/etc/apt/sources.list.d/atmosphere-edge.list', `${line}\n`);
      await machine.must('cp /srv/apt/atmosphere-edge.asc /etc/apt/keyrings/');
      await publish('0.1.0');
      await machine.must('apt-get install --yes atmosphere-edge');
      const [sensors, refused] = await callsOf(await mint('first'), [
        { name: 'read_tool', arguments: { name: 'list_sensors' } },
        { name: 'read_tool', arguments: { name: 'list_tokens' } },
      ]);
      expect(sensors).toMatchObject({ structuredContent: { sensors: expect.any(Array) } });
      expect(performance.now() - beganMs).toBeLessThan(180_000);
      expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'TOOL_NOT_FOUND' } });
      expect(await machine.must('atmo audit tail --agent first --json')).toContain('list_sensors');
    },
    LIMIT_MS,
  );

  test(
    'an upgrade keeps the hub, its settings and its tokens, and says which version was before',
    async () => {
      // A hub makes its Matter fabric at the first use of Matter.
      await machine.must("echo 'long enough' | atmo credentials wifi home 'Our net'");
      const [{ node_id: id }, token, keys] = [await statusOf(), await mint('keeper'), await fabric()];
      machine.write('/etc/atmosphere-edge/config.yaml', '# mine\nlog: debug\n');
      await publish('0.2.0');
      await upgrade();
      await settled('settled');
      expect(await record()).toMatchObject({ step: 'settled', from: '0.1.0', to: '0.2.0' });
      expect(await statusOf()).toMatchObject({ node_id: id });
      expect([await withToken(token), await fabric()]).toEqual(['200', keys]);
      expect(
        (await machine.run('systemctl start atmosphere-edge-upgrade && systemctl is-active atmosphere-edge-upgrade')).output.trim(),
      ).toBe('inactive');
    },
    LIMIT_MS,
  );

  test(
    'what was revoked after an upgrade stays revoked when the owner goes back, and no entry of the journal is lost',
    async () => {
      const [{ node_id: id }, token, gone] = [await statusOf(), await mint('stays'), await mint('revoked')];
      await machine.must(`atmo token revoke ${await tokenOf('revoked')}`);
      const [rows, keys, given] = [await auditRows(), await fabric(), await approve('asker')];
      const agreed = await approval(given);
      expect(agreed).toMatchObject({ approval_id: given, state: 'approved' });
      await machine.must('atmo upgrade back 2>&1');
      await until(answers, LIMIT_MS, LOOK_MS);
      expect([await installed(), (await record()).step]).toEqual(['0.1.0', 'rolled-back']);
      expect([await withToken(token), await withToken(gone)]).toEqual(['200', '401']);
      expect(await statusOf()).toMatchObject({ node_id: id });
      expect([await fabric(), await approval(given)]).toEqual([keys, agreed]);
      expect(await auditRows()).toBeGreaterThan(rows);
      expect(await machine.must('cat /etc/atmosphere-edge/config.yaml')).toBe('# mine\nlog: debug');
      expect(await machine.must('dpkg --verify atmosphere-edge')).toMatch(/^(\?\?5\?{6} c \/etc\/atmosphere-edge\/config\.yaml)?$/);
      // apt does not bring the version again by itself.
      expect(await upgrade()).toContain('0 upgraded');
    },
    LIMIT_MS,
  );

  test.each(Object.keys(POISON))(
    'after version %s, which does not come up, the one before runs again within two minutes, and is installed',
    async (version) => {
      const [{ node_id: id }, token, before] = [await statusOf(), await mint(`before-${version}`), await installed()];
      await publish(version);
      const beganMs = performance.now();
      await upgrade();
      await until(async () => (await record()).step.startsWith('roll') && (await answers()), LIMIT_MS, LOOK_MS);
      expect(performance.now() - beganMs).toBeLessThan(120_000);
      // The command is that of the version that runs, long before dpkg has installed it.
      expect(await machine.must('timeout 30 atmo --version')).toMatch(/^\d/);
      await settled('rolled-back');
      expect(await record()).toMatchObject({ from: before, to: version, reason: version === '0.3.0' ? 'ended' : 'no_answer' });
      expect(await installed()).toBe(before);
      expect(await withToken(token)).toBe('200');
      expect(await statusOf()).toMatchObject({ node_id: id });
      expect(await machine.must('atmo status')).toContain(`The upgrade to ${version} was not kept`);
      expect(
        (await machine.run('test -e /usr/lib/atmosphere-edge-previous || test -e /etc/systemd/system/atmosphere-edge.service')).status,
      ).toBe(1);
      expect(await upgrade()).toContain('0 upgraded');
    },
    LIMIT_MS,
  );

  test(
    'the way back leads to the last version that came up, and goes on after its watch was killed',
    async () => {
      await machine.must('rm /etc/apt/preferences.d/atmosphere-edge-avoided');
      await machine.must('apt-get install --yes atmosphere-edge=0.2.0 2>&1');
      await machine.must('apt-get install --yes atmosphere-edge=0.3.0 2>&1');
      await until(async () => (await record()).step === 'rolling-back', LIMIT_MS, LOOK_MS);
      await machine.must('systemctl kill --signal=SIGKILL atmosphere-edge-upgrade.service');
      await settled('rolled-back');
      expect(await record()).toMatchObject({ from: '0.1.0', to: '0.3.0', reason: 'ended' });
      expect(await installed()).toBe('0.1.0');
    },
    LIMIT_MS,
  );

  test(
    'a dpkg that ends before it has configured the package leaves a hub that runs, and an older package that apt is given is watched too',
    async () => {
      await machine.must('dpkg --unpack /srv/apt/pool/main/a/atmosphere-edge/atmosphere-edge_0.2.0_*.deb 2>&1');
      await settled('settled');
      expect([await installed(), await machine.must('cat /etc/apt/preferences.d/atmosphere-edge-avoided')]).toEqual([
        '0.2.0',
        expect.not.stringContaining('Pin: version 0.2.0'),
      ]);
      expect(await record()).toMatchObject({ from: '0.1.0', to: '0.2.0' });
      const [keys, token] = [await fabric(), await mint('downgrade')];
      await machine.must('apt-get install --yes --allow-downgrades /srv/apt/pool/main/a/atmosphere-edge/atmosphere-edge_0.1.0_*.deb 2>&1');
      await settled('settled');
      expect(await record()).toMatchObject({ from: '0.2.0', to: '0.1.0' });
      expect([await installed(), await fabric(), await withToken(token)]).toEqual(['0.1.0', keys, '200']);
    },
    LIMIT_MS,
  );

  test(
    'a version that closes a security hole is the lowest that can be installed from then on',
    async () => {
      await publish(CLOSES_HOLE);
      await upgrade();
      await settled('settled');
      const back = await machine.run('atmo upgrade back');
      expect([back.status === 0, back.complaint]).toEqual([false, expect.stringContaining('known security hole')]);
      const older = await machine.run('apt-get install --yes --allow-downgrades atmosphere-edge=0.2.0 2>&1');
      expect([older.status === 0, older.output]).toEqual([false, expect.stringContaining('has a security hole that 0.5.0 closed')]);
      expect([await installed(), await answers()]).toEqual([CLOSES_HOLE, true]);
    },
    LIMIT_MS,
  );
});
