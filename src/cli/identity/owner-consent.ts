import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { readApproverKey } from './approver-key.ts';
import { signedDecision } from './approver-key-signature.ts';

const PERSON = 'owner';

/**
 * The owner's signed approval of the owner's own call (design 7: the owner calling with an approver key approves by the
 * call). Undefined without the key, where the owner has approved already and others have to, and for the request of
 * somebody else: an answer to the owner may name one, and what an agent asks for is for a person to look at.
 */
export function ownerDecision(request: JsonObject, stateDir: string): JsonObject | undefined {
  const file = join(stateDir, 'owner.key');
  if (!existsSync(file) || request.agent_id !== PERSON) return undefined;
  const approvals = Array.isArray(request.approved_by) ? request.approved_by.filter(isJsonObject) : [];
  if (approvals.some(({ person }) => person === PERSON)) return undefined;
  return signedDecision(request, { decision: 'approve', person: PERSON, key: readApproverKey(file) });
}
