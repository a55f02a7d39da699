import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownerDecision } from '../../../src/cli/identity/approver-key.ts';
import { withDirectory } from '../cli-fixture.ts';

const REQUEST = {
  approval_id: 'a'.repeat(32),
  agent_id: 'owner',
  tool: 'matter:unlock@1.0.0',
  call_hash: 'b'.repeat(64),
  hub: 'hub-1',
  expires_at: '2026-01-01T00:10:00.000Z',
  approved_by: [],
};

test("the owner's key signs the owner's own requests, and never a request of another agent", async () => {
  await withDirectory(async (dir) => {
    expect(ownerDecision(REQUEST, dir)).toBeUndefined();
    const { privateKey } = generateKeyPairSync('ed25519');
    writeFileSync(join(dir, 'owner.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    expect(ownerDecision(REQUEST, dir)).toMatchObject({ decision: 'approve', person: 'owner' });
    expect(ownerDecision({ ...REQUEST, agent_id: 'kitchen' }, dir)).toBeUndefined();
    expect(ownerDecision({ ...REQUEST, approved_by: [{ person: 'owner' }] }, dir)).toBeUndefined();
  });
});
