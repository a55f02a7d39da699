import { type ClientRequest, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { makeHttpApi, TOKEN } from '../http/http-fixture.ts';

type Room = ReturnType<typeof makeHttpApi>;

let setup: Room;
let port: number;
const sockets: Socket[] = [];

beforeEach(async () => {
  setup = makeHttpApi({ clock: systemClock }, { port: 0 });
  setup.addTool({ name: 'fast', handler: async () => ({ ok: true }) });
  await setup.httpApi.start();
  port = Number(new URL(setup.httpApi.url).port);
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await setup.httpApi[Symbol.asyncDispose]();
});

function headers(extra: Record<string, string> = {}): Record<string, string> {
  return { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...extra };
}

function invoke(tool: string, signal?: AbortSignal): Promise<Response> {
  const init = { method: 'POST', headers: headers(), body: '{}', ...(signal && { signal }) };
  return fetch(`http://127.0.0.1:${port}/api/v1/tools/${tool}/invoke`, init);
}

function openSocket(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
    sockets.push(socket);
  });
}

/** Sends raw text and collects all that comes until the other side closes; tells how long that took. */
async function exchange(text: string): Promise<{ answer: string; tookMs: number }> {
  const socket = await openSocket();
  const startedMs = performance.now();
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return { answer, tookMs: performance.now() - startedMs };
}

describe('the door on a real socket', () => {
  test('answers a call and keeps the connection for the next', async () => {
    const response = await invoke('fast');
    expect(await response.json()).toMatchObject({ status: 'success', result: { ok: true } });
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  });

  test('a connection lives longer than the client is told, who may be late to close it', async () => {
    const socket = await openSocket();
    const ask = () => socket.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    let answers = '';
    socket.on('data', (chunk) => {
      answers += chunk;
    });
    ask();
    await expect.poll(() => answers).toContain('Keep-Alive: timeout=5\r\n');
    // Node by itself adds a second.
    await delay(8_000);
    answers = '';
    ask();
    await expect.poll(() => answers).toMatch(/^HTTP\/1.1 200 /);
  });

  test('a client that goes away aborts its running call', async () => {
    const started = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    setup.addTool({
      name: 'slow',
      handler: (_params: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise((_resolve, reject) => {
          started.resolve();
          signal.addEventListener('abort', () => {
            aborted.resolve();
            reject(signal.reason);
          });
        }),
    });
    const client = new AbortController();
    const pending = invoke('slow', client.signal);
    await started.promise;
    client.abort();
    await expect(pending).rejects.toThrow();
    await aborted.promise;
  });

  test('foreign, malformed and oversized requests get an answer and no more', async () => {
    expect((await exchange('GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')).answer).toMatch(/^HTTP\/1.1 403 /);
    expect((await exchange('GET /healthz HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n')).answer).toMatch(/^HTTP\/1.1 4\d\d /);
    expect((await exchange('GET /healthz HTTP/1.0\r\n\r\n')).answer).toMatch(/^HTTP\/1.1 403 /);
    const twice = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`;
    expect((await exchange(twice)).answer).toMatch(/^HTTP\/1.1 4\d\d /);
    expect((await exchange('hello\r\n\r\n')).answer).toMatch(/^HTTP\/1.1 400 .*problem\+json.*VALIDATION_ERROR/s);
    const large = await exchange(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Fill: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(large.answer).toMatch(/^HTTP\/1.1 431 .*PAYLOAD_TOO_LARGE/s);
  });

  test('a body that grows beyond the bound without a declared length is cut with 413', async () => {
    const answered = Promise.withResolvers<number>();
    const outgoing: ClientRequest = httpRequest(
      { host: '127.0.0.1', port, path: '/api/v1/tools/fast/invoke', method: 'POST', headers: headers() },
      (response) => answered.resolve(response.statusCode ?? 0),
    );
    outgoing.on('error', () => {});
    outgoing.write(Buffer.alloc(48 * 1024, 0x20));
    outgoing.write(Buffer.alloc(48 * 1024, 0x20));
    expect(await answered.promise).toBe(413);
    outgoing.destroy();
  });

  test('headers and bodies that come too slowly end with 408', async () => {
    const head = `POST /api/v1/tools/fast/invoke HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n`;
    const [slowHeaders, slowBody] = await Promise.all([
      exchange(head),
      exchange(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`),
    ]);
    expect(slowHeaders.answer).toMatch(/^HTTP\/1.1 408 /);
    expect(slowHeaders.tookMs).toBeLessThan(13_000);
    expect(slowBody.answer).toMatch(/^HTTP\/1.1 408 .*TIMEOUT/s);
    expect(slowBody.tookMs).toBeLessThan(18_000);
  });

  test('the end lets a running call finish, closes event streams and takes nothing new', async () => {
    const release = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    setup.addTool({
      name: 'last',
      handler: async () => {
        started.resolve();
        await release.promise;
        return { done: true };
      },
    });
    const stream = await fetch(`http://127.0.0.1:${port}/api/v1/events`, { headers: headers() });
    const pending = invoke('last');
    await started.promise;
    const stopped = setup.httpApi[Symbol.asyncDispose]();
    await stream.text();
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
    release.resolve();
    expect(await (await pending).json()).toMatchObject({ result: { done: true } });
    await stopped;
  });

  test('a port that is taken is refused with what to do', async () => {
    const other = makeHttpApi({ clock: systemClock }, { port });
    await expect(other.httpApi.start()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('ATMO_HTTP_PORT'),
    });
    await other.httpApi[Symbol.asyncDispose]();
  });
});
