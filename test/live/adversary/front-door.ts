import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readApproverKey, signedDecision } from '../../../src/cli/identity/approver-key.ts';
import { isJsonObject, type JsonObject } from '../../../src/core/json.ts';
import { type Attacker, type Exchange, objectOf } from './attacker.ts';
import { type BesiegedHome, SECOND_PERSON } from './besieged-home.ts';
import { PIN } from './besieged-house.ts';

const UNLOCK = 'matter:saffron_portal_unlock';
const LOCKED = 1;
const UNLOCKED = 2;

/** Two people open the front door for an agent, once. */
export function describeFrontDoor(besieged: () => BesiegedHome): void {
  describe('the front door', () => {
    let doorkeeper: Attacker;
    let request: JsonObject;

    test('stays locked for its agent until two people have agreed', async () => {
      const home = besieged();
      doorkeeper = home.attacker.as((await home.mint('doorkeeper', ['device:control:saffron-portal'])).token);
      const asked = await doorkeeper.invoke(UNLOCK, { pin: PIN });
      expect(errorOf(asked)).toMatchObject({ code: 'APPROVAL_REQUIRED', details: { needed: 2, given: 0 } });
      request = (await home.hub.get(`/api/v1/approvals/${approvalOf(asked)}`)) as JsonObject;
      expect(request).toMatchObject({ agent_id: 'doorkeeper', needed: 2, given: 0, state: 'pending' });
      expect(JSON.stringify(request)).not.toContain(PIN);

      expect(await decide(home, request.approval_id, byOwner(home, request))).toMatchObject({ given: 1, state: 'pending' });
      expect(errorOf(await doorkeeper.invoke(UNLOCK, { pin: PIN }))).toMatchObject({
        code: 'APPROVAL_REQUIRED',
        details: { approval_id: request.approval_id, given: 1 },
      });
      expect(await decide(home, request.approval_id, byOwner(home, request))).toMatchObject({ code: 'CONFLICT' });
      expect(await decide(home, request.approval_id, { ...byOwner(home, request), person: SECOND_PERSON })).toMatchObject({
        code: expect.any(String),
      });
      expect(await lockState(home)).toEqual({ state: LOCKED, unlocks: 0 });
    });

    test('opens for the very call that they agreed to, and for no other', async () => {
      const home = besieged();
      const second = signedDecision(request, { decision: 'approve', person: SECOND_PERSON, key: home.approverKey });
      expect(await decide(home, request.approval_id, second)).toMatchObject({ given: 2, state: 'approved' });

      const others: readonly Promise<Exchange>[] = [
        doorkeeper.invoke(UNLOCK, { pin: '1111' }),
        doorkeeper.invoke('control_device', { device_id: 'saffron-portal', command: 'unlock', params: { pin: PIN } }),
        doorkeeper.invoke('matter:saffron_portal_unlock_for', { seconds: 5, pin: PIN }),
        home.attacker.again().invoke(UNLOCK, { pin: PIN }),
      ];
      const codes = (await Promise.all(others)).map((exchange) => errorOf(exchange).code);
      expect(codes).toEqual(['APPROVAL_REQUIRED', 'APPROVAL_REQUIRED', expect.any(String), 'TOOL_NOT_FOUND']);
      expect(await lockState(home)).toEqual({ state: LOCKED, unlocks: 0 });

      expect(objectOf(await doorkeeper.invoke(UNLOCK, { pin: PIN }))).toMatchObject({ status: 'success' });
      expect(await lockState(home)).toEqual({ state: UNLOCKED, unlocks: 1 });
    });

    test('opens once: neither the call nor the approval can be used again', async () => {
      const home = besieged();
      await home.hub.result('matter:saffron_portal_lock', { pin: PIN });
      const again = errorOf(await doorkeeper.invoke(UNLOCK, { pin: PIN }));
      expect(again).toMatchObject({ code: 'APPROVAL_REQUIRED', details: { given: 0 } });
      const replayed = signedDecision(request, { decision: 'approve', person: SECOND_PERSON, key: home.approverKey });
      expect(await decide(home, request.approval_id, replayed)).toMatchObject({ code: 'CONFLICT' });
      const newer = isJsonObject(again.details) ? again.details.approval_id : undefined;
      expect(newer).not.toBe(request.approval_id);
      expect(await decide(home, newer, replayed)).toMatchObject({ code: expect.stringMatching(/PERMISSION_DENIED|VALIDATION_ERROR/) });
      expect(await lockState(home)).toEqual({ state: LOCKED, unlocks: 1 });
    });
  });
}

/** The owner agrees to somebody else's call by name and key, as any person does. */
function byOwner(home: BesiegedHome, request: JsonObject): JsonObject {
  return signedDecision(request, { decision: 'approve', person: 'owner', key: readApproverKey(join(home.stateDir, 'owner.key')) });
}

/** Hands in a signed decision through the owner's door; the answer, be it a refusal or the request. */
async function decide(home: BesiegedHome, approvalId: unknown, decision: JsonObject): Promise<JsonObject> {
  const response = await home.hub.request(`/api/v1/approvals/${approvalId}`, {
    method: 'POST',
    body: JSON.stringify(decision),
    headers: { 'content-type': 'application/json' },
  });
  return (await response.json()) as JsonObject;
}

async function lockState(home: BesiegedHome): Promise<{ readonly state: unknown; readonly unlocks: number }> {
  const commands = await home.lock.commands();
  return {
    state: await home.lock.get('lock', 'DoorLock', 'LockState'),
    unlocks: commands.filter(({ command }) => command.startsWith('unlock')).length,
  };
}

function approvalOf(exchange: Exchange): string {
  const { details } = errorOf(exchange);
  return isJsonObject(details) ? String(details.approval_id) : '';
}

function errorOf(exchange: Exchange): JsonObject {
  const { error } = objectOf(exchange);
  return isJsonObject(error) ? error : {};
}
