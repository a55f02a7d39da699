import { describe, expect, test } from 'vitest';
import { TokenAgent } from '../../src/connectors/connector-agent.ts';
import type { TokenRecord, TokenRequest } from '../../src/core/auth/principal.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { agent, listAuthorizer, makePipeline, makeTool, withToken } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';

const DAY_MS = 86_400_000;

function fixture(permissions: readonly string[], left: readonly TokenRecord[] = []) {
  const clock = new ManualClock();
  const issued: TokenRequest[] = [];
  const revoked: string[] = [];
  const records = [...left];
  const tokens = {
    issue(request: TokenRequest) {
      if (request.permissions.includes('nonsense')) throw new AtmoError('VALIDATION_ERROR', 'no permission');
      issued.push(request);
      const expiresAtMs = clock.now() + request.ttlMs;
      const id = `token-${issued.length}`;
      records.push({
        id,
        agentId: request.agentId,
        permissions: request.permissions,
        issuedAtMs: clock.now(),
        expiresAtMs,
        issuedBy: 'owner',
      });
      return { token: 'at1.x', principal: { ...withToken(agent(...request.permissions), { id, expiresAtMs }), id: request.agentId } };
    },
    revoke: (id: string) => revoked.push(id) > 0,
    list: () => records.filter(({ id }) => !revoked.includes(id)),
  };
  const { registry, pipeline, audited } = makePipeline();
  registry.register(makeTool({ name: 'lamp_on', requires: { permissions: ['device:control:lamp'] }, execution: { side_effects: true } }));
  const ground = { clock, tokens, pipeline, authorizer: listAuthorizer };
  return { clock, issued, revoked, audited, bridge: new TokenAgent(ground, { name: 'mqtt-bridge', permissions }) };
}

describe('a connector that calls tools', () => {
  test('calls as an agent of its own, with the permissions that the owner wrote and no others', async () => {
    const { bridge, issued, audited } = fixture(['device:control:lamp']);
    const { signal } = new AbortController();
    expect(await bridge.call('lamp_on', {}, signal)).toEqual({ ok: true });
    expect(issued).toEqual([{ agentId: 'mqtt-bridge', permissions: ['device:control:lamp'], ttlMs: DAY_MS }]);
    expect(JSON.stringify(audited)).toContain('mqtt-bridge');
    expect(bridge.may('device:control:lamp')).toBe(true);
    expect(bridge.may('device:control:lock')).toBe(false);
    await expect(fixture(['sensor:read:*']).bridge.call('lamp_on', {}, signal)).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' });
  });

  test('has its token made anew before it ends, and ended with itself', () => {
    const { bridge, clock, issued, revoked } = fixture(['device:control:lamp']);
    bridge.may('device:control:lamp');
    clock.advance(DAY_MS / 2);
    bridge.may('device:control:lamp');
    expect(issued).toHaveLength(1);
    clock.advance(DAY_MS / 2 - 60_000);
    bridge.may('device:control:lamp');
    expect(issued).toHaveLength(2);
    bridge[Symbol.dispose]();
    expect(revoked).toEqual(['token-1', 'token-2']);
  });

  test('ends the token that a crash left behind, and no other', () => {
    const token = { permissions: [], issuedAtMs: 0, expiresAtMs: new ManualClock().now() + 1, issuedBy: 'owner' };
    const { bridge, revoked } = fixture(
      ['device:control:lamp'],
      [
        { ...token, id: 'left', agentId: 'mqtt-bridge' },
        { ...token, id: 'other', agentId: 'anna' },
        { ...token, id: 'ended', agentId: 'mqtt-bridge', expiresAtMs: 0 },
      ],
    );
    bridge.may('device:control:lamp');
    expect(revoked).toEqual(['left']);
  });

  test('permissions that cannot be granted are a mistake of the configuration', () => {
    expect(() => fixture(['nonsense']).bridge.may('device:control:lamp')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});
