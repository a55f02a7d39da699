import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DOORS, House } from './doors.ts';

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
