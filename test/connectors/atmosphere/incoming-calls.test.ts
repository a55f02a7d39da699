import { expect, test } from 'vitest';
import { IncomingCalls } from '../../../src/connectors/atmosphere/relay-calls.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { ManualClock } from '../../manual-clock.ts';

function fixture(run: (tool: string, params: JsonObject, signal: AbortSignal) => Promise<Json> = async () => 42) {
  const asked: unknown[] = [];
  const lookedUp: string[] = [];
  const answers: [string, JsonObject][] = [];
  const seen = new Set<string>();
  const isFirst = (key: string) => seen.size < seen.add(key).size;
  const calls = {
    call: (tool: string, params: JsonObject, signal: AbortSignal) => {
      asked.push([tool, params]);
      return run(tool, params, signal);
    },
    may: () => true,
    [Symbol.dispose]() {},
  };
  const clock = new ManualClock();
  const parts = {
    clock,
    isAnnounced: (tool: string) => lookedUp.push(tool) > 0 && tool.startsWith('core:'),
    isFirst,
    answer: (node: string, payload: JsonObject) => void answers.push([node, payload]),
  };
  return {
    clock,
    asked,
    lookedUp,
    answers,
    incoming: new IncomingCalls({ ...parts, calls }),
    closed: new IncomingCalls({ ...parts, calls: undefined }),
  };
}

const call = { type: 'tool_call', app: 'hall', tool: 'core:echo', params: { text: 'x' }, request_id: 'r1' };

test('a call runs and its answer goes to the node that asked', async () => {
  const { asked, answers, incoming } = fixture();
  await incoming.handle('a', call);
  expect(asked).toEqual([['core:echo', { text: 'x' }]]);
  expect(answers).toEqual([['a', { type: 'tool_response', request_id: 'r1', status: 200, body: 42, tool: 'core:echo', target_node: 'a' }]]);
});

test('without incoming calls in the configuration nothing runs and no response is sent', async () => {
  const { asked, answers, closed } = fixture();
  await closed.handle('a', call);
  expect([asked, answers]).toEqual([[], []]);
});

test('the same call runs once', async () => {
  const { asked, answers, incoming } = fixture();
  await incoming.handle('a', call);
  await incoming.handle('a', call);
  await incoming.handle('a', { ...call, request_id: null });
  expect([asked.length, answers.length]).toEqual([1, 1]);
});

test.each<[string, JsonObject, number]>([
  ['a tool that is not announced', { tool: 'admin:mint_token' }, 404],
  ['no tool', { tool: null }, 404],
  ['parameters that are none', { params: [1] }, 400],
])('%s is refused without a call', async (_, over, status) => {
  const { asked, answers, incoming } = fixture();
  await incoming.handle('a', { ...call, ...over });
  expect([asked, answers]).toMatchObject([[], [['a', { status, body: { error: expect.any(String) } }]]]);
});

test('refusals of the hub are answered with their status and code', async () => {
  const { answers, incoming } = fixture(async () => {
    throw new AtmoError('APPROVAL_REQUIRED', 'A person has to approve it');
  });
  await incoming.handle('a', call);
  expect(answers).toMatchObject([['a', { status: 202, body: { code: 'APPROVAL_REQUIRED' } }]]);
});

test('a long result is none, and four calls run at once', async () => {
  const { answers, incoming } = fixture(async () => 'x'.repeat(300_000));
  await incoming.handle('a', call);
  expect(answers).toMatchObject([['a', { status: 413 }]]);
  const held = Promise.withResolvers<Json>();
  const busy = fixture(() => held.promise);
  const running = ['1', '2', '3', '4', '5'].map((id) => busy.incoming.handle('a', { ...call, request_id: id }));
  await running[4];
  expect(busy.answers).toMatchObject([['a', { request_id: '5', status: 503 }]]);
  held.resolve(1);
  await Promise.all(running);
  expect(busy.answers).toHaveLength(5);
});

test('a flood of calls is refused before anything is written down', async () => {
  const { asked, answers, incoming, clock } = fixture();
  for (let id = 0; id < 100; id++) await incoming.handle('a', { ...call, request_id: `r${id}` });
  expect([asked.length, answers.length]).toEqual([60, 100]);
  expect(answers.at(-1)?.[1]).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  clock.advance(60_000);
  await incoming.handle('a', { ...call, request_id: 'later' });
  expect(asked).toHaveLength(61);
});

test('a stopping hub cancels running calls and sends no responses', async () => {
  const { answers, incoming } = fixture(
    (_, __, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  );
  const running = incoming.handle('a', call);
  incoming[Symbol.dispose]();
  await running;
  expect(answers).toEqual([]);
});

test('a flood of calls to tools that are not announced is refused before the lookup', async () => {
  const { answers, incoming, lookedUp } = fixture();
  for (let id = 0; id < 100; id++) await incoming.handle('a', { ...call, tool: 'admin:x', request_id: `r${id}` });
  expect(lookedUp).toHaveLength(60);
  expect(answers.at(-1)?.[1]).toMatchObject({ status: 429 });
});
