import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { rawPublicKey } from '../../src/codec/public-key.ts';
import { makeTool, settled } from '../calls/pipeline-fixture.ts';
import { HOST } from '../http/http-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryNetwork } from '../mesh/memory-network.ts';
import { SysfsTree } from '../sensors/sysfs-tree.ts';
import { DOORS, House } from './doors.ts';
import { mcpRequest, WholeHub } from './whole-hub.ts';

const house = new House();

beforeAll(() => house.start());
afterAll(() => house[Symbol.asyncDispose]());
beforeEach(() => house.reset());

/** Kinds of the rows that the audit log has of an agent's calls of a tool, oldest first. */
async function auditedKinds(agent: string, tool: string): Promise<readonly string[]> {
  const { result } = await house.hub.call('read_audit', { agent });
  return result.rows
    .filter((row: { readonly tool?: string }) => row.tool?.includes(tool))
    .map((row: { readonly kind: string }) => row.kind)
    .toReversed();
}

/** The JSON of the answer to a request whose body comes only after something else has happened. */
async function answerAfter(
  event: () => Promise<unknown>,
  { path, token, headers, body }: { readonly path: string; readonly token: string; readonly headers?: object; readonly body: object },
): Promise<ReturnType<typeof JSON.parse>> {
  const stream = new TransformStream<Uint8Array>();
  const answer = house.hub.fetch(`http://${HOST}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: stream.readable,
    duplex: 'half',
  });
  await settled();
  await event();
  const writer = stream.writable.getWriter();
  void writer.write(Buffer.from(JSON.stringify(body)));
  void writer.close();
  return (await answer).json();
}

for (const [name, door] of Object.entries(DOORS)) {
  describe(name, () => {
    test('is refused without the permission that it needs', async () => {
      const caller = await door(house, { tool: 'guarded' });
      expect(await caller.call()).toBe('success');
      house.guard = 'probe:other';
      expect(await caller.call()).toBe('PERMISSION_DENIED');
      expect(house.ran).toEqual(['guarded']);
    });

    test('is refused where a rule of the owner forbids it', async () => {
      const caller = await door(house, { tool: 'forbidden' });
      expect(await caller.call()).toBe('RULE_BLOCKED');
      expect(house.ran).toEqual([]);
    });

    test('waits for people where it is dangerous', async () => {
      const caller = await door(house, { tool: 'dangerous' });
      expect(await caller.call()).toBe('APPROVAL_REQUIRED');
      const { result } = await house.hub.call('list_approvals', { state: 'pending' });
      expect(result.approvals).toContainEqual(expect.objectContaining({ agent_id: caller.agentId }));
      expect(house.ran).toEqual([]);
    });

    test('is refused where its token calls too often', async () => {
      const caller = await door(house, { tool: 'free', callsPerMinute: 1 });
      expect(await caller.call()).toBe('success');
      expect(await caller.call()).toBe('RATE_LIMITED');
      expect(house.ran).toEqual(['free']);
    });

    test('is written into the audit log before and after it runs', async () => {
      const caller = await door(house, { tool: 'free' });
      expect(await caller.call()).toBe('success');
      expect(await auditedKinds(caller.agentId, 'probe:free')).toEqual(['intent', 'outcome']);
    });

    test('is refused once its token was revoked', async () => {
      const caller = await door(house, { tool: 'free' });
      expect(await caller.call()).toBe('success');
      await house.hub.call('revoke_token', { token_id: caller.tokenId });
      expect(await caller.call()).toMatch(/^(TOKEN_INVALID|killed)$/);
      expect(house.ran).toEqual(['free']);
    });
  });
}

describe('a hub', () => {
  test('refuses a token that nobody made', async () => {
    const forged = `at0.${'A'.repeat(43)}`;
    expect(await house.hub.call('probe:free', {}, forged)).toMatchObject({ code: 'TOKEN_INVALID' });
    expect(house.ran).toEqual([]);
  });

  test('refuses the text of its token without the seal that it gave out', async () => {
    const { token } = await house.mint(['probe:use'], undefined);
    expect(await house.hub.call('probe:free', {}, token)).toMatchObject({ status: 'success' });
    const cut = token.slice(0, token.lastIndexOf('.'));
    expect(await house.hub.call('probe:free', {}, cut)).toMatchObject({ code: 'TOKEN_INVALID' });
  });

  test('refuses a token that is bound to another key with a proof that nobody signed', async () => {
    const key = rawPublicKey(generateKeyPairSync('ed25519').privateKey);
    const body = { agent_id: 'agent', permissions: ['probe:use'], key };
    const { token } = await house.hub.ask('/api/v1/tokens', { body });
    expect(await house.hub.ask('/api/v1/tools', { token })).toMatchObject({ code: 'UNAUTHENTICATED' });
    const forged = await house.hub.ask('/api/v1/tools', { token, headers: { 'atmo-proof': 'AAAA' } });
    expect(forged).toMatchObject({ code: 'TOKEN_INVALID', detail: expect.stringContaining('not signed with its key') });
  });

  test('shows an agent the tools that it may call and no metrics', async () => {
    const { token } = await house.mint(['probe:use'], undefined);
    const { tools } = await house.hub.ask('/api/v1/tools', { token });
    const ids: readonly string[] = tools.map(({ id }: { readonly id: string }) => id);
    expect(ids.some((id) => id.startsWith('probe:'))).toBe(true);
    expect(ids.filter((id) => id.includes('revoke_token'))).toEqual([]);
    expect(await house.hub.ask('/metrics', { token })).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  test('refuses a call whose token was revoked after its headers came and before its body', async () => {
    const { token, tokenId } = await house.mint(['probe:use'], undefined);
    const answer = await answerAfter(() => house.hub.call('revoke_token', { token_id: tokenId }), {
      path: '/api/v1/tools/current_time/invoke',
      token,
      body: {},
    });
    expect(answer).toMatchObject({ status: 'error', error: { code: 'TOKEN_INVALID' } });
  });

  test('lists no tools that need a permission to a token that was revoked before the body came', async () => {
    const { token, tokenId } = await house.mint(['probe:use'], undefined);
    const { headers, body } = mcpRequest('tools/list', {});
    const list = (between: () => Promise<unknown>) => answerAfter(between, { path: '/mcp/devices', token, headers, body });
    const before = await list(async () => {});
    expect(before.result.tools).toContainEqual(expect.objectContaining({ name: 'free' }));
    const after = await list(() => house.hub.call('revoke_token', { token_id: tokenId }));
    expect(after.result.tools).not.toContainEqual(expect.objectContaining({ name: 'free' }));
  });

  test('lets an automation observe only the sensors that its permissions cover', async () => {
    using sysfs = SysfsTree.empty();
    sysfs.write('class/hwmon/hwmon0/name', 'k10temp');
    sysfs.write('class/hwmon/hwmon0/temp1_input', '41000');
    const clock = new ManualClock(Date.now());
    const config = { sensors: { sysfs: sysfs.root } };
    await using hub = new WholeHub({ clock, network: new MemoryNetwork({ clock }), rules: 'rules: []\n', config });
    await hub.hub.start();
    const { result } = await hub.call('list_sensors');
    const [{ sensor_id: sensor }] = result.sensors;
    const trigger = { type: 'reading', sensor_id: sensor, above: 60 };
    const spawn = async (...permissions: readonly string[]) => {
      const agent = { agent_type: 'automation', config: { trigger, actions: [{ tool: 'current_time' }] }, permissions };
      return (await hub.call('spawn_agent', agent)).error?.code ?? 'success';
    };
    expect(await spawn('probe:use')).toBe('SENSOR_NOT_FOUND');
    expect(await spawn(`sensor:read:${sensor}`)).toBe('success');
  });

  test('runs nothing dangerous while its time is not trusted, nor what the owner switched off', async () => {
    const clock = new ManualClock(Date.now());
    const tools = { dynamic_registration: true, disabled: ['probe:off'], features: { 'probe:beta': ['beta'] } };
    const config = { tools, clock: { trust: 'never' } };
    await using hub = new WholeHub({ clock, network: new MemoryNetwork({ clock }), rules: 'rules: []\n', config });
    await hub.hub.start();
    for (const name of ['off', 'beta', 'dangerous']) {
      const metadata = { dangerous: name === 'dangerous' };
      const execution = { side_effects: true };
      hub.hub.orchestrator.registerTool(
        makeTool({ namespace: 'probe', name, execution, metadata, requires: { permissions: ['probe:use'] } }),
      );
    }
    const minted = await hub.ask('/api/v1/tokens', { body: { agent_id: 'agent', permissions: ['probe:use'] } });
    const call = async (tool: string) => (await hub.call(tool, {}, minted.token)).error;
    expect(await call('probe:off')).toMatchObject({ code: 'RULE_BLOCKED' });
    expect(await call('probe:beta')).toMatchObject({ code: 'PERMISSION_DENIED', details: { features: ['beta'] } });
    expect(await call('probe:dangerous')).toMatchObject({ code: 'PERMISSION_DENIED', details: { reason: 'time_unknown' } });
  });
});
