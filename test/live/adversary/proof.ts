import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import type { AuditRow } from '../../../src/core/storage/audit-log.ts';
import type { Exchange } from './attacker.ts';
import { ATTACKER_ID, type BesiegedHome, SECOND_PERSON } from './besieged-home.ts';

const UNLOCK = 'matter:saffron_portal_unlock@1.0.0';

/** What the owner can prove afterwards, through the door. `attempts` tells everything that the attacker sent. */
export function describeProof(besieged: () => BesiegedHome, attempts: () => readonly Exchange[]): void {
  describe('the owner afterwards', () => {
    test('knows who opened the door, who agreed to it, and what came of it', async () => {
      const rows = await besieged().journal({ agent: 'doorkeeper', tool: UNLOCK });
      const intents = rows.filter(({ kind }) => kind === 'intent');
      expect(intents).toHaveLength(1);
      const [intent] = intents as [AuditRow];
      expect(intent.content).toMatchObject({
        decision: { approved_by: expect.arrayContaining(['owner', SECOND_PERSON]), rule: 'curfew at the door' },
        arguments_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        effects: [expect.objectContaining({ target: 'saffron-portal/1/DoorLock/UnlockDoor', risk: 'dangerous' })],
      });
      expect(intent.chain).toEqual([intent.token]);
      const outcome = rows.find(({ kind, request }) => kind === 'outcome' && request === intent.request);
      expect(outcome?.content).toMatchObject({ response_hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
      expect(outcome?.content).not.toHaveProperty('error');
      expect(outcome?.seq).toBeGreaterThan(intent.seq);
      expect(rows.filter(({ kind }) => kind === 'refusal').length).toBeGreaterThanOrEqual(4);
    });

    test('sees who asked for the door and who said yes, step by step', async () => {
      const notes = await besieged().journal({ kind: 'note' });
      const events = notes
        .filter(({ content }) => JSON.stringify(content).includes('approval.'))
        .map(({ content }) => String(content.event));
      expect(events).toEqual(expect.arrayContaining(['approval.requested', 'approval.given', 'approval.used']));
      expect(notes.some(({ content }) => content.event === 'token.refused')).toBe(true);
    });

    test('sees every refused attempt of the agent that turned bad', async () => {
      const rows = await besieged().journal();
      const failed = rows.filter(({ kind, content }) => kind === 'refusal' || (kind === 'outcome' && content.error !== undefined));
      const told = new Set(failed.filter(({ agent }) => agent?.startsWith(ATTACKER_ID)).map(({ request }) => request));
      // What went through the pipeline says so by the id of its request; what no tool was asked for never got there.
      const refusedCalls = attempts().filter(isRefusedCall).map(requestOf);
      expect(refusedCalls.length).toBeGreaterThan(200);
      expect(refusedCalls.filter((id) => !told.has(id))).toEqual([]);
    });

    test('can show that nothing of it was changed, and replay what can be', async () => {
      const { hub } = besieged();
      const head = (await hub.get('/api/v1/audit/head')) as JsonObject;
      const verified = await hub.result('hub:verify_audit', { seq: head.seq ?? 0, hash: head.hash ?? '' });
      expect(verified).toMatchObject({ intact: true });
      expect(Number(verified.rows)).toBeGreaterThan(1_000);
      expect(await hub.result('hub:verify_audit', { seq: head.seq ?? 0, hash: '0'.repeat(64) })).toMatchObject({ intact: false });

      const before = (await besieged().lock.commands()).length;
      const replayed = await hub.result('hub:replay_audit', { tool: 'core:echo@1.0.0' });
      expect(replayed).toMatchObject({ differing: 0 });
      const calls = replayed.calls as readonly JsonObject[];
      expect(calls.length).toBeGreaterThan(10);
      await hub.result('hub:replay_audit', { tool: UNLOCK });
      expect((await besieged().lock.commands()).length).toBe(before);
    });
  });
}

/** An answer of the pipeline in the invoke envelope, and an error. */
function isRefusedCall({ body }: Exchange): boolean {
  return /^\{"id":"[^"]+","request_id":"[^"]+"/.test(body) && body.includes('"status":"error"');
}

function requestOf({ body }: Exchange): string {
  return /"request_id":"([^"]+)"/.exec(body)?.[1] ?? '';
}
