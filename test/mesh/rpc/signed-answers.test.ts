import { describe, expect, test } from 'vitest';
import { signToolResponse } from '../../../src/codec/messages/call.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { errorOfFrame } from '../../../src/mesh/rpc/incoming-requests.ts';
import { errorOfBody, SignedAnswers } from '../../../src/mesh/rpc/signed-answers.ts';
import { CountedDrops, identities } from './link-fixture.ts';

const executor = 'hub-0123456789abcdef' as HubId;
const body = { code: 'APPROVAL_REQUIRED', message: 'Ask a person', details: { approval_id: 'a1' }, retryable: false } as const;

describe('an error of another hub', () => {
  test('is told as it is', () => {
    expect(errorOfBody(body, executor)).toMatchObject({
      code: 'APPROVAL_REQUIRED',
      message: 'Ask a person',
      details: { approval_id: 'a1' },
    });
  });

  test('steers no terminal, and is no longer than anybody reads', () => {
    const message = `\u001b[2J\u202e${'x'.repeat(100_000)}`;
    const frame = { type: 'error', id: 1, code: 'TIMEOUT', message, details: '{}' } as const;
    for (const error of [errorOfBody({ ...body, message }, executor), errorOfFrame(frame)]) {
      expect(error.message).toMatch(/^ \[2J x+$/);
      expect(error.message).toHaveLength(2_048);
    }
    expect(errorOfBody({ ...body, details: { text: 'x'.repeat(100_000) } }, executor).details).toEqual({});
  });

  test('sends nobody to a third hub to approve what waits there', () => {
    const details = { approval_id: 'a1', node_id: 'hub-fedcba9876543210' };
    expect(errorOfBody({ ...body, details }, executor).details).toEqual({ approval_id: 'a1', node_id: executor });
  });
});

const [signer, other] = identities(2);
if (!signer || !other) throw new Error('two are needed');
const keys = new Map([signer, other].map(({ id, publicKey, verifyKey }) => [id, { key: publicKey, publicKey: verifyKey }]));
const answer = {
  id: 'a',
  requestId: 'r',
  status: 'success',
  execution: { nodeId: signer.id, durationUs: 1, hops: 1 },
  timeMs: 1,
  result: 'yes',
} as const;

test.each([
  ['as it should be', answer, signer, 'yes'],
  ['signed by another member', answer, other, undefined],
  ['to another request', { ...answer, requestId: 'q' }, signer, undefined],
  ['that says another hub has run it', { ...answer, execution: { ...answer.execution, nodeId: other.id } }, signer, undefined],
])('an answer %s', (_, response, by, result) => {
  const drops = new CountedDrops();
  const answers = new SignedAnswers({ members: { keyOf: (id) => keys.get(id) }, drops });
  const opened = answers.open(signToolResponse(response, by.key), { executor: signer.id, requestIds: ['r'] });
  expect(opened?.status === 'success' ? opened.result : undefined).toBe(result);
  expect(drops.counts).toEqual(result === undefined ? { 'call.forged_answer': 1 } : {});
});

test('an answer of a hub that is a member no more is not believed', () => {
  const answers = new SignedAnswers({ members: { keyOf: () => undefined }, drops: new CountedDrops() });
  expect(answers.open(signToolResponse(answer, signer.key), { executor: signer.id, requestIds: ['r'] })).toBeUndefined();
});
