import { chmodSync, chownSync, closeSync, existsSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { endpointChecks } from '../../../src/cli/doctor/hub-checks.ts';
import { hubMachineChecks, stateChecks, tokenCheck } from '../../../src/cli/doctor/own-state.ts';
import { schemaChecks } from '../../../src/cli/doctor/tool-checks.ts';
import { HubClient } from '../../../src/cli/hub/hub-client.ts';
import type { CheckResult } from '../../../src/doctor/check-result.ts';
import { clockCheck, memoryBoundCheck, memoryProfileCheck, networkTimeCheck, nodeCheck } from '../../../src/doctor/machine-checks.ts';
import { configuredMemory } from '../../../src/hub/config/config-check.ts';
import { agent } from '../../calls/pipeline-fixture.ts';
import { authenticatorOf, makeDevice, makeHttpApi, TOKEN } from '../../http/http-fixture.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

function stateOf(checks: readonly CheckResult[], name: string): string | undefined {
  return checks.find(({ check }) => check === name)?.state;
}

describe('checks of the machine', () => {
  test('an old Node and a clock before the release of this version are failures', () => {
    expect([nodeCheck('24.1.0').state, nodeCheck('20.19.1').state]).toEqual(['ok', 'failed']);
    expect([clockCheck(Date.UTC(2027, 0)).state, clockCheck(5_000).state]).toEqual(['ok', 'failed']);
  });

  test.skipIf(existsSync('/run/systemd/timesync/synchronized'))('a clock that the network does not keep is told', async () => {
    const stateFor = async (answer: string | undefined) => (await networkTimeCheck(async () => answer)).state;
    expect((await networkTimeCheck(async () => 'no\n')).advice).toContain('apt install systemd-timesyncd');
    expect([await stateFor('yes\n'), await stateFor('no\n'), await stateFor(undefined)]).toEqual(['ok', 'warning', 'ok']);
  });

  test('a kernel that enforces no memory limits is a warning, as on a new Raspberry Pi OS', async () => {
    await withDirectory(async (dir) => {
      expect(memoryBoundCheck(dir).state).toBe('ok');
      writeFileSync(`${dir}/cgroup.controllers`, 'cpuset cpu io pids\n');
      expect(memoryBoundCheck(dir)).toMatchObject({ state: 'warning', advice: expect.stringContaining('cgroup_enable=memory') });
      writeFileSync(`${dir}/cgroup.controllers`, 'cpuset cpu io memory pids\n');
      expect(memoryBoundCheck(dir).state).toBe('ok');
    });
  });

  test('a board with 512 MB and without the memory profile for it is a warning', () => {
    expect(memoryProfileCheck('normal', 430 * 1_048_576)).toMatchObject({
      state: 'warning',
      advice: expect.stringContaining('memory: small'),
    });
    expect(memoryProfileCheck('small', 430 * 1_048_576).state).toBe('ok');
    expect(memoryProfileCheck('normal', 920 * 1_048_576).state).toBe('ok');
  });

  test('the memory profile is that of the configuration, and of the variable where that is set', async () => {
    await withDirectory(async (dir) => {
      expect(configuredMemory({ ATMO_STATE_DIR: dir })).toBe('normal');
      writeFileSync(`${dir}/config.yaml`, 'memory: small\n');
      expect(configuredMemory({ ATMO_STATE_DIR: dir })).toBe('small');
      expect(configuredMemory({ ATMO_STATE_DIR: dir, ATMO_MEMORY: 'normal' })).toBe('normal');
      writeFileSync(`${dir}/config.yaml`, '{}');
      expect(configuredMemory({ ATMO_STATE_DIR: dir }, `${dir}/config.yaml`)).toBe('small');
      writeFileSync(`${dir}/config.yaml`, 'memory: 3\n');
      expect(configuredMemory({ ATMO_STATE_DIR: dir })).toBeUndefined();
    });
  });

  test('a missing token, and one that others can read, is a failure', async () => {
    await withDirectory(async (dir) => {
      const env = { ATMO_STATE_DIR: dir, HOME: dir };
      expect(tokenCheck(env, 'sign in')).toMatchObject({ state: 'failed', advice: 'sign in' });
      writeFileSync(`${dir}/owner.token`, 'x', { mode: 0o600 });
      expect(tokenCheck(env, 'sign in')).toMatchObject({ state: 'ok', found: `${dir}/owner.token` });
      chmodSync(`${dir}/owner.token`, 0o644);
      expect(tokenCheck(env, 'sign in')).toMatchObject({ state: 'failed', advice: expect.stringContaining('chmod 600') });
    });
  });
});

describe('checks of the state directory', () => {
  const states = async (dir: string) =>
    Object.fromEntries((await stateChecks({ ATMO_STATE_DIR: dir })).map(({ check, state }) => [check, state]));

  test('a directory as a hub creates it is ok', async () => {
    await withDirectory(async (dir) => {
      using database = new DatabaseSync(`${dir}/state.db`);
      database.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)');
      chmodSync(`${dir}/state.db`, 0o600);
      const all = await states(dir);
      expect(Object.keys(all)).toEqual(['state directory', 'state files', 'damaged files', 'free space', 'writing', 'databases']);
      expect(new Set(Object.values(all))).toEqual(new Set(['ok']));
      writeFileSync(`${dir}/state.db.corrupt-2026`, 'x', { mode: 0o600 });
      expect(await states(dir)).toMatchObject({ 'damaged files': 'warning', databases: 'ok' });
    });
    expect(await states('/no/such/dir')).toEqual({ 'state directory': 'failed' });
  });

  test('a directory or file that others can read, and files of another user, are failures', async () => {
    await withDirectory(async (dir) => {
      writeFileSync(`${dir}/hub.key`, 'x', { mode: 0o644 });
      chmodSync(dir, 0o755);
      const checks = await stateChecks({ ATMO_STATE_DIR: dir });
      expect(checks.slice(0, 2)).toMatchObject([
        { state: 'failed', advice: expect.stringContaining('chmod 700') },
        { state: 'failed', found: 'others can read hub.key', advice: `chmod -R go= ${dir}` },
      ]);
    });
  });

  test.skipIf(process.getuid?.() !== 0)('files of another user are told', async () => {
    await withDirectory(async (dir) => {
      writeFileSync(`${dir}/hub.key`, 'x', { mode: 0o600 });
      chownSync(`${dir}/hub.key`, 1_234, 1_234);
      const [, files] = await stateChecks({ ATMO_STATE_DIR: dir });
      expect(files).toMatchObject({ state: 'failed', found: 'hub.key belong to another user', advice: expect.stringContaining('chown') });
    });
  });

  test('a damaged database is a failure', async () => {
    await withDirectory(async (dir) => {
      const database = new DatabaseSync(`${dir}/journal.db`);
      database.exec(
        'CREATE TABLE t (x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 2000) INSERT INTO t SELECT hex(i) FROM n',
      );
      database.close();
      const file = openSync(`${dir}/journal.db`, 'r+');
      writeSync(file, Buffer.alloc(2_000, 0xff), 0, 2_000, 8_192);
      closeSync(file);
      const checks = await stateChecks({ ATMO_STATE_DIR: dir });
      expect(checks.at(-1)).toMatchObject({ check: 'databases', state: 'failed', found: expect.stringMatching(/^journal\.db: /) });
    });
  });
});

describe('doctor', () => {
  test('without a hub exits with 5 and prints how to start one', async () => {
    const { code, out } = await atmo(['doctor']);
    expect(code).toBe(5);
    expect(out).toMatch(/✗ hub +No hub answers.*\n +→ start one: atmo serve/);
    expect(out).toMatch(/\d+ failed, \d+ to look at, \d+ well\.\n$/);
  });

  test('with a hub reports half commissioned devices and tools that models cannot use well', async () => {
    const { httpApi, addTool } = makeHttpApi();
    addTool({ name: 'half_commissioned', namespace: 'hub', handler: async () => [{ id: 'h1', advice: 'reset the lamp' }] });
    addTool({ name: 'vague', parameters: { type: 'object', properties: { x: {} } } });
    const { json } = await atmo(['doctor', '--json'], {
      fetch: fetchFrom(httpApi),
      env: { ATMO_TOKEN: TOKEN, ATMO_STATE_DIR: '/no/such' },
    });
    const { checks } = json();
    expect(stateOf(checks, 'hub')).toBe('ok');
    expect(stateOf(checks, 'token is accepted')).toBe('ok');
    expect(checks.find(({ check }: CheckResult) => check === 'half commissioned devices')).toMatchObject({
      state: 'warning',
      advice: 'reset the lamp',
    });
    expect(checks.find(({ check }: CheckResult) => check === 'tool schemas')).toMatchObject({
      state: 'warning',
      advice: 'atmo doctor core:vague@1.0.0',
    });
  });

  test('the check list of a tool has name, schema, execution and results', async () => {
    const { httpApi, addTool } = makeHttpApi();
    let runs = 0;
    addTool({
      name: 'flaky',
      handler: async () => {
        if (runs++ === 0) throw new Error('a bug');
        return {};
      },
    });
    const io = { fetch: fetchFrom(httpApi) };
    const checksOf = async (name: string) => (await atmo(['doctor', name, '--json'], io)).json().checks as CheckResult[];
    expect(stateOf(await checksOf('flaky'), 'results')).toBe('warning');
    await atmo(['call', 'flaky'], io);
    await atmo(['call', 'flaky'], io);
    const checks = await checksOf('flaky');
    expect(stateOf(checks, 'name fits one tool')).toBe('ok');
    expect(checks.find(({ check }) => check === 'execution')).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('INTERNAL_ERROR'),
    });
    expect(stateOf(checks, 'results')).toBe('ok');
    expect(stateOf(await checksOf('core:flaky'), 'name matches exactly')).toBe('ok');
    expect(stateOf(await checksOf('flakey'), 'tool is registered')).toBe('failed');
  });

  test('a schema without root object or descriptions is reported', () => {
    const states = (parameters: object) => schemaChecks({ parameters } as never).map(({ state }) => state);
    expect(states({ type: 'object', properties: { a: { type: 'string', description: 'x' } } })).toEqual(['ok', 'ok']);
    expect(states({ type: 'array' })).toEqual(['failed', 'ok']);
    expect(states({ type: 'object', properties: { a: { type: 'string' }, b: { description: 'x' } } })).toEqual(['ok', 'warning']);
  });
});

describe('a hub without Matter', () => {
  test('is reported as such: no token could call the tools of Matter', async () => {
    const { httpApi, capabilities } = makeHttpApi();
    const found = async () => {
      const io = { fetch: fetchFrom(httpApi), env: { ATMO_TOKEN: TOKEN, ATMO_STATE_DIR: '/no/such' } };
      const { checks } = (await atmo(['doctor', '--json'], io)).json();
      return checks.find(({ check }: CheckResult) => check === 'half commissioned devices');
    };
    expect(await found()).toMatchObject({ state: 'ok', found: 'Matter is off (matter.enabled)' });
    capabilities.add({ type: 'matter_bridge', description: () => 'bridge', hasDevices: true });
    expect(await found()).toMatchObject({ state: 'warning', found: 'this token may not ask' });
  });

  test('in no mesh skips the check of its mesh port', async () => {
    const asked: object[] = [];
    const networkChecks = async (ports: object) => {
      asked.push(ports);
      return [];
    };
    const env = { ATMO_TOKEN: TOKEN, ATMO_STATE_DIR: '/no/such' };
    const { httpApi, addTool } = makeHttpApi();
    addTool({ name: 'mesh_status', namespace: 'hub', handler: async () => ({ state: 'none' }) });
    addTool({ name: 'mesh_peers', namespace: 'hub', handler: async () => [] });
    await atmo(['doctor'], {
      fetch: fetchFrom(httpApi),
      env,
      machineChecks: async (ports) => hubMachineChecks(env, await networkChecks(ports), undefined),
    });
    expect(asked).toEqual([{ http: 8081, mesh: 8082, isHubThere: true, isInMesh: false }]);
  });
});

describe('agents', () => {
  const HOUR_MS = 3_600_000;
  const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();
  const agentOf = (id: string, status: string, [from, to]: readonly [number, number], extra = {}) => ({
    agent_id: id,
    status,
    created_at: inHours(from),
    expires_at: inHours(to),
    ...extra,
  });

  async function told(agents: readonly object[]) {
    const { httpApi, addTool } = makeHttpApi();
    addTool({ name: 'list_agents', handler: async () => ({ agents: JSON.parse(JSON.stringify(agents)) }) });
    const io = { fetch: fetchFrom(httpApi), env: { ATMO_TOKEN: TOKEN, ATMO_STATE_DIR: '/no/such' } };
    const { checks } = (await atmo(['doctor', '--json'], io)).json();
    return checks.find(({ check }: CheckResult) => check === 'agents');
  }

  test('that were killed, ended long ago or have time left are not reported', async () => {
    const problem = { last_error: { code: 'CONFLICT', message: 'busy' } };
    expect(
      await told([
        agentOf('killed', 'killed', [-50, 500], problem),
        agentOf('forgotten', 'expired', [-2_000, -1_000], problem),
        agentOf('day', 'active', [-1, 23]),
        agentOf('month', 'active', [-24, 29 * 24]),
      ]),
    ).toMatchObject({ state: 'ok', found: '2 at work' });
  });

  test('that expire soon or have expired are reported with advice', async () => {
    const check = await told([
      agentOf('day', 'active', [-20, 4]),
      agentOf('month', 'active', [-28 * 24, 2 * 24]),
      agentOf('gone', 'expired', [-25, -1]),
      agentOf('over', 'active', [-25, -1]),
    ]);
    expect(check).toMatchObject({ state: 'warning', advice: expect.stringContaining('atmo agent spawn') });
    expect(check.found).toMatch(/^gone, over has ended, its time is over; day ends at .*; month ends at /);
  });
});

/** A hub whose tools of administration answer like this. */
function makeHubSaying(answers: Readonly<Record<string, unknown>>) {
  const setup = makeHttpApi({ authenticator: authenticatorOf({ narrow: agent('sensor:read'), lamp: agent('device:control:lamp') }) });
  for (const [name, answer] of Object.entries(answers))
    setup.addTool({
      name,
      namespace: 'hub',
      parameters: { type: 'object' },
      requires: { permissions: ['admin:hub'] },
      handler: async () => JSON.parse(JSON.stringify(answer)),
    });
  const checksOf = async (argv: readonly string[], token = TOKEN) => {
    const env = { ATMO_TOKEN: token, ATMO_STATE_DIR: '/no/such' };
    return (await atmo(['doctor', ...argv, '--json'], { fetch: fetchFrom(setup.httpApi), env })).json().checks as CheckResult[];
  };
  return { ...setup, checksOf };
}

const DAY_MS = 86_400_000;
const at = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

describe('the checks of decisions', () => {
  test('are ok when the clock is trusted, an approver exists, the audit log is intact and the rules are loaded', async () => {
    const { checksOf } = makeHubSaying({
      clock_status: { trusted: true, now: at(0), source: 'network' },
      list_approvers: { approvers: [{ person: 'ann' }, { person: 'ann' }, { person: 'bob' }] },
      verify_audit: { intact: true, rows: 7 },
      list_rules: { rules: [{}, {}], default: 'allow' },
      list_tokens: { tokens: [{ state: 'valid', agent_id: 'a', issued_at: at(-1), expires_at: at(0.5) }] },
    });
    const checks = await checksOf([]);
    for (const name of ['clock is trusted', 'approvers', 'journal', 'rules', 'tokens'])
      expect([name, stateOf(checks, name)]).toEqual([name, 'ok']);
    expect(checks.find(({ check }) => check === 'approvers')?.found).toBe('ann, bob');
  });

  test('fail with advice otherwise', async () => {
    const { checksOf } = makeHubSaying({
      clock_status: { trusted: false, now: at(0), source: 'nothing', advice: 'connect it' },
      list_approvers: { approvers: [] },
      verify_audit: { intact: false, rows: 7, problem: { seq: 3, reason: 'its hash differs' } },
      list_rules: { rules: [], default: 'allow', file: 'rules.yaml', problem: 'rules.yaml:4: no such effect' },
      list_tokens: { tokens: [{ state: 'valid', agent_id: 'a', issued_at: at(-29), expires_at: at(1) }, { state: 'revoked' }] },
    });
    const checks = await checksOf([]);
    const told = ['clock is trusted', 'approvers', 'journal', 'rules', 'tokens'].map((name) => checks.find(({ check }) => check === name));
    expect(told.map((check) => check?.state)).toEqual(['failed', 'failed', 'failed', 'failed', 'warning']);
    expect(told.map((check) => `${check?.found} ${check?.advice}`).join()).toMatch(
      /connect it.*nobody.*row 3: its hash differs.*rules\.yaml:4.*a until/,
    );
  });

  test('are warnings for a token without the permissions', async () => {
    const { checksOf } = makeHubSaying({ clock_status: { trusted: true } });
    expect(stateOf(await checksOf([], 'narrow'), 'clock is trusted')).toBe('warning');
  });
});

describe('a tool that an agent cannot use', () => {
  const facts = (permissions: readonly string[], extra = {}) => ({
    show_token: { state: 'valid', agent_id: 'a', expires_at: 'then', permissions, needs_proof: false, ...extra },
  });

  test('is reported with the permission that its token lacks', async () => {
    const { checksOf, addTool } = makeHubSaying(facts(['sensor:read']));
    addTool({ name: 'lamp_on', requires: { permissions: ['device:control:lamp'] } });
    const checks = await checksOf(['lamp_on', '--as', 'narrow']);
    expect(checks.find(({ check }) => check === 'the agent may call it')).toMatchObject({
      state: 'failed',
      found: 'lacks device:control:lamp',
      advice: 'mint a token with --allow device:control:lamp',
    });
    expect(stateOf(checks, 'the agent sees it')).toBe('warning');
  });

  test('is not reported when token, permission and risk are right', async () => {
    const { checksOf, addTool } = makeHubSaying(facts(['device:control:lamp']));
    addTool({ name: 'lamp_on', requires: { permissions: ['device:control:lamp'] } });
    addTool({
      name: 'any_on',
      requires: { permissions: ['device:control:{device_id}'] },
      parameters: { type: 'object', properties: { device_id: { type: 'string', description: 'x' } }, required: ['device_id'] },
    });
    for (const tool of ['lamp_on', 'any_on']) {
      const checks = await checksOf([tool, '--as', 'lamp']);
      const names = ["the agent's token", 'the agent may call it', 'the agent sees it', 'it runs at once'];
      expect(names.map((name) => stateOf(checks, name))).toEqual(['ok', 'ok', 'ok', 'ok']);
    }
  });

  test('is reported when its token has expired or is bound to a key, or people have to approve', async () => {
    const ended = makeHubSaying(facts([], { state: 'revoked', reason: 'by the owner' }));
    expect(stateOf(await ended.checksOf(['probe', '--as', 'x']), "the agent's token")).toBe('failed');
    const bound = makeHubSaying(facts(['device:control:lamp'], { needs_proof: true }));
    bound.addTool({ name: 'unlock', requires: { permissions: ['device:control:lamp'] }, dangerous: true });
    const checks = await bound.checksOf(['unlock', '--as', 'lamp']);
    expect(["the agent's token", 'the agent sees it', 'it runs at once'].map((name) => stateOf(checks, name))).toEqual([
      'warning',
      'warning',
      'warning',
    ]);
  });

  test('has to be named', async () => {
    expect((await atmo(['doctor', '--as', 'x'])).code).toBe(2);
  });
});

const DOOR = 'http://127.0.0.1:8081';

/** What the doors of a hub give that answers these paths like this; 404 for all others. */
function doorsOf(answers: Readonly<Record<string, object | string>>) {
  const fetch = async (url: string) => {
    const answer = answers[url.slice(DOOR.length)];
    if (answer === undefined) return Response.json({ code: 'NOT_FOUND', detail: 'no such path' }, { status: 404 });
    return typeof answer === 'string' ? new Response(answer) : Response.json(answer);
  };
  return endpointChecks(new HubClient({ env: { ATMO_TOKEN: TOKEN }, fetch }), Date.now());
}

describe('the endpoints', () => {
  const page = '<script src="/assets/main-1.js"></script><link href="/assets/style-1.css">';

  test('are ok when the certificate is valid for long, the page is complete, and MCP lists its tools', async () => {
    const checks = await doorsOf({
      '/api/v1/tls': { enabled: true, url: 'https://hub.local:8081', certificate_ends_at: at(300) },
      '/': page,
      '/assets/main-1.js': 'x',
      '/assets/style-1.css': 'x',
      '/mcp': { jsonrpc: '2.0', id: 1, result: { tools: [{}, {}] } },
    });
    expect(checks.map(({ state }) => state)).toEqual(['ok', 'ok', 'ok']);
    expect(checks.map(({ found }) => found).join()).toMatch(/hub\.local.*with 2 files.*with 2 tools/);
  });

  test('fail for an expiring certificate, a missing file, or a refused request', async () => {
    const checks = await doorsOf({
      '/api/v1/tls': { enabled: true, url: 'https://hub.local:8081', certificate_ends_at: at(3) },
      '/': page,
      '/assets/main-1.js': 'x',
      '/mcp': { jsonrpc: '2.0', id: 1, error: { code: -32_600, message: 'not so' } },
    });
    expect(checks.map(({ state }) => state)).toEqual(['warning', 'failed', 'failed']);
    expect(checks.map(({ found }) => found)).toEqual([expect.any(String), '/assets/style-1.css cannot be had', 'not so']);
    const ended = await doorsOf({ '/api/v1/tls': { enabled: true, url: 'x', certificate_ends_at: at(-1) } });
    expect(ended.map(({ state }) => state)).toEqual(['failed', 'warning', 'failed']);
  });

  test('lead to a trusted name where there is none, and tell of a certificate that was not renewed long before its end', async () => {
    const facts = { enabled: true, url: 'https://hub.example.org:8081', certificate_ends_at: at(30) };
    const [own] = await doorsOf({ '/api/v1/tls': { ...facts, source: 'own_authority', issuer: 'the hub' } });
    expect(own).toMatchObject({ state: 'ok', advice: expect.stringContaining('docs/trusted-certificate.md') });
    const [trusted] = await doorsOf({ '/api/v1/tls': { ...facts, source: 'acme', issuer: 'An Authority R1' } });
    expect(trusted).toMatchObject({ state: 'ok', found: expect.stringContaining('hub.example.org:8081, by An Authority R1, until') });
    expect(trusted).not.toHaveProperty('advice');
    const problem = 'The certificate for hub.example.org could not be renewed: no such zone';
    const [failing] = await doorsOf({ '/api/v1/tls': { ...facts, source: 'acme', problem } });
    expect(failing).toMatchObject({
      state: 'warning',
      found: expect.stringContaining(problem),
      advice: expect.stringContaining('restart'),
    });
  });
});

describe('the network', () => {
  test('is checked with the ports of this hub', async () => {
    const asked: object[] = [];
    const networkChecks = async (ports: object) => {
      asked.push(ports);
      return [{ check: 'multicast', state: 'failed' as const, found: 'no interface', advice: 'ip link set DEV multicast on' }];
    };
    const env = { ATMO_TOKEN: TOKEN, ATMO_STATE_DIR: '/no/such' };
    const machineChecks = async (ports: object) => hubMachineChecks(env, await networkChecks(ports), undefined);
    expect((await atmo(['doctor'], { env, machineChecks })).out).toMatch(/Network\n +✗ multicast +no interface\n +→ ip link/);
    await atmo(['doctor'], { env: { ...env, ATMO_URL: 'https://hub.local', ATMO_MESH_PORT: '9000' }, machineChecks });
    expect(asked).toEqual([
      { http: 8081, mesh: 8082, isHubThere: false },
      { mesh: 9000, isHubThere: false },
    ]);
  });
});

describe('the home', () => {
  test('is checked for unreachable devices and failing agents', async () => {
    const { httpApi, addTool, directory } = makeHttpApi();
    directory.devices = [makeDevice('lamp'), makeDevice('attic', { reachability: 'unreachable' })];
    addTool({
      name: 'list_agents',
      handler: async () => ({ agents: [{ agent_id: 'night', last_error: { code: 'CONFLICT', message: 'busy' } }] }),
    });
    const { checks } = (
      await atmo(['doctor', '--json'], { fetch: fetchFrom(httpApi), env: { ATMO_TOKEN: TOKEN, ATMO_STATE_DIR: '/no/such' } })
    ).json();
    const of = (name: string) => checks.find(({ check }: CheckResult) => check === name);
    expect(of('devices')).toMatchObject({
      section: 'Home',
      state: 'warning',
      found: '1 of 2 not reachable: attic',
      advice: expect.stringContaining('atmo device ping attic'),
    });
    expect(of('agents')).toMatchObject({ state: 'warning', found: 'night failed last: CONFLICT: busy' });
  });
});
