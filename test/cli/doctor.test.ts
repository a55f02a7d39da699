import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type CheckResult, clockCheck, machineChecks, nodeCheck } from '../../src/cli/doctor-checks.ts';
import { schemaChecks } from '../../src/cli/tool-checks.ts';
import { makeGateway, TOKEN } from '../gateway/gateway-room.ts';
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
