import { describe, expect, test } from 'vitest';
import { settled } from '../../calls/pipeline-fixture.ts';
import { INITIALIZE, INITIALIZED, makeBridge, type Seen, Stream, statement } from '../mcp-bridge-fixture.ts';

const result = (seen: Seen, value: object = {}) => Response.json({ jsonrpc: '2.0', id: seen.message?.id, result: value });
const gone = () => Promise.reject(new TypeError('fetch failed'));

/** A hub with sessions that forgets all of them when told. */
function legacyHub() {
  let sessions = 0;
  let known = '';
  const streams: Stream[] = [];
  return {
    streams,
    forget: () => {
      known = '';
      streams.at(-1)?.cut();
    },
    answer(seen: Seen): Response {
      if (seen.message?.method === 'initialize') {
        known = `session-${++sessions}`;
        const value = { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: {} };
        return Response.json({ jsonrpc: '2.0', id: seen.message.id, result: value }, { headers: { 'mcp-session-id': known } });
      }
      if (seen.headers.get('mcp-session-id') !== known) return new Response('', { status: 404 });
      if (seen.method === 'GET') {
        const stream = new Stream(seen.signal);
        streams.push(stream);
        return stream.response;
      }
      if (seen.message?.id === undefined) return new Response(null, { status: 202 });
      return result(seen, { did: seen.message.method ?? '' });
    },
  };
}

describe('the bridge, for clients with a handshake', () => {
  test('sends the session and its version in the headers, and ends it with the client', async () => {
    const hub = legacyHub();
    const { say, read, seen, hangUp } = makeBridge(hub.answer);
    await say(INITIALIZE, INITIALIZED, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect(read()).toMatchObject([
      { id: 0, result: { protocolVersion: '2025-11-25' } },
      { id: 1, result: { did: 'tools/list' } },
    ]);
    const posts = seen.filter(({ method }) => method === 'POST');
    expect(posts.map(({ headers }) => headers.get('mcp-session-id'))).toEqual([null, 'session-1', 'session-1']);
    expect(posts[2]?.headers.get('mcp-protocol-version')).toBe('2025-11-25');
    expect(posts[2]?.headers.get('mcp-method')).toBeNull();
    expect(posts[2]?.headers.get('authorization')).toBe('Bearer at1.agent');
    await hangUp();
    expect(seen.at(-1)).toMatchObject({ method: 'DELETE' });
  });

  test('forwards notifications of the hub, and resumes a cut stream after the last one', async () => {
    const hub = legacyHub();
    const { say, read, seen, clock, hangUp } = makeBridge(hub.answer);
    await say(INITIALIZE, INITIALIZED);
    hub.streams[0]?.send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }, 'e7');
    await settled();
    expect(read().at(-1)).toMatchObject({ method: 'notifications/tools/list_changed' });
    hub.streams[0]?.cut();
    await settled();
    clock.advance(1_000);
    await settled();
    expect(seen.at(-1)?.headers.get('last-event-id')).toBe('e7');
    await hangUp();
  });

  test('makes the session again on a restarted hub, with the subscriptions, and notifies that everything may have changed', async () => {
    const hub = legacyHub();
    const { say, read, seen, hangUp } = makeBridge(hub.answer);
    const subscribe = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'atmo://sensors/a/b' } };
    await say(INITIALIZE, INITIALIZED, subscribe);
    hub.forget();
    await say({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    expect(read().slice(2)).toMatchObject([
      { method: 'notifications/tools/list_changed' },
      { method: 'notifications/resources/updated', params: { uri: 'atmo://sensors/a/b' } },
      { id: 2, result: { did: 'tools/list' } },
    ]);
    const again = seen.filter(({ headers }) => headers.get('mcp-session-id') === 'session-2').map(({ message }) => message?.method);
    expect(again).toEqual(expect.arrayContaining(['notifications/initialized', 'resources/subscribe', 'tools/list']));
    await hangUp();
  });

  test('notifies again that everything may have changed once the stream is open, since earlier changes were missed', async () => {
    const hub = legacyHub();
    const { say, read, clock, hangUp } = makeBridge(hub.answer);
    const uri = 'atmo://sensors/a/b';
    await say(INITIALIZE, INITIALIZED, { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } });
    hub.forget();
    await say({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    const before = read().length;
    expect(hub.streams).toHaveLength(1);
    clock.advance(1_000);
    await settled();
    expect(hub.streams).toHaveLength(2);
    expect(read().slice(before)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
      { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } },
    ]);
    await hangUp();
  });

  test('repeats a subscription that a hub refuses just after its start', async () => {
    const hub = legacyHub();
    let refusals = 0;
    const refuse = ({ message }: Seen) => Response.json({ jsonrpc: '2.0', id: message?.id, error: { code: -32_602, message: 'not yet' } });
    const { say, read, seen, clock, hangUp } = makeBridge((request) => {
      const isAgain = request.message?.method === 'resources/subscribe' && request.headers.get('mcp-session-id') === 'session-2';
      return isAgain && refusals++ < 2 ? refuse(request) : hub.answer(request);
    });
    const uri = 'atmo://sensors/a/b';
    await say(INITIALIZE, INITIALIZED, { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } });
    hub.forget();
    await say({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    for (let second = 0; second < 5; second++) {
      clock.advance(1_000);
      await settled();
    }
    expect(seen.filter(({ message }) => message?.method === 'resources/subscribe')).toHaveLength(4);
    expect(read().at(-1)).toMatchObject({ method: 'notifications/resources/updated', params: { uri } });
    await hangUp();
  });

  test('reports at once that the hub is gone, and works when it is back', async () => {
    const hub = legacyHub();
    let isUp = true;
    const { say, read, hangUp } = makeBridge((seen) => (isUp ? hub.answer(seen) : gone()));
    await say(INITIALIZE, INITIALIZED);
    isUp = false;
    hub.forget();
    await say({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect(read().at(-1)).toMatchObject({ id: 1, error: { code: -32_000, data: { code: 'HUB_UNREACHABLE', retryable: true } } });
    isUp = true;
    await say({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    expect(read().at(-1)).toMatchObject({ id: 2, result: { did: 'tools/list' } });
    await hangUp();
  });

  test('reports an untrusted certificate with the command to trust it', async () => {
    const cause = Object.assign(new Error('self-signed certificate in certificate chain'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' });
    const { say, read, hangUp } = makeBridge(() => Promise.reject(new TypeError('fetch failed', { cause })));
    await say(INITIALIZE);
    expect(read()).toMatchObject([{ error: { message: expect.stringMatching(/not trusted.*atmo tls trust FINGERPRINT/) } }]);
    await hangUp();
  });

  test('a refused request is an error response with its code, and the stream is not opened again', async () => {
    const refuse = () => Response.json({ code: 'TOKEN_INVALID', detail: 'revoked', details: {} }, { status: 401 });
    const hub = legacyHub();
    let isRevoked = false;
    const { say, read, seen, clock, hangUp } = makeBridge((request) => (isRevoked ? refuse() : hub.answer(request)));
    await say(INITIALIZE, INITIALIZED);
    isRevoked = true;
    hub.streams[0]?.cut();
    await say({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect(read().at(-1)).toMatchObject({ id: 1, error: { message: 'TOKEN_INVALID: revoked' } });
    for (let second = 0; second < 5; second++) {
      clock.advance(1_000);
      await settled();
    }
    expect(seen.filter(({ method }) => method === 'GET')).toHaveLength(2);
    await hangUp();
  });

  test('a call that was cut off is reported as possibly done', async () => {
    const hub = legacyHub();
    const stream = new Stream();
    const { say, read, hangUp } = makeBridge((seen) => (seen.message?.id === 5 ? stream.response : hub.answer(seen)));
    await say(INITIALIZE, INITIALIZED, { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'toggle' } });
    stream.send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 5, progress: 0.5 } });
    stream.end();
    await settled();
    expect(read().slice(-2)).toMatchObject([{ method: 'notifications/progress' }, { id: 5, error: { data: { code: 'OUTCOME_UNKNOWN' } } }]);
    await hangUp();
  });
});

describe('the bridge, for clients of 2026-07-28', () => {
  test('repeats version, method and name in the headers, in base64 where a header cannot hold them', async () => {
    const { say, read, seen, hangUp } = makeBridge((request) => result(request, { resultType: 'complete' }));
    await say(statement('a', 'tools/list'), statement('b', 'tools/call', { name: 'home_overview', arguments: {} }));
    await say(statement('c', 'resources/read', { uri: 'atmo://areas/Küche' }));
    const [list, call, read3] = seen.map(({ headers }) => [headers.get('mcp-method'), headers.get('mcp-name')]);
    expect([list, call]).toEqual([
      ['tools/list', null],
      ['tools/call', 'home_overview'],
    ]);
    expect(read3).toEqual(['resources/read', `=?base64?${Buffer.from('atmo://areas/Küche').toString('base64')}?=`]);
    expect(seen.every(({ headers }) => headers.get('mcp-protocol-version') === '2026-07-28' && !headers.has('mcp-session-id'))).toBe(true);
    expect(read().map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    await hangUp();
    expect(seen.some(({ method }) => method === 'DELETE')).toBe(false);
  });

  test('cancelling a request ends it on the hub, and no response is written', async () => {
    const { say, read, seen, hangUp } = makeBridge((request) => new Stream(request.signal).response);
    await say(statement('slow', 'tools/call', { name: 'wait' }));
    await say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'slow' } });
    expect(seen[0]?.signal?.aborted).toBe(true);
    expect(read()).toEqual([]);
    expect(seen).toHaveLength(1);
    await hangUp();
  });

  test('a subscription survives a restart of the hub; the client is notified of changes that it may have missed', async () => {
    const streams: Stream[] = [];
    let isUp = true;
    const acknowledged = { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: {} };
    const { say, read, clock, hangUp } = makeBridge((request) => {
      if (!isUp) return gone();
      const stream = new Stream(request.signal);
      streams.push(stream);
      stream.send(acknowledged);
      return stream.response;
    });
    await say(statement('s', 'subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: ['atmo://x'] } }));
    isUp = false;
    streams[0]?.send({ jsonrpc: '2.0', id: 's', result: {} });
    streams[0]?.end();
    for (const up of [false, true]) {
      isUp = up;
      await settled();
      clock.advance(1_000);
      await settled();
    }
    expect(read()).toMatchObject([
      acknowledged,
      { method: 'notifications/tools/list_changed', params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 's' } } },
      { method: 'notifications/resources/updated', params: { uri: 'atmo://x' } },
    ]);
    await hangUp();
    expect(streams).toHaveLength(2);
  });

  test('a subscription that the hub refuses, or without a hub, is an error response', async () => {
    const { say, read, hangUp } = makeBridge(gone);
    await say(statement('s', 'subscriptions/listen', { notifications: {} }));
    expect(read()).toMatchObject([{ id: 's', error: { data: { code: 'HUB_UNREACHABLE' } } }]);
    await hangUp();
  });
});

describe('the bridge, for lines that are no messages', () => {
  test('answers with the codes of JSON-RPC and goes on', async () => {
    const { say, read, seen, hangUp } = makeBridge((request) => result(request));
    await say('{', '[]', '{"id":1}', '', statement(1, 'server/discover'));
    expect(read().map(({ error, id }) => [id, (error as { code?: number } | undefined)?.code])).toEqual([
      [null, -32_700],
      [null, -32_600],
      [null, -32_600],
      [1, undefined],
    ]);
    expect(seen).toHaveLength(1);
    await hangUp();
  });

  test('every line of stdout is one message, also when texts hold line breaks of other kinds', async () => {
    const { say, lines, read, hangUp } = makeBridge((request) => {
      const stream = new Stream();
      stream.send({ jsonrpc: '2.0', id: request.message?.id ?? null, result: { text: 'a\nb\u2028c\r' } });
      stream.end();
      return stream.response;
    });
    await say(statement(1, 'tools/call', { name: 'x' }));
    expect(lines).toHaveLength(1);
    expect(read()[0]).toMatchObject({ result: { text: 'a\nb\u2028c\r' } });
    await hangUp();
  });
});

test('a line that is longer than any message is rejected, and the next one is accepted', async () => {
  const { say, type, read, seen, hangUp } = makeBridge((request) => result(request));
  const [head = '', tail = ''] = JSON.stringify(statement(1, 'ping', { padding: '|' })).split('|');
  await type(head);
  for (let count = 0; count < 5; count++) await type('x'.repeat(1_048_576));
  await say(tail, statement(2, 'ping'));
  expect(read()).toMatchObject([
    { id: null, error: { code: -32_700 } },
    { id: 2, result: {} },
  ]);
  expect(seen).toHaveLength(1);
  await hangUp();
});
