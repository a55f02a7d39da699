import { describe, expect, test } from 'vitest';
import { signStatement } from '../../../src/codec/approval-statement.ts';
import { makePerson, statementFor } from '../../auth/approvals/approval-fixture.ts';
import { CALLER_TOKEN, makeApprovalHub, OTHER_TOKEN, tokenOf } from '../../cli/approval-hub.ts';
import { TOKEN } from '../http-fixture.ts';

const UNLOCK = '/api/v1/tools/matter%3Aunlock/invoke';

interface Ask {
  readonly token?: string;
  readonly method?: string;
  readonly body?: object;
}

async function makeDoor() {
  const hub = await makeApprovalHub();
  async function ask(path: string, { token = TOKEN, body, method = body ? 'POST' : 'GET' }: Ask = {}) {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
    const response = await hub.fetch(`http://127.0.0.1:8081${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: response.status, json: (await response.json()) as ReturnType<typeof JSON.parse> };
  }
  const pending = async (token = CALLER_TOKEN): Promise<string> =>
    (await ask(UNLOCK, { token, body: { pin: '4711' } })).json.error.details.approval_id;
  return { ...hub, ask, pending };
}

describe('approvals over HTTP', () => {
  test('a signature made from the answer alone opens the door once', async () => {
    const { ask, pending, enrol, unlocked } = await makeDoor();
    const ann = await enrol('ann');
    const id = await pending();
    const shown = await ask(`/api/v1/approvals/${id}`, { token: tokenOf('ann') });
    expect(shown).toMatchObject({ status: 200, json: { approval_id: id, state: 'pending', params: { pin: '[secret]' } } });
    const { approval_id, tool, call_hash, hub, expires_at } = shown.json;
    const statement = { approval_id, decision: 'approve', tool, call_hash, hub, expires_at, person: 'ann' } as const;
    const body = { decision: 'approve', person: 'ann', signature: signStatement(statement, ann.key) };
    expect(await ask(`/api/v1/approvals/${id}`, { token: tokenOf('ann'), body })).toMatchObject({
      status: 200,
      json: { state: 'approved' },
    });
    expect((await ask(`/api/v1/approvals/${id}`, { token: tokenOf('ann'), body })).status).toBe(409);
    expect((await ask(UNLOCK, { token: CALLER_TOKEN, body: { pin: '4711' } })).json).toMatchObject({ status: 'success' });
    expect((await ask(UNLOCK, { token: CALLER_TOKEN, body: { pin: '4711' } })).status).toBe(202);
    expect(unlocked).toEqual([{ pin: '4711' }]);
  });

  test('the owner token alone unlocks nothing', async () => {
    const { ask, pending, unlocked } = await makeDoor();
    const id = await pending(TOKEN);
    expect((await ask(UNLOCK, { body: { pin: '4711' } })).status).toBe(202);
    expect((await ask(`/api/v1/approvals/${id}`, { body: { decision: 'approve', person: 'owner', signature: 'AA' } })).status).toBe(403);
    expect((await ask(`/api/v1/approvals/${id}`, { body: { decision: 'approve' } })).status).toBe(400);
    expect(unlocked).toEqual([]);
  });

  test('another argument is another request', async () => {
    const { ask, pending, enrol, viewOf, say, unlocked } = await makeDoor();
    const ann = await enrol('ann');
    await say(viewOf(await pending()), ann);
    expect((await ask(UNLOCK, { token: CALLER_TOKEN, body: { pin: '4712' } })).status).toBe(202);
    expect((await ask(UNLOCK, { token: CALLER_TOKEN, body: { pin: '4711', seconds: 600 } })).status).toBe(202);
    expect(unlocked).toEqual([]);
  });

  test('requests of others do not exist for an agent', async () => {
    const { ask, pending } = await makeDoor();
    const id = await pending();
    expect((await ask('/api/v1/approvals', { token: CALLER_TOKEN })).json.approvals).toMatchObject([{ approval_id: id }]);
    expect((await ask('/api/v1/approvals', { token: OTHER_TOKEN })).json).toEqual({ approvals: [] });
    expect((await ask(`/api/v1/approvals/${id}`, { token: OTHER_TOKEN })).status).toBe(404);
    expect((await ask('/api/v1/approvals?state=denied')).json).toEqual({ approvals: [] });
    expect((await ask('/api/v1/approvals?state=lost')).status).toBe(400);
    expect((await ask('/api/v1/approvals/short')).status).toBe(400);
  });

  test('approvers are enrolled and removed with an approval', async () => {
    const { ask, enrol, viewOf, say } = await makeDoor();
    const ann = await enrol('ann');
    const body = { person: 'ben', key: makePerson('ben').raw, label: 'phone' };
    const waiting = await ask('/api/v1/approvers', { body });
    expect(waiting).toMatchObject({ status: 202, json: { code: 'APPROVAL_REQUIRED' } });
    const agree = (answer: typeof waiting) => say(viewOf(answer.json.details.approval_id), ann);
    await agree(waiting);
    const enrolled = await ask('/api/v1/approvers', { body });
    expect(enrolled).toMatchObject({ status: 201, json: { person: 'ben', label: 'phone' } });
    expect((await ask('/api/v1/approvers')).json.approvers).toHaveLength(2);
    const path = `/api/v1/approvers/${enrolled.json.key_id}`;
    await agree(await ask(path, { method: 'DELETE' }));
    expect(await ask(path, { method: 'DELETE' })).toMatchObject({ status: 200, json: { person: 'ben' } });
    expect((await ask(path, { method: 'DELETE', token: OTHER_TOKEN })).status).toBeGreaterThanOrEqual(403);
  });

  test('a statement for the same call of another caller does not serve', async () => {
    const { ask, pending, enrol, viewOf } = await makeDoor();
    const ann = await enrol('ann');
    const [mine, owners] = [await pending(), await pending(TOKEN)];
    expect(owners).not.toBe(mine);
    const signature = signStatement(statementFor(viewOf(mine), 'ann'), ann.key);
    expect((await ask(`/api/v1/approvals/${owners}`, { body: { decision: 'approve', person: 'ann', signature } })).status).toBe(403);
  });
});
