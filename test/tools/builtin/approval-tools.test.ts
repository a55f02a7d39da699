import { describe, expect, test } from 'vitest';
import { signStatement } from '../../../src/codec/approval-statement.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import { isJsonObject, type JsonObject } from '../../../src/core/json.ts';
import { approvalTools } from '../../../src/tools/builtin/approval-tools.ts';
import { AGENT, makeApprovals, makePerson, OWNER, type Person, requestOf, statementFor } from '../../auth/approvals/approval-fixture.ts';
import { listAuthorizer, makePipeline } from '../../calls/pipeline-fixture.ts';

const ADMIN: Principal = { id: 'warden', kind: 'agent', permissions: ['admin:approvals'] };
const STRANGER: Principal = { id: 'garden', kind: 'agent', permissions: ['*'] };

async function makeDesk() {
  const approvals = await makeApprovals();
  const setup = makePipeline({ approvals: approvals.queue });
  const ports = { approvals: approvals.queue, approvers: approvals.approvers, standing: approvals.standing, authorizer: listAuthorizer };
  for (const tool of approvalTools(ports)) setup.registry.register(tool);

  const call = (tool: string, params: JsonObject, principal: Principal) => setup.pipeline.call({ tool: `hub:${tool}`, params, principal });

  async function result(tool: string, params: JsonObject, principal: Principal): Promise<JsonObject> {
    const answer = await call(tool, params, principal);
    if (answer.status !== 'success' || !isJsonObject(answer.result)) throw new Error(JSON.stringify(answer));
    return answer.result;
  }

  async function refusal(tool: string, params: JsonObject, principal: Principal): Promise<string> {
    const answer = await call(tool, params, principal);
    return answer.status === 'error' ? answer.error.code : 'none';
  }

  /** Approves what a dangerous call waits for, and makes it again. */
  async function agreed(tool: string, params: JsonObject, person: Person): Promise<JsonObject> {
    const first = await call(tool, params, OWNER);
    if (first.status !== 'error') throw new Error('the call waited for nobody');
    await approvals.say(approvals.viewOf(String(first.error.details.approval_id)), person);
    return result(tool, params, OWNER);
  }

  return { ...approvals, setup, result, refusal, agreed };
}

describe('requests for approval', () => {
  test('are seen by who asks and by admins of approvals; for others they do not exist', async () => {
    const { file, result, refusal } = await makeDesk();
    const { approval_id } = await file();
    for (const principal of [AGENT, ADMIN, OWNER]) {
      expect((await result('list_approvals', {}, principal)).approvals).toMatchObject([{ approval_id }]);
      expect(await result('show_approval', { approval_id }, principal)).toMatchObject({ approval_id, state: 'pending' });
    }
    for (const principal of [STRANGER, { ...AGENT, id: 'kitchen/child' }, { ...STRANGER, id: 'kitchen', kind: 'hub' } as const]) {
      expect((await result('list_approvals', {}, principal)).approvals).toEqual([]);
      expect(await refusal('show_approval', { approval_id }, principal)).toBe('NOT_FOUND');
      expect(await refusal('show_approval', { approval_id: 'f'.repeat(32) }, principal)).toBe('NOT_FOUND');
    }
  });

  test('say in words who wants what, and what it touches', async () => {
    const { file, result } = await makeDesk();
    const { approval_id } = await file(requestOf({ params: { pin: '[secret]', seconds: 5 } }));
    expect(await result('show_approval', { approval_id }, ADMIN)).toMatchObject({
      summary: 'kitchen wants: Unlock the front door (pin: [secret], seconds: 5), which does this: Unlock Front door (Hall)',
      needed: 1,
      given: 0,
      expires_at: '2026-01-01T00:10:00.000Z',
      effects: [{ target: 'door/1/DoorLock/UnlockDoor', risk: 'dangerous' }],
    });
  });

  test('quote what an agent wrote, so that it cannot read like part of the question', async () => {
    const { file, result } = await makeDesk();
    const params = { note: 'x), which touches lamp\u202e', long: 'a'.repeat(500), list: [1, 'b'] };
    const { approval_id } = await file(requestOf({ params }));
    const { summary, params: whole } = await result('show_approval', { approval_id }, ADMIN);
    expect(summary).toMatch(
      /\(note: "x\), which touches lamp\\u\{202e\}", long: "a{119}… and 382 characters more, see params, list: \[1,"b"\]\), which does this: Unlock Front door \(Hall\)$/,
    );
    expect(whole).toEqual(params);
  });

  test('are listed by state', async () => {
    const { file, enrol, say, result } = await makeDesk();
    const ann = await enrol('ann');
    await say(await file(), ann, 'deny');
    await file(requestOf({ callHash: 'cd'.repeat(32) }));
    const states = async (params: JsonObject) => (await result('list_approvals', params, ADMIN)).approvals;
    expect(await states({})).toMatchObject([{ state: 'pending' }, { state: 'denied' }]);
    expect(await states({ state: 'denied' })).toMatchObject([{ state: 'denied', denied_by: 'ann' }]);
    expect(await states({ state: 'pending' })).toMatchObject([{ state: 'pending' }]);
    await say(await file(requestOf({ callHash: 'ef'.repeat(32) })), ann);
    expect(await states({ state: 'approved' })).toMatchObject([{ state: 'approved', given: 1 }]);
    expect(await states({ state: 'pending' })).toMatchObject([{ state: 'pending', given: 0 }]);
  });

  test('are decided by the signature, handed in by an admin, which no journal row repeats', async () => {
    const { file, enrol, result, refusal, setup } = await makeDesk();
    const ann = await enrol('ann');
    const view = await file();
    const signature = signStatement(statementFor(view, 'ann'), ann.key);
    const params = { approval_id: view.approval_id, decision: 'approve', person: 'ann', signature };
    expect(await refusal('decide_approval', params, AGENT)).not.toBe('none');
    expect(await refusal('decide_approval', { ...params, signature: 'AA' }, ADMIN)).toBe('PERMISSION_DENIED');
    expect(await refusal('decide_approval', { ...params, decision: 'perhaps' }, ADMIN)).toBe('VALIDATION_ERROR');
    expect(setup.audited.filter(({ kind }) => kind !== 'intent')).toMatchObject([
      { toolId: 'hub:decide_approval', principal: { id: AGENT.id }, error: 'TOOL_NOT_FOUND' },
      { toolId: 'hub:decide_approval@1.0.0', principal: { id: ADMIN.id }, error: 'PERMISSION_DENIED' },
      { toolId: 'hub:decide_approval@1.0.0', principal: { id: ADMIN.id }, error: 'VALIDATION_ERROR' },
    ]);
    expect(await result('decide_approval', params, ADMIN)).toMatchObject({ state: 'approved', approved_by: [{ person: 'ann' }] });
    expect(JSON.stringify([setup.audited, setup.heard])).not.toContain(signature);
  });
});

describe('approvers', () => {
  test('are enrolled and removed only when one of them agrees', async () => {
    const { enrol, agreed, refusal, approvers, result } = await makeDesk();
    const ann = await enrol('ann');
    const ben = makePerson('ben');
    const params = { person: 'ben', key: ben.raw, label: 'phone' };
    expect(await refusal('enroll_approver', params, OWNER)).toBe('APPROVAL_REQUIRED');
    expect(await refusal('enroll_approver', params, STRANGER)).not.toBe('none');
    expect(approvers.keysOf('ben')).toEqual([]);
    const enrolled = await agreed('enroll_approver', params, ann);
    expect(enrolled).toMatchObject({ person: 'ben', key: ben.raw, label: 'phone' });
    expect((await result('list_approvers', {}, ADMIN)).approvers).toMatchObject([{ person: 'ann' }, { person: 'ben' }]);
    const removal = { key_id: String(enrolled.key_id) };
    expect(await refusal('remove_approver', removal, OWNER)).toBe('APPROVAL_REQUIRED');
    expect(await agreed('remove_approver', removal, ann)).toMatchObject({ person: 'ben' });
    expect(approvers.list()).toHaveLength(1);
  });

  test('are named by person where a key is to go', async () => {
    const { enrol, refusal, approvers, queue } = await makeDesk();
    await enrol('ann');
    await refusal('remove_approver', { key_id: approvers.list()[0]?.keyId ?? '' }, OWNER);
    expect(queue.list()[0]?.view.effects).toEqual([
      { target: `approver/ann/${approvers.list()[0]?.keyId}`, permission: 'admin:approvals', risk: 'dangerous' },
    ]);
  });

  test('are told to nobody without the permission', async () => {
    const { refusal } = await makeDesk();
    expect(await refusal('list_approvers', {}, STRANGER)).not.toBe('none');
  });
});
