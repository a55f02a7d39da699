import { describe, expect, test } from 'vitest';
import { MAX_BODY_BYTES } from '../../../src/http/server/request-body.ts';
import { ask, HOST, makeHttpApi, TOKEN } from '../http-fixture.ts';

const PATH = '/api/v1/tools/echo/invoke';

function makeEcho() {
  const setup = makeHttpApi();
  const calls: unknown[] = [];
  setup.addTool({
    name: 'echo',
    parameters: { type: 'object', properties: { text: { type: 'string', description: 'x' } } },
    handler: async (params: { text?: string }) => calls.push(params),
  });
  return { ...setup, calls };
}

/** A body that comes in pieces and without a declared length; tells how many pieces were taken. */
async function stream(httpApi: ReturnType<typeof makeEcho>['httpApi'], pieces: number) {
  let taken = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (taken++ < pieces) controller.enqueue(new Uint8Array(16 * 1024).fill(0x20));
      else controller.close();
    },
  });
  const headers = { host: HOST, authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const response = await httpApi.app.request(new Request(`http://${HOST}${PATH}`, { method: 'POST', headers, body, duplex: 'half' }));
  return { status: response.status, taken };
}

describe('bodies', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/json-patch+json',
    'application/json; charset=latin1',
  ])('of type %s are refused before the tool is called', async (type) => {
    const { httpApi, calls } = makeEcho();
    const answer = await ask(httpApi, PATH, { body: '{}', headers: { 'content-type': type } });
    expect([answer.status, answer.json.code, calls.length]).toEqual([415, 'VALIDATION_ERROR', 0]);
  });

  test('without a type are refused unless they are empty', async () => {
    const { httpApi, calls } = makeEcho();
    const headers = { host: HOST, authorization: `Bearer ${TOKEN}` };
    const bare = new Request(`http://${HOST}${PATH}`, { method: 'POST', headers, body: new TextEncoder().encode('{}') });
    expect((await httpApi.app.request(bare)).status).toBe(415);
    expect((await ask(httpApi, PATH, { method: 'POST' })).status).toBe(200);
    expect(calls).toEqual([{}]);
  });

  test('JSON in UTF-8 is taken in any spelling of the type', async () => {
    const { httpApi, calls } = makeEcho();
    for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"']) {
      expect((await ask(httpApi, PATH, { body: { text: 'ü' }, headers: { 'content-type': type } })).status).toBe(200);
    }
    expect(calls).toEqual([{ text: 'ü' }, { text: 'ü' }, { text: 'ü' }]);
  });

  test('of 64 KiB are taken, one byte more is not', async () => {
    const { httpApi } = makeEcho();
    const fits = JSON.stringify({ text: 'x'.repeat(MAX_BODY_BYTES - 11) });
    expect(fits.length).toBe(MAX_BODY_BYTES);
    const headers = { 'content-length': String(MAX_BODY_BYTES) };
    expect((await ask(httpApi, PATH, { body: fits, headers })).status).not.toBe(413);
    const over = await ask(httpApi, PATH, { body: `${fits} `, headers: { 'content-length': String(MAX_BODY_BYTES + 1) } });
    expect([over.status, over.json.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  test('without a declared length are cut while they stream', async () => {
    const { httpApi } = makeEcho();
    expect(await stream(httpApi, 1_000)).toMatchObject({ status: 413 });
    expect((await stream(httpApi, 1_000)).taken).toBeLessThan(10);
    expect((await stream(httpApi, 4)).status).toBe(400);
  });

  test('that break off because the client goes away are no failure of the hub', async () => {
    const { httpApi, calls, logged } = makeEcho();
    const body = new ReadableStream({
      pull: (controller) => controller.error(Object.assign(new Error('aborted'), { code: 'ECONNRESET' })),
    });
    const headers = { host: HOST, authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const answer = await httpApi.app.request(`http://${HOST}${PATH}`, { method: 'POST', headers, body, duplex: 'half' });
    expect([answer.status, calls]).toEqual([499, []]);
    const events = logged.map((line) => JSON.parse(line)).filter(({ event }) => event.startsWith('http.'));
    expect(events).toMatchObject([{ level: 'debug', event: 'http.client_disconnected' }]);
  });

  test.each([
    '',
    '[]',
    'null',
    '"x"',
    '{',
    '{"a":1}}',
    `${'['.repeat(40)}${']'.repeat(40)}`,
    `{"a":${'{"a":'.repeat(32)}1${'}'.repeat(32)}}`,
  ])('that are no flat JSON object are refused: %s', async (body) => {
    const { httpApi } = makeEcho();
    const answer = await ask(httpApi, PATH, { body });
    expect(answer.status).toBe(body === '' ? 200 : 400);
  });

  test('nest by the brackets outside of their texts alone', async () => {
    const { httpApi, calls } = makeEcho();
    const text = `${'['.repeat(100)}"\\${'{'.repeat(100)}`;
    expect((await ask(httpApi, PATH, { body: { text } })).status).toBe(200);
    expect(calls).toEqual([{ text }]);
    expect((await ask(httpApi, PATH, { body: `{"text":"\\\\","a":${'['.repeat(40)}${']'.repeat(40)}}` })).text).toContain('deeper');
  });
});
