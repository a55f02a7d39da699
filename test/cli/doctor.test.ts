import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type CheckResult, clockCheck, machineChecks, nodeCheck } from '../../src/cli/doctor-checks.ts';
import { schemaChecks } from '../../src/cli/tool-checks.ts';
import { authenticatorOf, makeGateway, TOKEN } from '../gateway/gateway-room.ts';
import { agent } from '../tools/tool-room.ts';
import { atmo, fetchFrom, withDirectory } from './cli-room.ts';

function stateOf(checks: readonly CheckResult[], name: string): string | undefined {
  return checks.find(({ check }) => check === name)?.state;
}

describe('checks of the machine', () => {
  test('an old Node and a clock before this version was made are told', () => {
    expect([nodeCheck('24.1.0').state, nodeCheck('20.19.1').state]).toEqual(['ok', 'failed']);
    expect([clockCheck(Date.UTC(2027, 0)).state, clockCheck(5_000).state]).toEqual(['ok', 'failed']);
  });

  test('a state directory or token that others can read is told', async () => {
    await withDirectory(async (parent) => {
      const dir = `${parent}/state`;
      const env = { ATMO_STATE_DIR: dir };
      expect([stateOf(machineChecks(env), 'state directory'), stateOf(machineChecks(env), 'token')]).toEqual(['failed', 'failed']);
      mkdirSync(dir, { mode: 0o700 });
      writeFileSync(`${dir}/owner.token`, 'x', { mode: 0o600 });
      const fine = machineChecks(env);
      expect(['state directory', 'token', 'storage'].map((name) => stateOf(fine, name))).toEqual(['ok', 'ok', 'ok']);
      chmodSync(dir, 0o755);
      chmodSync(`${dir}/owner.token`, 0o644);
      const open = machineChecks(env);
      expect([stateOf(open, 'state directory'), stateOf(open, 'token')]).toEqual(['failed', 'failed']);
      expect(open.find(({ check }) => check === 'token')?.advice).toContain('chmod 600');
    });
  });
});

describe('doctor', () => {
  test('without a hub exits with 5 and says how to start one', async () => {
    const { code, out } = await atmo(['doctor']);
    expect(code).toBe(5);
    expect(out).toMatch(/hub +failed .*atmo serve/);
  });

  test('with a hub tells half commissioned devices and tools that models cannot use well', async () => {
    const { gateway, addTool } = makeGateway();
    addTool({ name: 'half_commissioned', namespace: 'hub', handler: async () => [{ id: 'h1', advice: 'reset the lamp' }] });
    addTool({ name: 'vague', parameters: { type: 'object', properties: { x: {} } } });
    const { json } = await atmo(['doctor', '--json'], {
      fetch: fetchFrom(gateway),
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

  test('the check list of a tool tells name, schema, execution and results', async () => {
    const { gateway, addTool } = makeGateway();
    let runs = 0;
    addTool({
      name: 'flaky',
      handler: async () => {
        if (runs++ === 0) throw new Error('a bug');
        return {};
      },
    });
    const io = { fetch: fetchFrom(gateway) };
    const checksOf = async (name: string) => (await atmo(['doctor', name, '--json'], io)).json().checks as CheckResult[];
    expect(stateOf(await checksOf('flaky'), 'results')).toBe('warning');
    await atmo(['call', 'flaky'], io);
    await atmo(['call', 'flaky'], io);
    const checks = await checksOf('flaky');
    expect(stateOf(checks, 'name matches exactly')).toBe('warning');
    expect(checks.find(({ check }) => check === 'execution')).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('INTERNAL_ERROR'),
    });
    expect(stateOf(checks, 'results')).toBe('ok');
    expect(stateOf(await checksOf('core:flaky'), 'name matches exactly')).toBe('ok');
    expect(stateOf(await checksOf('flakey'), 'tool is registered')).toBe('failed');
  });

  test('a schema without root object or descriptions is told', () => {
    const states = (parameters: object) => schemaChecks({ parameters } as never).map(({ state }) => state);
    expect(states({ type: 'object', properties: { a: { type: 'string', description: 'x' } } })).toEqual(['ok', 'ok']);
    expect(states({ type: 'array' })).toEqual(['failed', 'ok']);
    expect(states({ type: 'object', properties: { a: { type: 'string' }, b: { description: 'x' } } })).toEqual(['ok', 'warning']);
  });
});

/** A hub whose tools of administration answer like this. */
function makeHubSaying(answers: Readonly<Record<string, unknown>>) {
  const room = makeGateway({ authenticator: authenticatorOf({ narrow: agent('sensor:read'), lamp: agent('device:control:lamp') }) });
  for (const [name, answer] of Object.entries(answers))
    room.addTool({
      name,
      namespace: 'hub',
      parameters: { type: 'object' },
      requires: { permissions: ['admin:hub'] },
      handler: async () => JSON.parse(JSON.stringify(answer)),
    });
  const checksOf = async (argv: readonly string[], token = TOKEN) => {
    const env = { ATMO_TOKEN: token, ATMO_STATE_DIR: '/no/such' };
    return (await atmo(['doctor', ...argv, '--json'], { fetch: fetchFrom(room.gateway), env })).json().checks as CheckResult[];
  };
  return { ...room, checksOf };
}

const DAY_MS = 86_400_000;
const at = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

describe('what decides about calls', () => {
  test('is well when the clock is trusted, somebody approves, the journal is whole and the rules are loaded', async () => {
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

  test('is told with what to do when it is not', async () => {
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

  test('is no business of a narrow token, which is told so', async () => {
    const { checksOf } = makeHubSaying({ clock_status: { trusted: true } });
    expect(stateOf(await checksOf([], 'narrow'), 'clock is trusted')).toBe('warning');
  });
});

describe('a tool that an agent cannot use', () => {
  const facts = (permissions: readonly string[], extra = {}) => ({
    show_token: { state: 'valid', agent_id: 'a', expires_at: 'then', permissions, needs_proof: false, ...extra },
  });

  test('because its token lacks a permission, which is named', async () => {
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

  test('is none when token, permission and risk are as they should be', async () => {
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

  test('because its token has ended, is bound to a key, or people have to agree', async () => {
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
