import { describe, expect, test } from 'vitest';
import { frameCodec } from '../../../src/codec/messages/connection.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { CONTROL_PROTOCOL } from '../../../src/mesh/rpc/control-links.ts';
import type { IncomingRequest, RequestHandler } from '../../../src/mesh/rpc/peer-link.ts';
import { settled } from '../../calls/pipeline-fixture.ts';
import { identities, LinkFixture, never, requireLink } from './link-fixture.ts';

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const bytes = (value: string) => Buffer.from(value);
const echo: RequestHandler = async ({ body }) => body;

async function pair(options: { readonly rate?: { burst: number; perSecond: number }; readonly latencyMs?: number } = {}) {
  const setup = new LinkFixture(options);
  const [low, high] = identities(2);
  if (!low || !high) throw new Error('two are needed');
  const a = await setup.add(low, options);
  const b = await setup.add(high, options);
  await setup.connect(0, 1);
  return { setup, a, b, ab: requireLink(a.links.to(b.engine.id)), ba: requireLink(b.links.to(a.engine.id)) };
}

/** Answers when told to. */
function heldHandler() {
  const requests: IncomingRequest[] = [];
  const answers: { resolve: (body: Uint8Array) => void; reject: (error: unknown) => void }[] = [];
  const handler: RequestHandler = (request) => {
    requests.push(request);
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    answers.push({ resolve, reject });
    return promise;
  };
  return { handler, requests, answers };
}

describe('a control stream', () => {
  test('carries requests of both sides at once', async () => {
    const { a, b, ab, ba } = await pair();
    for (const hub of [a, b]) hub.links.handle('invoke', echo);
    const sent = Array.from({ length: 30 }, (_, index) => `${index}`);
    const asked = sent.flatMap((body) => [ab, ba].map((link) => link.request('invoke', bytes(body), { signal: never })));
    expect((await Promise.all(asked)).map(text)).toEqual(sent.flatMap((body) => [body, body]));
  });

  test('is one, whoever dialled and however often', async () => {
    const setup = new LinkFixture();
    const [low, high] = identities(2);
    if (!low || !high) throw new Error('two are needed');
    await setup.add(high);
    await setup.add(low);
    await Promise.all([setup.connect(0, 1), setup.connect(1, 0)]);
    await setup.run(3_000);
    expect(setup.hubs.map(({ links }) => links.links().length)).toEqual([1, 1]);
    expect(setup.hubs.flatMap(({ links }) => links.links().map((link) => link.peer.id)).sort()).toEqual([low.id, high.id]);
  });

  test('is opened by the hub with the higher id when the other one does not', async () => {
    const setup = new LinkFixture();
    const [low, high] = identities(2);
    if (!low || !high) throw new Error('two are needed');
    const a = await setup.add(low, { linksRun: false });
    const b = await setup.add(high);
    const opened: string[] = [];
    a.engine.handle(CONTROL_PROTOCOL, (stream) => opened.push(stream.peer.id));
    await setup.connect(0, 1);
    expect(opened).toEqual([]);
    await setup.run(1_000);
    expect(opened).toEqual([b.engine.id]);
  });

  test('is opened again after it broke while the connection lives', async () => {
    const { setup, a, b, ab } = await pair();
    b.links.handle('invoke', echo);
    const lost: string[] = [];
    a.links.onLinkDown((link) => lost.push(link.peer.id));
    (ab as unknown as { end(reason: string): void }).end('closed');
    await setup.run(1_000);
    expect(lost).toEqual([b.engine.id]);
    const again = requireLink(a.links.to(b.engine.id));
    expect(again).not.toBe(ab);
    expect(text(await again.request('invoke', bytes('hi'), { signal: never }))).toBe('hi');
  });

  test('tells errors as they are, details included', async () => {
    const { b, ab } = await pair();
    b.links.handle('sync', async () => {
      throw new AtmoError('PERMISSION_DENIED', 'Not yours', { required: ['a:b'] });
    });
    const failure = ab.request('sync', bytes(''), { signal: never });
    await expect(failure).rejects.toMatchObject({ code: 'PERMISSION_DENIED', message: 'Not yours', details: { required: ['a:b'] } });
  });

  test('tells a bug as INTERNAL_ERROR and not what it was', async () => {
    const { b, ab } = await pair();
    b.links.handle('sync', async () => {
      throw new TypeError('secret');
    });
    await expect(ab.request('sync', bytes(''), { signal: never })).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
    await expect(ab.request('sync', bytes(''), { signal: never })).rejects.not.toMatchObject({ message: 'secret' });
  });

  test('says that a kind of request is not known', async () => {
    const { ab } = await pair();
    await expect(ab.request('blobs', bytes(''), { signal: never })).rejects.toMatchObject({ code: 'NOT_SUPPORTED' });
  });
});

describe('long bodies', () => {
  test('of a few MiB travel both ways while short requests overtake them', async () => {
    const { b, ab } = await pair();
    b.links.handle('blobs', echo);
    const long = Buffer.alloc(3_500_000, 'abcdefg');
    const order: string[] = [];
    const slow = ab.request('blobs', long, { signal: never }).then((body) => {
      order.push('long');
      return body;
    });
    const quick = ab.request('blobs', bytes('x'), { signal: never }).then(() => order.push('short'));
    const [answer] = await Promise.all([slow, quick]);
    expect(Buffer.compare(answer, long)).toBe(0);
    expect(order).toEqual(['short', 'long']);
  });

  test('of more than 4 MiB are refused before anything is sent', async () => {
    const { b, ab } = await pair();
    b.links.handle('blobs', async () => new Uint8Array(4_194_305));
    const request = (size: number) => ab.request('blobs', new Uint8Array(size), { signal: never });
    await expect(request(4_194_305)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    await expect(request(1)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });

  test('are not kept without bound: what is too much is refused, and the link lives', async () => {
    const { setup, b, ab } = await pair();
    b.links.handle('blobs', async ({ body }) => bytes(String(body.length)));
    const asked = await Promise.all(
      Array.from({ length: 8 }, () => ab.request('blobs', new Uint8Array(4_000_000), { signal: never }).then(text, (error) => error.code)),
    );
    await setup.run(0);
    expect(new Set(asked)).toEqual(new Set(['4000000', 'RESOURCE_EXCEEDED']));
    expect(text(await ab.request('blobs', new Uint8Array(70_000), { signal: never }))).toBe('70000');
  });
});

describe('parts', () => {
  test('come in order before the answer', async () => {
    const { b, ab } = await pair();
    b.links.handle('subscribe', async (request) => {
      for (const part of ['1', '2', '3']) await request.part(bytes(part));
      return bytes('end');
    });
    const heard: string[] = [];
    const answer = await ab.request('subscribe', bytes(''), { signal: never, onPart: (part) => void heard.push(text(part)) });
    expect([...heard, text(answer)]).toEqual(['1', '2', '3', 'end']);
  });

  test('wait while a window of them is unread, and the answer waits for their reader', async () => {
    const { b, ab } = await pair();
    let sent = 0;
    b.links.handle('subscribe', async (request) => {
      for (; sent < 40; sent++) await request.part(new Uint8Array(32_768));
      return bytes('end');
    });
    const gate = Promise.withResolvers<void>();
    let read = 0;
    const answer = ab.request('subscribe', bytes(''), {
      signal: never,
      onPart: async () => {
        await gate.promise;
        read++;
      },
    });
    await settled();
    expect(sent).toBe(8);
    gate.resolve();
    expect(text(await answer)).toBe('end');
    expect([sent, read]).toEqual([40, 40]);
  });

  test('that are too long are refused to the sender', async () => {
    const { b, ab } = await pair();
    b.links.handle('subscribe', async (request) => {
      await request.part(new Uint8Array(50_000));
      return bytes('');
    });
    await expect(ab.request('subscribe', bytes(''), { signal: never })).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });
});

describe('an abort', () => {
  test('answers CANCELLED at once and tells the peer', async () => {
    const { b, ab } = await pair();
    const { handler, requests } = heldHandler();
    b.links.handle('invoke', handler);
    const controller = new AbortController();
    const answer = ab.request('invoke', bytes(''), { signal: controller.signal });
    await settled();
    controller.abort();
    await expect(answer).rejects.toMatchObject({ code: 'CANCELLED' });
    await settled();
    expect(requests[0]?.signal.aborted).toBe(true);
  });

  test('leaves the peer some time for its own words where the caller says so', async () => {
    const { setup, b, ab } = await pair();
    const { handler, answers } = heldHandler();
    b.links.handle('invoke', handler);
    const controller = new AbortController();
    const asked = [1, 2].map(() =>
      ab.request('invoke', bytes(''), { signal: controller.signal, cancelGraceMs: 200 }).catch((error) => error),
    );
    await settled();
    controller.abort();
    answers[0]?.reject(new AtmoError('OUTCOME_UNKNOWN', 'half done'));
    await setup.run(250);
    expect((await Promise.all(asked)).map((error) => error.code)).toEqual(['OUTCOME_UNKNOWN', 'CANCELLED']);
  });
});

describe('a lost connection', () => {
  test('before the accept is NODE_UNAVAILABLE, after it OUTCOME_UNKNOWN, and both are told to be lost', async () => {
    const { setup, a, b, ab } = await pair();
    const { handler, requests } = heldHandler();
    b.links.handle('invoke', handler);
    const lost: string[] = [];
    const ask = (name: string) =>
      ab.request('invoke', bytes(''), { signal: never, onLost: () => lost.push(name) }).catch((error) => error.code);
    const asked = [ask('first'), ask('second')];
    await settled();
    requests[1]?.accept();
    await settled();
    await a.engine.disconnect(b.engine.id);
    await setup.run(0);
    expect(await Promise.all(asked)).toEqual(['NODE_UNAVAILABLE', 'OUTCOME_UNKNOWN']);
    expect(lost).toEqual(['first', 'second']);
    await expect(ab.request('invoke', bytes(''), { signal: never })).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
  });

  test('ends what was attached to it and lets detached work go on', async () => {
    const { setup, a, b, ab } = await pair();
    const { handler, requests } = heldHandler();
    b.links.handle('invoke', handler);
    const asked = [1, 2].map(() => ab.request('invoke', bytes(''), { signal: never }).catch(() => {}));
    await settled();
    requests[0]?.accept('attached');
    requests[1]?.accept('detached');
    await a.engine.disconnect(b.engine.id);
    await setup.run(0);
    await Promise.all(asked);
    expect(requests.map((request) => request.signal.aborted)).toEqual([true, false]);
  });

  test('is told by a goodbye at once', async () => {
    const { setup, a, b, ab } = await pair();
    const { handler } = heldHandler();
    b.links.handle('invoke', handler);
    const answer = ab.request('invoke', bytes(''), { signal: never }).catch((error) => error.code);
    await settled();
    await b.links[Symbol.asyncDispose]();
    await setup.run(0);
    expect(await answer).toBe('NODE_UNAVAILABLE');
    expect(a.links.links()).toEqual([]);
  });
});

describe('the heartbeat', () => {
  test('measures the round trip', async () => {
    const { setup, ab, ba } = await pair({ latencyMs: 20 });
    await setup.run(200, 5);
    expect([ab.roundTripMs, ba.roundTripMs]).toEqual([40, 40]);
  });

  test('ends a link within 10 s of silence and the connection with it', async () => {
    const { setup, a, b } = await pair();
    await setup.run(3_000);
    setup.network.partition((address) => address);
    await setup.run(8_000);
    expect(a.links.links()).toHaveLength(1);
    await setup.run(2_000);
    expect(a.links.links()).toHaveLength(0);
    expect(a.engine.peers()).toHaveLength(0);
    expect(b.links.links()).toHaveLength(0);
  });

  test('forgives a peer that was stopped for 8 s, whenever that was', async () => {
    const { setup, a } = await pair();
    await setup.run(2_950, 50);
    setup.network.partition((address) => address);
    await setup.run(8_000);
    setup.network.heal();
    await setup.run(20_000);
    expect(a.links.links()).toHaveLength(1);
  });

  test('does not take an own standstill for the silence of the peer', async () => {
    const { setup, a } = await pair();
    await setup.run(3_000);
    // All of 30 s pass before the first timer runs, as after SIGSTOP.
    const now = setup.clock.monotonic();
    setup.clock.monotonic = () => now + 30_000 + (setup.clock.now() - now);
    await setup.run(2_500);
    expect(a.links.links()).toHaveLength(1);
  });
});

describe('bounds', () => {
  test('at most 64 requests of a direction are in flight', async () => {
    const { b, ab } = await pair();
    const { handler, answers } = heldHandler();
    b.links.handle('invoke', handler);
    const asked = Array.from({ length: 64 }, () => ab.request('invoke', bytes(''), { signal: never }));
    await settled();
    await expect(ab.request('invoke', bytes(''), { signal: never })).rejects.toMatchObject({ code: 'RESOURCE_EXCEEDED' });
    for (const answer of answers) answer.resolve(bytes('done'));
    expect(await Promise.all(asked)).toHaveLength(64);
    expect(text(await Promise.race([ab.request('invoke', bytes(''), { signal: never }), settled().then(() => bytes('runs'))]))).toBe(
      'runs',
    );
  });

  test('a neighbour that asks too often is refused before its request is looked at, and counted', async () => {
    const { setup, b, ab } = await pair({ rate: { burst: 3, perSecond: 1 } });
    let runs = 0;
    b.links.handle('invoke', async () => {
      runs++;
      return bytes('');
    });
    const ask = () =>
      ab.request('invoke', bytes(''), { signal: never }).then(
        () => 'ok',
        (error) => error.code,
      );
    expect(await Promise.all([ask(), ask(), ask(), ask()])).toEqual(['ok', 'ok', 'ok', 'RATE_LIMITED']);
    await setup.run(1_000);
    expect(await ask()).toBe('ok');
    expect([runs, b.drops.counts]).toEqual([4, { 'link.rate_limited': 1 }]);
  });
});

describe('a peer that breaks the rules', () => {
  test('answers with parts without bytes, which cost no credit, and loses its link', async () => {
    const { b, ab } = await pair();
    b.links.handle('subscribe', async (request) => {
      await request.part(new Uint8Array());
      return new Uint8Array();
    });
    await expect(ab.request('subscribe', bytes(''), { signal: never })).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
  });

  const violations: Record<string, readonly Uint8Array[]> = {
    'sends no frame': [bytes('hello')],
    'uses an id of ours': [frameCodec.encode({ type: 'request', id: 2, kind: 1, body: bytes('') })],
    'answers what was never asked': [frameCodec.encode({ type: 'result', id: 8, body: bytes('') })],
    'repeats the id of a running request': [1, 1].map((id) => frameCodec.encode({ type: 'request', id, kind: 1, body: bytes('') })),
    'begins more bodies than there may be requests': Array.from({ length: 65 }, (_, index) =>
      frameCodec.encode({ type: 'chunk', id: 2 * index + 1, bytes: new Uint8Array(4_096) }),
    ),
    'sends a body in crumbs, of which each takes more memory than it has bytes': [
      frameCodec.encode({ type: 'chunk', id: 1, bytes: new Uint8Array(4_095) }),
    ],
    'sends pieces without bytes, for which no credit is needed': [frameCodec.encode({ type: 'chunk', id: 1, bytes: new Uint8Array() })],
  };

  test.each(Object.entries(violations))('%s and loses its link', async (_, frames) => {
    const setup = new LinkFixture();
    const [low, high] = identities(2);
    if (!low || !high) throw new Error('two are needed');
    const a = await setup.add(low, { linksRun: false });
    const b = await setup.add(high);
    b.links.handle('invoke', heldHandler().handler);
    await setup.connect(0, 1);
    const stream = await a.engine.openStream(b.engine.id, CONTROL_PROTOCOL, { signal: never });
    await settled();
    expect(b.links.links()).toHaveLength(1);
    for (const frame of frames) stream.send(frame);
    await settled();
    expect(b.links.links()).toHaveLength(0);
    expect(b.drops.counts).toEqual({ 'link.malformed': 1 });
  });
});
