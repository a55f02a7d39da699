import { expect, test } from 'vitest';
import { OutgoingCalls } from '../../../src/connectors/atmosphere/relay-calls.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';

const CALL = { node: 'b', app: 'horizon', tool: 'scan', params: { deep: true } };

function fixture(isUp = true) {
  const sent: [string, JsonObject][] = [];
  let ids = 0;
  const send = (node: string, payload: JsonObject) => {
    sent.push([node, payload]);
    return isUp;
  };
  const outgoing = new OutgoingCalls({ send, newId: () => `id-${ids++}` });
  const answer = (from: string, payload: JsonObject) => outgoing.settle(from, { type: 'tool_response', request_id: 'id-0', ...payload });
  return { sent, outgoing, answer, control: new AbortController() };
}

test('a call goes to one node, and its answer is the result', async () => {
  const { sent, outgoing, answer, control } = fixture();
  const result = outgoing.call(CALL, control.signal);
  expect(sent).toEqual([['b', { type: 'tool_call', app: 'horizon', tool: 'scan', params: { deep: true }, request_id: 'id-0' }]]);
  answer('b', { status: 200, body: { found: 3 } });
  expect(await result).toEqual({ found: 3 });
});

test('an answer of another node, or to another question, is none', async () => {
  const { outgoing, answer, control } = fixture();
  const result = outgoing.call(CALL, control.signal);
  answer('c', { status: 200, body: 'forged' });
  answer('b', { status: 200, body: 'forged', request_id: 'id-9' });
  answer('b', { status: 200, body: 'forged', request_id: ['id-0'] });
  answer('b', { status: 200, body: 'true' });
  answer('b', { status: 200, body: 'late' });
  expect(await result).toBe('true');
});

const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as Json;

test.each<[string, JsonObject, string]>([
  ['a refusal', { status: 404, body: { error: 'no' } }, 'SERVICE_REFUSED'],
  ['no status', { body: 1 }, 'SERVICE_REFUSED'],
  ['a status that is none', { status: deep, body: 1 }, 'SERVICE_REFUSED'],
  ['a body without end', { status: 200, body: 'x'.repeat(300_000) }, 'PAYLOAD_TOO_LARGE'],
  ['a body without ground', { status: 200, body: deep }, 'PAYLOAD_TOO_LARGE'],
  ['a refusal without ground', { status: 500, body: deep }, 'PAYLOAD_TOO_LARGE'],
])('%s is an honest error', async (_, payload, code) => {
  const { outgoing, answer, control } = fixture();
  const result = outgoing.call(CALL, control.signal);
  answer('b', payload);
  await expect(result).rejects.toMatchObject({ code });
});

test('a call that was not sent was not made; a call without a response may have been', async () => {
  await expect(fixture(false).outgoing.call(CALL, new AbortController().signal)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  const { outgoing, control } = fixture();
  const silent = outgoing.call(CALL, control.signal);
  control.abort(new Error('deadline'));
  await expect(silent).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  const lost = outgoing.call(CALL, new AbortController().signal);
  outgoing.rejectAll();
  await expect(lost).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
});

test('sixteen calls wait at once', async () => {
  const { outgoing, control } = fixture();
  const waiting = Array.from({ length: 16 }, () => outgoing.call(CALL, control.signal));
  await expect(outgoing.call(CALL, control.signal)).rejects.toMatchObject({ code: 'RESOURCE_EXCEEDED' });
  outgoing.rejectAll();
  expect((await Promise.allSettled(waiting)).every(({ status }) => status === 'rejected')).toBe(true);
});
