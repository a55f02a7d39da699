import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { rawPublicKey } from '../../src/codec/public-key.ts';
import { makeTool } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryNetwork } from '../mesh/memory-network.ts';
import { SysfsTree } from '../sensors/sysfs-tree.ts';
import { InterfaceFixture } from './interface-fixture.ts';
import { mcpRequest, WholeHub } from './whole-hub.ts';

const fixture = new InterfaceFixture();
const sysfs = SysfsTree.empty();
const strict = strictHub();

beforeAll(async () => {
  await fixture.start();
  await strict.hub.start();
  for (const name of ['free', 'off', 'beta', 'dangerous']) registerProbe(strict, name);
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await strict[Symbol.asyncDispose]();
  sysfs[Symbol.dispose]();
});
beforeEach(() => fixture.reset());

describe('a hub', () => {
  test('refuses a token that nobody made', async () => {
    const forged = `at0.${'A'.repeat(43)}`;
    expect(await fixture.hub.call('probe:free', {}, forged)).toMatchObject({ code: 'TOKEN_INVALID' });
    expect(fixture.ran).toEqual([]);
  });

  test('refuses the text of its token without the seal that it gave out', async () => {
    const { token } = await fixture.mint(['probe:use']);
    expect(await fixture.hub.call('probe:free', {}, token)).toMatchObject({ status: 'success' });
    const cut = token.slice(0, token.lastIndexOf('.'));
    expect(await fixture.hub.call('probe:free', {}, cut)).toMatchObject({ code: 'TOKEN_INVALID' });
  });

  test('refuses a token that is bound to another key with a proof that nobody signed', async () => {
    const key = rawPublicKey(generateKeyPairSync('ed25519').privateKey);
    const body = { agent_id: 'agent', permissions: ['probe:use'], key };
    const { token } = await fixture.hub.ask('/api/v1/tokens', { body });
    expect(await fixture.hub.ask('/api/v1/tools', { token })).toMatchObject({ code: 'UNAUTHENTICATED' });
    const forged = await fixture.hub.ask('/api/v1/tools', { token, headers: { 'atmo-proof': 'AAAA' } });
    expect(forged).toMatchObject({ code: 'TOKEN_INVALID', detail: expect.stringContaining('not signed with its key') });
  });

  test('shows an agent the tools that it may call and no metrics', async () => {
    const { token } = await fixture.mint(['probe:use']);
    const { tools } = await fixture.hub.ask('/api/v1/tools', { token });
    const ids: readonly string[] = tools.map(({ id }: { readonly id: string }) => id);
    expect(ids.some((id) => id.startsWith('probe:'))).toBe(true);
    expect(ids.filter((id) => id.includes('revoke_token'))).toEqual([]);
    expect(await fixture.hub.ask('/metrics', { token })).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  test('lists no tools that need a permission to a token that was revoked before the body came', async () => {
    const { token, tokenId } = await fixture.mint(['probe:use']);
    const { headers, body } = mcpRequest('tools/list', {});
    const list = async () => (await fixture.hub.ask('/mcp/devices', { token, headers, body })).result.tools;
    expect(await list()).toContainEqual(expect.objectContaining({ name: 'free' }));
    fixture.hub.beforeBody = () => fixture.revoke(tokenId);
    expect(await list()).not.toContainEqual(expect.objectContaining({ name: 'free' }));
  });

  test('refuses calls of a token without a limit of its own that come faster than any agent calls', async () => {
    const { token, agentId } = await fixture.mint(['probe:use']);
    const { orchestrator } = fixture.hub.hub;
    const calls = Array.from({ length: 401 }, () => orchestrator.call({ token, tool: 'probe:none', params: {} }));
    const answers = await fixture.during(Promise.all(calls));
    const codes = answers.map((answer) => (answer.status === 'error' ? answer.error.code : 'success'));
    expect(Object.groupBy(codes, (code) => code)).toMatchObject({ RATE_LIMITED: ['RATE_LIMITED'] });
    expect(await fixture.hub.call('probe:free', {}, token)).toMatchObject({ error: { code: 'RATE_LIMITED' } });
    expect((await fixture.lastEnd(agentId))?.content).toMatchObject({ error: 'RATE_LIMITED' });
  });
});

describe('a hub whose owner set limits', () => {
  const mint = async (more: object = {}): Promise<string> => {
    const body = { agent_id: 'agent', permissions: ['probe:use'], ...more };
    return (await strict.ask('/api/v1/tokens', { body })).token;
  };

  test('lets an automation observe only the sensors that its permissions cover', async () => {
    const { result } = await strict.call('list_sensors');
    const [{ sensor_id: sensor }] = result.sensors;
    const trigger = { type: 'reading', sensor_id: sensor, above: 60 };
    const spawn = async (...permissions: readonly string[]) => {
      const agent = { agent_type: 'automation', config: { trigger, actions: [{ tool: 'current_time' }] }, permissions };
      return (await strict.call('spawn_agent', agent)).error?.code ?? 'success';
    };
    expect(await spawn('probe:use')).toBe('SENSOR_NOT_FOUND');
    expect(await spawn(`sensor:read:${sensor}`)).toBe('success');
  });

  test('runs nothing dangerous while its time is not trusted', async () => {
    const { error } = await strict.call('probe:dangerous', {}, await mint());
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED', details: { reason: 'time_unknown' } });
  });

  test('runs nothing that the owner switched off', async () => {
    expect(await strict.call('probe:off', {}, await mint())).toMatchObject({ error: { code: 'RULE_BLOCKED' } });
  });

  test('lets only a role with its feature call what needs one', async () => {
    const refusal = { code: 'PERMISSION_DENIED', details: { features: ['beta'] } };
    expect(await strict.call('probe:beta', {}, await mint())).toMatchObject({ error: refusal });
    const tester = await strict.ask('/api/v1/tokens', { body: { agent_id: 'tester', role: 'tester' } });
    expect(await strict.call('probe:beta', {}, tester.token)).toMatchObject({ status: 'success' });
  });

  test('ends the calls of a session at its limit, and lets another session begin', async () => {
    const token = await mint();
    const call = async (session: string) => {
      const answer = await strict.ask('/api/v1/tools/free/invoke', { token, body: {}, headers: { 'x-session-id': session } });
      return answer.error?.code ?? answer.status;
    };
    expect([await call('one'), await call('one'), await call('one')]).toEqual(['success', 'success', 'RATE_LIMITED']);
    expect(await call('other')).toBe('success');
  });

  test('writes secrets into its audit log as hashes that no other hub could make', async () => {
    const hashesOf = (isSecret: boolean) => Promise.all([fixture.hub, strict].map((hub) => hashOfCall(hub, isSecret)));
    const [openHere, openThere] = await hashesOf(false);
    const [secretHere, secretThere] = await hashesOf(true);
    expect(openHere).toBe(openThere);
    expect(secretHere).not.toBe(secretThere);
  });
});

/** A hub without a mesh whose time is not trusted. */
function strictHub(): WholeHub {
  sysfs.write('class/hwmon/hwmon0/name', 'k10temp');
  sysfs.write('class/hwmon/hwmon0/temp1_input', '41000');
  const clock = new ManualClock(Date.now());
  const config = {
    sensors: { sysfs: sysfs.root },
    clock: { trust: 'never' },
    roles: { tester: { permissions: ['probe:use'], features: ['beta'] } },
    tools: { dynamic_registration: true, disabled: ['probe:off'], features: { 'probe:beta': ['beta'] }, max_calls_per_session: 2 },
  };
  return new WholeHub({ clock, network: new MemoryNetwork({ clock }), rules: 'rules: []\n', config });
}

/** Registers a tool that changes something; the one of the name `dangerous` is. */
function registerProbe({ hub }: WholeHub, name: string): void {
  const metadata = { dangerous: name === 'dangerous' };
  const execution = { side_effects: true };
  hub.orchestrator.registerTool(makeTool({ namespace: 'probe', name, execution, metadata, requires: { permissions: ['probe:use'] } }));
}

/** The hash of its arguments with which the audit log knows a call. */
async function hashOfCall(hub: WholeHub, isSecret: boolean): Promise<string> {
  const word = { type: 'string', description: 'A word', ...(isSecret && { 'x-secret': true }) };
  const name = isSecret ? 'secret_word' : 'open_word';
  hub.hub.orchestrator.registerTool(makeTool({ namespace: 'probe', name, parameters: { type: 'object', properties: { word } } }));
  await hub.call(name, { word: 'sesame' });
  const { result } = await hub.call('read_audit', { tool: name, kind: 'intent' });
  return result.rows[0].content.arguments_hash;
}
