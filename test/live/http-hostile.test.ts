import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { authenticatorOf, makeHttpApi, TOKEN } from '../http/http-fixture.ts';
import { honestTimes, isAtMostTwice } from './honest-calls.ts';

/** How much faster than the clock on the wall the timers of a hub are whose listener reads nothing for half a minute. */
const HURRY = 10;

let setup: ReturnType<typeof makeHttpApi>;
let port: number;
let calls: number;
/** Requests whose token was looked at. */
let requests: number;
const sockets: Socket[] = [];

async function start(clock: Clock): Promise<void> {
  const known = authenticatorOf({});
  setup = makeHttpApi(
    { clock, authenticator: { ...known, authenticate: (one) => known.authenticate(one).finally(() => requests++) } },
    { port: 0 },
  );
  calls = 0;
  requests = 0;
  setup.addTool({ name: 'count', handler: async () => ({ calls: ++calls }) });
  await setup.httpApi.start();
  port = Number(new URL(setup.httpApi.url).port);
}

beforeEach(() => start(systemClock));

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await setup.httpApi[Symbol.asyncDispose]();
});

function openSocket(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
    sockets.push(socket);
  });
}

/** Sends raw bytes and answers all that came until the other side closed. */
async function exchange(text: string | Uint8Array): Promise<string> {
  const socket = await openSocket();
  socket.removeAllListeners('error').on('error', () => {});
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return answer;
}

const statuses = (answer: string) => [...answer.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g)].map((match) => Number(match[1]));
const invoke = (extra: string) =>
  `POST /api/v1/tools/count/invoke HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n${extra}`;
const get = (path: string, extra = '') => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${extra}\r\n`;

describe('requests that two parsers could read differently', () => {
  const smuggled = 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

  test.each([
    ['a length and chunks', () => invoke(`Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`)],
    ['two lengths', () => invoke(`Content-Length: 2\r\nContent-Length: ${2 + smuggled.length}\r\n\r\n{}${smuggled}`)],
    ['two lengths in one line', () => invoke('Content-Length: 2, 3\r\n\r\n{}')],
    ['a length with a sign', () => invoke('Content-Length: +2\r\n\r\n{}')],
    ['a negative length', () => invoke('Content-Length: -1\r\n\r\n{}')],
    ['chunked that is not last', () => invoke('Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n')],
    ['a coding nobody knows', () => invoke('Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n')],
    ['a header with space before its colon', () => invoke('Content-Length : 2\r\n\r\n{}')],
    ['a folded header', () => invoke('X-A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}')],
    ['a chunk size that is none', () => invoke('Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n')],
    ['a chunk longer than it says', () => invoke('Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n')],
    ['a chunk size beyond all numbers', () => invoke('Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n')],
    ['a zero byte in a header', () => invoke('X-A: b\0c\r\nContent-Length: 2\r\n\r\n{}')],
    ['lines that end in LF alone', () => invoke('Content-Length: 2\r\n\r\n{}').replaceAll('\r\n', '\n')],
    ['two Host headers', () => get('/healthz', 'Host: evil.example\r\n')],
    ['the target of a proxy', () => get('http://evil.example/healthz', 'Connection: close\r\n')],
    ['no version', () => 'GET /healthz\r\n\r\n'],
    ['another version', () => get('/healthz').replace('HTTP/1.1', 'HTTP/3.7')],
    ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a tunnel', () => `CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n`],
  ])('%s: refused once, and nothing runs', async (_name, text) => {
    const answer = await exchange(text());
    const [first, ...rest] = statuses(answer);
    expect([first === undefined || (first >= 400 && first < 500), rest]).toEqual([true, []]);
    expect(calls).toBe(0);
  });

  test('bytes at random never stop the hub', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const bytes = Uint8Array.from({ length: 40 + seed * 13 }, (_value, index) => (index * seed * 7_919 + seed) % 256);
      for (const status of statuses(await exchange(Buffer.concat([bytes, Buffer.from('\r\n\r\n')])))) expect(status).toBeLessThan(500);
    }
    expect((await fetch(`${setup.httpApi.url}/healthz`)).status).toBe(200);
  });
});

describe('requests that are too much', () => {
  test('a target of 9 KiB and one of 40 KiB are 414, headers of 20 KiB and a thousand of them 431', async () => {
    const close = 'Connection: close\r\n';
    expect(statuses(await exchange(get(`/api/v1/tools?q=${'x'.repeat(9_000)}`, close)))).toEqual([414]);
    expect(statuses(await exchange(get(`/api/v1/tools?q=${'x'.repeat(40_000)}`, close)))).toEqual([414]);
    expect(statuses(await exchange(get('/healthz', `X-A: ${'x'.repeat(20_000)}\r\n`)))).toEqual([431]);
    expect(
      statuses(await exchange(get('/healthz', Array.from({ length: 3_000 }, (_value, index) => `X-${index}: abc\r\n`).join('')))),
    ).toEqual([431]);
  });

  test('a body that is too large is read while its refusal is on its way, and what follows it on the connection does not run', async () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(socket);
    const problems: string[] = [];
    socket.on('error', ({ message }) => problems.push(message));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.write(invoke('Content-Length: 500001\r\n\r\n'));
    for (let part = 0; part < 5; part++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      socket.write(' '.repeat(100_000));
    }
    socket.end(` ${invoke('Content-Length: 2\r\n\r\n{}')}`);
    await closed;
    expect([statuses(answer), problems, requests, calls]).toEqual([[413], [], 1, 0]);
  });

  test('an expectation that nobody can meet is 417, 100-continue is met', async () => {
    expect(statuses(await exchange(invoke('Expect: the-moon\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}')))).toEqual([417]);
    expect(statuses(await exchange(invoke('Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}')))).toEqual([
      100, 200,
    ]);
  });

  test('a few requests in a row without waiting are answered in order, a flood of them is cut', async () => {
    const body = (close = '') => invoke(`Content-Length: 2\r\n${close}\r\n{}`);
    const answer = await exchange(body() + body() + body('Connection: close\r\n'));
    expect(statuses(answer)).toEqual([200, 200, 200]);
    expect([...answer.matchAll(/"calls":(\d+)/g)].map((match) => match[1])).toEqual(['1', '2', '3']);
    setup.addTool({ name: 'slow', handler: () => new Promise((resolve) => setTimeout(resolve, 300, {})) });
    const slow = (close = '') => body(close).replace('count', 'slow');
    const flood = await exchange(slow().repeat(39) + slow('Connection: close\r\n'));
    expect(statuses(flood).filter((status) => status === 200)).toHaveLength(16);
    expect(statuses(flood)).toContain(503);
  });
});

describe('slow clients', () => {
  async function call(): Promise<void> {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const response = await fetch(`${setup.httpApi.url}/api/v1/tools/count/invoke`, { method: 'POST', headers, body: '{}' });
    await response.text();
  }

  /** Opens sockets that are slow in one of three ways each; answers what ends them. */
  async function openSlowSockets(): Promise<() => void> {
    const slow = await Promise.all(Array.from({ length: 200 }, openSocket));
    const drips: NodeJS.Timeout[] = [];
    for (const [index, socket] of slow.entries()) {
      socket.on('error', () => {});
      if (index % 3 === 0) socket.write('GET /healthz HTT');
      else if (index % 3 === 1) socket.write(invoke('Content-Length: 1000\r\n\r\n{'));
      else socket.pause().write(get('/openapi.json', `Authorization: Bearer ${TOKEN}\r\n`));
      if (index % 3 !== 2) drips.push(setInterval(() => socket.writable && socket.write('x'), 500));
    }
    return () => {
      for (const drip of drips) clearInterval(drip);
      for (const socket of slow) socket.destroy();
    };
  }

  test('200 sockets with slow headers, slow bodies and answers that nobody reads leave honest calls at twice their time at most', async () => {
    expect(await honestTimes(call, openSlowSockets, isAtMostTwice)).toSatisfy(isAtMostTwice);
  });

  test('more sockets than there are places push out the silent ones, not an honest client', async () => {
    const silent: Socket[] = [];
    for (let round = 0; round < 11; round++) silent.push(...(await Promise.all(Array.from({ length: 100 }, openSocket))));
    for (const socket of silent) socket.on('error', () => {});
    expect((await fetch(`${setup.httpApi.url}/healthz`)).status).toBe(200);
    expect(silent.at(-1)?.destroyed).toBe(false);
  });
});

describe('the stream of events', () => {
  /** Reads messages until so many came; answers their ids and subjects. */
  async function read(count: number, lastEventId?: string): Promise<{ ids: string[]; numbers: number[] }> {
    const abort = new AbortController();
    const headers = { authorization: `Bearer ${TOKEN}`, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) };
    const response = await fetch(`${setup.httpApi.url}/api/v1/events?types=hub.warning`, { headers, signal: abort.signal });
    const ids: string[] = [];
    const numbers: number[] = [];
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      expect(text).not.toContain('event: gap');
      const messages = text.split('\n\n');
      text = messages.pop() ?? '';
      for (const message of messages) {
        const id = /^id: (.+)$/m.exec(message)?.[1];
        if (id === undefined) continue;
        ids.push(id);
        numbers.push(JSON.parse(/^data: (.+)$/m.exec(message)?.[1] ?? '').data.number);
      }
      if (ids.length >= count) break;
    }
    abort.abort();
    return { ids, numbers };
  }

  test('is cut again and again and resumed, and not one event is lost or told twice', async () => {
    let number = 0;
    const ticking = setInterval(() => {
      for (let burst = 0; burst < 3; burst++) setup.events.emit('hub.warning', 'test', { number: ++number });
    }, 5);
    const heard: number[] = [];
    let last: string | undefined;
    for (let cut = 0; cut < 12; cut++) {
      const part = await read(1 + cut * 2, last);
      heard.push(...part.numbers);
      last = part.ids.at(-1);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    clearInterval(ticking);
    const first = heard[0] ?? 0;
    expect(heard).toEqual(heard.map((_number, index) => first + index));
    expect(heard.length).toBeGreaterThan(100);
  });

  test('a listener that reads nothing is let go and its socket is cut; others hear everything', async () => {
    await setup.httpApi[Symbol.asyncDispose]();
    await start({ ...systemClock, after: (delayMs, run) => systemClock.after(delayMs / HURRY, run) });
    const stuck = await openSocket();
    stuck.removeAllListeners('error').on('error', () => {});
    stuck.pause();
    stuck.write(get('/api/v1/events', `Authorization: Bearer ${TOKEN}\r\n`));
    const listening = read(100);
    let isHeard = false;
    void listening.then(() => {
      isHeard = true;
    });
    // More than the buffers of both sides together hold.
    for (let number = 1; !isHeard; number++) {
      setup.events.emit('hub.warning', 'test', { number, filler: 'x'.repeat(300_000) });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const { numbers } = await listening;
    expect(numbers).toEqual(numbers.map((_number, index) => (numbers[0] ?? 0) + index));
    await new Promise((resolve) => setTimeout(resolve, 33_000 / HURRY));
    let tail = '';
    stuck.on('data', (chunk) => {
      tail = `${tail}${chunk}`.slice(-8);
    });
    stuck.resume();
    await new Promise((resolve) => stuck.once('close', resolve));
    // A stream that the hub ended in order would have its last chunk.
    expect(tail.endsWith('0\r\n\r\n')).toBe(false);
  });
});
