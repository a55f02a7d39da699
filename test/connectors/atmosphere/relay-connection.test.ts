import { expect, test } from 'vitest';
import { RelayConnection, type SocketEvents } from '../../../src/connectors/atmosphere/relay-connection.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { settled } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';

/** A connection over sockets that do what the test says. */
async function fixture() {
  const clock = new ManualClock();
  const sockets: { readonly events: SocketEvents; readonly sent: JsonObject[]; isClosed: boolean; waitingBytes: number }[] = [];
  const frames: JsonObject[] = [];
  const told: string[] = [];
  const warned: unknown[] = [];
  const open = async (_: string, events: SocketEvents) => {
    const socket = { events, sent: [] as JsonObject[], isClosed: false, waitingBytes: 0 };
    sockets.push(socket);
    return Object.assign(socket, {
      send: (text: string) => void socket.sent.push(JSON.parse(text)),
      close: () => {
        socket.isClosed = true;
      },
    });
  };
  const logger = { ...silentLogger, warn: (_: string, fields: unknown) => void warned.push(fields) };
  const connection = new RelayConnection(
    { clock, logger, open, random: () => 0 },
    {
      url: 'ws://relay/relay/m',
      nodeId: 'own',
      entry: () => ({ type: 'join' }),
      onJoined: () => told.push('joined'),
      onFrame: (frame) => frames.push(frame),
      onLost: () => told.push('lost'),
    },
  );
  await connection.start();
  clock.advance(0);
  await settled();
  const last = () => {
    const socket = sockets.at(-1);
    if (!socket) throw new Error('no socket');
    return socket;
  };
  const say = (frame: unknown) => last().events.onText(JSON.stringify(frame));
  const join = () => {
    last().events.onOpen();
    say({ type: 'joined' });
  };
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settled();
  };
  return { connection, sockets, frames, told, warned, last, say, join, pass };
}

test('enters with the first frame, and passes on frames only after it was let in', async () => {
  const { connection, frames, told, last, say, join } = await fixture();
  last().events.onOpen();
  expect(last().sent).toEqual([{ type: 'join' }]);
  say({ type: 'peers', peers: [] });
  expect([connection.send({ type: 'x' }), connection.problem, frames]).toEqual([false, 'not connected yet', []]);
  join();
  say({ type: 'peers', peers: [1] });
  say({ type: 'joined' });
  for (const garbage of ['', 'null', '[]', '{', '"joined"', '7']) last().events.onText(garbage);
  expect([told, frames[0], connection.problem]).toEqual([['joined'], { type: 'peers', peers: [1] }, undefined]);
  expect(frames).toHaveLength(2);
});

test('pings every twenty seconds, and leaves a relay that is silent for a minute', async () => {
  const { sockets, told, last, say, join, pass } = await fixture();
  join();
  await pass(20_000);
  expect(last().sent.slice(1)).toEqual([{ type: 'ping' }, { type: 'direct', target: 'own', payload: { type: 'ping' } }]);
  say({ type: 'pong' });
  await pass(40_000);
  expect(told).toEqual(['joined']);
  await pass(20_000);
  expect([told, sockets[0]?.isClosed]).toEqual([['joined', 'lost'], true]);
});

test('pauses grow to a minute, also when somebody else drives it out again and again', async () => {
  const { sockets, last, join, pass, warned } = await fixture();
  const pauses: number[] = [];
  for (let round = 0; round < 8; round++) {
    join();
    last().events.onClose('Replaced by new connection');
    const before = sockets.length;
    let pauseMs = 0;
    for (; sockets.length === before; pauseMs += 500) await pass(500);
    pauses.push(pauseMs / 1_000);
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect(warned).toHaveLength(8);
});

test('the pause is short again after a connection that lasted', async () => {
  const { sockets, last, say, join, pass } = await fixture();
  for (let round = 0; round < 5; round++) {
    last().events.onClose('refused');
    await pass(60_000);
  }
  join();
  for (let round = 0; round < 4; round++) {
    await pass(20_000);
    say({ type: 'pong' });
  }
  const before = sockets.length;
  last().events.onClose('gone');
  await pass(1_000);
  expect(sockets).toHaveLength(before + 1);
});

test('after a refusal the next attempt comes in five minutes, and the reason is bounded', async () => {
  const { connection, sockets, last, say, pass } = await fixture();
  last().events.onOpen();
  say({ type: 'error', code: 'TOKEN_INVALID', message: `Token\u0007expired${'x'.repeat(5_000)}` });
  expect(connection.problem).toMatch(/^the relay refused: TOKEN_INVALID Token expiredx+$/);
  expect(connection.problem?.length).toBeLessThanOrEqual(200);
  await pass(299_000);
  expect(sockets).toHaveLength(1);
  await pass(1_000);
  expect(sockets).toHaveLength(2);
});

test('a relay that never lets in, and a socket that never opens, are given up', async () => {
  const { connection, sockets, last, pass } = await fixture();
  last().events.onOpen();
  await pass(30_000);
  expect([connection.problem, sockets[0]?.isClosed]).toEqual(['the relay does not let us in', true]);
  await pass(1_000);
  expect(sockets).toHaveLength(2);
  // The old one is dead, whatever it says.
  sockets[0]?.events.onText('{"type":"joined"}');
  expect(connection.problem).toBe('the relay does not let us in');
});

test('more than 16 MiB between two pings is dropped unread', async () => {
  const { frames, last, say, join, pass } = await fixture();
  join();
  for (let at = 0; at < 20; at++) last().events.onText(JSON.stringify({ type: 'message', data: 'x'.repeat(1_000_000) }));
  expect(frames).toHaveLength(16);
  await pass(20_000);
  say({ type: 'pong' });
  expect(frames).toHaveLength(17);
});

test('a relay that has taken the node off its list is entered again; that another node is gone changes nothing', async () => {
  const { connection, sockets, say, join, pass } = await fixture();
  join();
  say({ type: 'error', message: 'Peer other not found' });
  expect(connection.problem).toBeUndefined();
  say({ type: 'error', message: 'Peer own not found' });
  expect(connection.problem).toBe('the relay has forgotten us');
  await pass(1_000);
  expect(sockets).toHaveLength(2);
});

test('nothing is sent to a relay that does not read', async () => {
  const { connection, last, join } = await fixture();
  join();
  last().waitingBytes = 5_000_000;
  expect(connection.send({ type: 'broadcast' })).toBe(false);
  last().waitingBytes = 0;
  expect(connection.send({ type: 'broadcast' })).toBe(true);
});

test('ends for good, also while it pauses', async () => {
  const { connection, sockets, last, join, pass, told } = await fixture();
  join();
  last().events.onClose('gone');
  await connection[Symbol.asyncDispose]();
  await connection[Symbol.asyncDispose]();
  await pass(600_000);
  expect([sockets.length, connection.send({}), told]).toEqual([1, false, ['joined', 'lost']]);
});

test('a relay that sent too much is read again on the next connection', async () => {
  const { connection, last, join, pass } = await fixture();
  join();
  for (let at = 0; at < 20; at++) last().events.onText(JSON.stringify({ type: 'message', data: 'x'.repeat(1_000_000) }));
  last().events.onClose('gone');
  await pass(1_000);
  join();
  expect(connection.problem).toBeUndefined();
});
