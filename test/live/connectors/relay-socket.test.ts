import { createServer } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { openSocket } from '../../../src/connectors/atmosphere/relay-connection.ts';
import { onLoopback } from './loopback-server.ts';

const stack = new AsyncDisposableStack();
afterEach(() => stack.disposeAsync());

/** A socket to a server, and the server's end of it. */
async function bothEnds() {
  const http = createServer();
  const server = new WebSocketServer({ server: http });
  const place = stack.use(await onLoopback(http));
  const there = Promise.withResolvers<WebSocket>();
  server.on('connection', there.resolve);
  const socket = await openSocket(place.url.replace('http:', 'ws:'), { onOpen() {}, onText() {}, onClose() {} });
  stack.defer(() => socket.close());
  const relay = await there.promise;
  stack.defer(() => relay.terminate());
  return { socket, relay };
}

test('pings are answered, and a relay that pings without end and reads nothing fills no memory', async () => {
  const { socket, relay } = await bothEnds();
  const pong = Promise.withResolvers<string>();
  relay.once('pong', (data) => pong.resolve(String(data)));
  relay.ping('there');
  expect(await pong.promise).toBe('there');
  relay.pause();
  const data = Buffer.alloc(125);
  let most = 0;
  for (let round = 0; round < 100; round++) {
    for (let at = 0; at < 2_000; at++) relay.ping(data);
    await expect.poll(() => relay.bufferedAmount, { timeout: 20_000, interval: 1 }).toBe(0);
    most = Math.max(most, socket.waitingBytes);
  }
  expect(most).toBeLessThan(100_000);
});
