import { expect, test } from 'vitest';
import { ask, makeHttpApi } from '../http-fixture.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

test('the trace of traceparent is in the envelope, the event and the row of the journal', async () => {
  const { httpApi, addTool, audited, heard } = makeHttpApi();
  addTool({ name: 'probe' });
  const headers = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, 'x-request-id': 'req-7' };
  const answer = await ask(httpApi, '/api/v1/tools/probe/invoke', { body: {}, headers });
  expect([answer.json.trace_id, answer.json.request_id]).toEqual([TRACE, 'req-7']);
  expect(answer.headers.get('traceparent')).toMatch(new RegExp(`^00-${TRACE}-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$`));
  expect(audited.map(({ kind, traceId, requestId }) => [kind, traceId, requestId])).toEqual([
    ['intent', TRACE, 'req-7'],
    ['outcome', TRACE, 'req-7'],
  ]);
  expect(heard.find(({ type }) => type === 'agi.tool.result')?.data.trace_id).toBe(TRACE);
});

test('a traceparent that breaks the rules of W3C begins a new trace, a good one keeps its flags', async () => {
  const { httpApi } = makeHttpApi();
  const answered = async (traceparent: string) => {
    const { headers } = await ask(httpApi, '/healthz', { headers: { traceparent } });
    return headers.get('traceparent') ?? '';
  };
  expect(await answered(`00-${TRACE}-00f067aa0ba902b7-00`)).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  const zeros = '0'.repeat(32);
  const wrong = [`00-${zeros}-00f067aa0ba902b7-01`, `00-${TRACE}-${'0'.repeat(16)}-01`, `ff-${TRACE}-00f067aa0ba902b7-01`, `00-${TRACE}`];
  for (const header of wrong) {
    const [, traceId] = /^00-([0-9a-f]{32})-[0-9a-f]{16}-01$/.exec(await answered(header)) ?? [];
    expect([header, traceId === undefined || traceId === TRACE || traceId === zeros]).toEqual([header, false]);
  }
});
