import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import type { ToolHandler } from '../../../src/tools/definition/tool-definition.ts';
import { HOST, makeHttpApi, TOKEN } from '../http-fixture.ts';

const SCAN: ToolHandler = async (_params, { progress }) => {
  progress(0.5, 'half', [1]);
  await new Promise((resolve) => setImmediate(resolve));
  progress(1, undefined, [2]);
  return { found: [1, 2] };
};

function makeScanner({ handler = SCAN, streams = true }: { readonly handler?: ToolHandler; readonly streams?: boolean } = {}) {
  const setup = makeHttpApi();
  setup.addTool({ name: 'scan', namespace: 'eye', execution: { stream_supported: streams, async_allowed: true }, handler });
  return async (accept: string | undefined, query = '') => {
    const headers = { host: HOST, authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...(accept && { accept }) };
    const url = `http://${HOST}/api/v1/tools/eye:scan/invoke${query}`;
    return setup.httpApi.app.request(url, { method: 'POST', headers, body: '{}' });
  };
}

async function linesOf(response: Response): Promise<readonly Record<string, unknown>[]> {
  const text = await response.text();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('a call that is told while it runs', () => {
  test('comes as Server-Sent Events to who accepts these', async () => {
    const response = await makeScanner()('text/event-stream');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const frames = (await response.text()).trim().split('\n\n');
    expect(frames.slice(0, 2)).toEqual([
      'event: tool_chunk\ndata: {"sequence":0,"fraction":0.5,"note":"half","partial":[1]}',
      'event: tool_chunk\ndata: {"sequence":1,"fraction":1,"partial":[2]}',
    ]);
    expect(frames[2]).toMatch(/^event: tool_response\n.*"status":"success".*"result":\{"found":\[1,2\]\}/);
    expect(frames).toHaveLength(3);
  });

  test.each([
    ['application/x-ndjson', ''],
    [undefined, '?stream=true'],
  ])('comes line by line with Accept %s and query %j', async (accept, query) => {
    const lines = await linesOf(await makeScanner()(accept, query));
    expect(lines.map(({ type }) => type)).toEqual(['tool_chunk', 'tool_chunk', 'tool_response']);
    expect(lines[2]).toMatchObject({ status: 'success', result: { found: [1, 2] } });
  });

  test('ends with its error when it fails on the way', async () => {
    const handler: ToolHandler = async (_params, { progress }) => {
      progress(0.1);
      throw new AtmoError('DEVICE_UNREACHABLE', 'gone');
    };
    const lines = await linesOf(await makeScanner({ handler })('application/x-ndjson'));
    expect(lines.at(-1)).toMatchObject({ type: 'tool_response', status: 'error', error: { code: 'DEVICE_UNREACHABLE' } });
  });

  test('is refused with the status of the error, by a tool without partial results and as a job', async () => {
    const refused = await makeScanner({ streams: false })('text/event-stream');
    expect(await refused.json()).toMatchObject({ status: 'error', error: { code: 'NOT_SUPPORTED' } });
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(await (await makeScanner()('text/event-stream', '?async=true')).json()).toMatchObject({ code: 'NOT_SUPPORTED' });
  });

  test.each([undefined, '*/*', 'application/json, text/event-stream'])('is answered in one piece to who accepts %s', async (accept) => {
    const response = await makeScanner()(accept);
    expect(await response.json()).toMatchObject({ status: 'success', result: { found: [1, 2] } });
  });

  test('ends when its client goes away', async () => {
    const ended = Promise.withResolvers<void>();
    const handler: ToolHandler = (_params, { progress, signal }) => {
      progress(0.1);
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          ended.resolve();
          reject(new AtmoError('CANCELLED', 'given up'));
        });
      });
    };
    const response = await makeScanner({ handler })('text/event-stream');
    await response.body?.cancel();
    await ended.promise;
  });
});
