import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createInterface } from 'node:readline';
import type { Upgrader } from '@libp2p/interface';
import { noise } from '@libp2p/noise';
import { yamux } from '@libp2p/yamux';
import { createLibp2p } from 'libp2p';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { GOSSIP_TOPIC } from '../../src/mesh/transport/gossipsub.ts';
import { MAX_FRAME_BYTES, MAX_GOSSIP_BYTES, type MeshStream, type PeerAddress } from '../../src/mesh/transport/mesh-engine.ts';
import { dialTcp, silentLogger, TcpConnection, toMultiaddr } from '../../src/mesh/transport/tcp-connection.ts';
import { bytes, openGate, text } from '../mesh/transport/engine-fixtures.ts';
import { Libp2pLab } from './mesh-engine-lab.ts';
import { joinBadly } from './mesh-engine-member.ts';

const ECHO = '/test/echo/1';
const LOOPBACK = { host: '127.0.0.1', port: 0 };
const never = new AbortController().signal;

let lab: Libp2pLab;
beforeEach(() => {
  lab = new Libp2pLab();
});
afterEach(async () => {
  await lab[Symbol.asyncDispose]();
});

describe('who is no hub', () => {
  test('is cut within 5 s when it says nothing at all', async () => {
    const engine = await lab.engine();
    const startMs = performance.now();
    await ended(connectTcp(lab.addressOf(engine)));
    expect(performance.now() - startMs).toBeLessThan(10_000);
    expect(engine.refusals()).toEqual({ handshake_failed: 1 });
  });

  test('is cut at once when it speaks another protocol', async () => {
    const engine = await lab.engine();
    const socket = connectTcp(lab.addressOf(engine));
    socket.write(randomBytes(4_096));
    const startMs = performance.now();
    await ended(socket);
    // Sooner than one that is silent.
    expect(performance.now() - startMs).toBeLessThan(4_500);
    expect(engine.refusals()).toEqual({ handshake_failed: 1 });
  });

  test('does not get in with a plain libp2p node', async () => {
    const engine = await lab.engine();
    const node = await createLibp2p({
      start: false,
      logger: silentLogger,
      connectionEncrypters: [noise()],
      streamMuxers: [yamux()],
      services: { sockets: ({ upgrader }: { upgrader: Upgrader }) => ({ upgrader }) },
    });
    const to = lab.addressOf(engine);
    const connection = new TcpConnection(await dialTcp(to, never), 'outbound', toMultiaddr(to.host, to.port));
    const dialling = node.services.sockets.upgrader.upgradeOutbound(connection, { signal: AbortSignal.timeout(2_000) });
    await expect(dialling).rejects.toThrow('could not negotiate /noise');
    connection.abort(new Error('over'));
    await expect.poll(() => engine.refusals()).toEqual({ handshake_failed: 1 });
    expect(engine.peers()).toEqual([]);
  });

  test('is not even listened to when it knocks too often or when too many knock', async () => {
    const often = await lab.start(lab.identity(), {
      gate: openGate,
      listen: LOOPBACK,
      inboundLimits: { perSourcePerSecond: 3, pending: 9 },
    });
    await Promise.all(Array.from({ length: 5 }, () => knockAndLeave(lab.addressOf(often))));
    await expect.poll(() => often.refusals()).toMatchObject({ inbound_rate: 2 });
    const many = await lab.start(lab.identity(), {
      gate: openGate,
      listen: LOOPBACK,
      inboundLimits: { perSourcePerSecond: 9, pending: 2 },
    });
    const sockets = Array.from({ length: 3 }, () => connectTcp(lab.addressOf(many)).on('error', () => undefined));
    await expect.poll(() => many.refusals()).toMatchObject({ too_many_pending: 1 });
    for (const socket of sockets) socket.destroy();
  });
});

describe('the pre-shared key', () => {
  const preSharedKey = randomBytes(32);

  test('lets hubs in that have the same', async () => {
    const listener = await lab.start(lab.identity(), { gate: openGate, listen: LOOPBACK, preSharedKey });
    const dialler = await lab.start(lab.identity(), { gate: openGate, listen: LOOPBACK, preSharedKey });
    listener.handle(ECHO, (stream) => stream.onFrame((frame) => stream.send(frame)));
    const peer = await dialler.connect(lab.addressOf(listener), { signal: never });
    expect(peer.address).toBe(`127.0.0.1:${lab.addressOf(listener).port}`);
    expect(await echoed(await dialler.openStream(listener.id, ECHO, { signal: never }))).toBe('hello');
  });

  test.each([
    ['another one', randomBytes(32)],
    ['none', undefined],
  ])('keeps hubs out that have %s', async (_, other) => {
    const listener = await lab.start(lab.identity(), { gate: openGate, listen: LOOPBACK, preSharedKey });
    const dialler = await lab.start(lab.identity(), { gate: openGate, listen: LOOPBACK, ...(other && { preSharedKey: other }) });
    const dialling = dialler.connect(lab.addressOf(listener), { signal: never });
    await expect(dialling).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE', message: expect.stringContaining('127.0.0.1') });
    expect(listener.peers()).toEqual([]);
  });
});

describe('addresses', () => {
  test('of IPv6 work, and one engine listens for both families', async () => {
    const listener = await lab.start(lab.identity(), { gate: openGate, listen: { host: '', port: 0 } });
    expect(listener.listenAddresses()).toEqual([expect.stringMatching(/^\[::\]:\d+$/)]);
    const { port } = lab.addressOf(listener);
    for (const [host, shown] of [
      ['::1', '[::1]'],
      ['127.0.0.1', '127.0.0.1'],
      ['localhost', 'localhost'],
    ] as const) {
      const dialler = await lab.engine();
      const peer = await dialler.connect({ host, port }, { signal: never });
      expect(peer.address).toBe(`${shown}:${port}`);
    }
    await expect.poll(() => listener.peers()).toHaveLength(3);
    expect(listener.peers().map(({ address }) => address)).toContainEqual(expect.stringMatching(/^127\.0\.0\.1:\d+$/));
  });

  test('of IPv6 that are link-local work with their zone, in both directions', async () => {
    const host = await linkLocalAddress();
    const listener = await lab.start(lab.identity(), { gate: openGate, listen: { host: '', port: 0 } });
    const dialler = await lab.engine();
    const { port } = lab.addressOf(listener);
    expect((await dialler.connect({ host, port }, { signal: never })).address).toBe(`[${host}]:${port}`);
    await expect.poll(() => listener.peers()[0]?.address).toMatch(/^\[fe80::.*%eth0\]:\d+$/);
  });

  test('that do not exist fail and say why', async () => {
    const engine = await lab.engine();
    const unknown = engine.connect({ host: 'no-such-hub.invalid', port: 1 }, { signal: never });
    await expect(unknown).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE', message: expect.stringContaining('no-such-hub.invalid:1') });
    const foreign = lab.start(lab.identity(), { gate: openGate, listen: { host: '192.0.2.1', port: 0 } });
    await expect(foreign).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('192.0.2.1') });
  });
});

describe('a member that misbehaves', () => {
  test('loses the stream on which it sends too long a frame, and only that', async () => {
    const engine = await lab.engine();
    const ends = vi.fn();
    engine.handle(ECHO, (stream) => stream.onClose(ends));
    await using bad = await joinBadly(lab.addressOf(engine));
    const raw = await bad.connection.newStream([ECHO]);
    const header = new Uint8Array(4);
    new DataView(header.buffer).setUint32(0, MAX_FRAME_BYTES + 1);
    raw.send(header);
    await expect.poll(() => ends).toHaveBeenCalledTimes(1);
    expect(engine.refusals()).toEqual({ frame_too_long: 1 });
    expect(engine.peers()).toHaveLength(1);
  });

  test('is not heard when it gossips too long a message', async () => {
    const engine = await lab.engine();
    const heard = vi.fn(() => 'accept' as const);
    engine.onGossip(heard);
    await using bad = await joinBadly(lab.addressOf(engine));
    const { pubsub } = bad.node.services;
    pubsub.subscribe(GOSSIP_TOPIC);
    await expect.poll(() => pubsub.getSubscribers(GOSSIP_TOPIC)).toHaveLength(1);
    await pubsub.publish(GOSSIP_TOPIC, new Uint8Array(MAX_GOSSIP_BYTES + 1));
    await expect.poll(() => engine.refusals()).toEqual({ gossip_too_long: 1 });
    await pubsub.publish(GOSSIP_TOPIC, new Uint8Array(MAX_GOSSIP_BYTES));
    await expect.poll(() => heard).toHaveBeenCalledTimes(1);
  });
});

describe('many', () => {
  test('neighbours behind one address all hear what is told', async () => {
    const centre = await lab.engine();
    centre.onGossip(() => 'accept');
    const heard = new Set<string>();
    for (let count = 0; count < 16; count += 1) {
      const engine = await lab.engine();
      engine.onGossip((message) => {
        if (text(message) === 'last') heard.add(engine.id);
        return 'accept';
      });
      await engine.connect(lab.addressOf(centre), { signal: never });
    }
    await vi.waitFor(
      async () => {
        await centre.publish(bytes(`early ${performance.now()}`));
        expect(centre.peers()).toHaveLength(16);
      },
      { timeout: 20_000, interval: 100 },
    );
    await lab.pass(1_500);
    await centre.publish(bytes('last'));
    await expect.poll(() => heard.size).toBe(16);
  });

  test('connections one after the other leave nothing behind', async () => {
    const engine = await lab.start(lab.identity(), {
      gate: openGate,
      listen: LOOPBACK,
      inboundLimits: { perSourcePerSecond: 99, pending: 9 },
    });
    for (let count = 0; count < 12; count += 1) {
      const guest = await lab.engine();
      await guest.connect(lab.addressOf(engine), { signal: never });
      await guest[Symbol.asyncDispose]();
    }
    await expect.poll(() => engine.peers()).toEqual([]);
    expect(engine.refusals()).toEqual({});
  });
});

test('a peer whose process is killed is noticed at once', async () => {
  const program = new URL('./mesh-engine-child.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await Promise.race([linesOf(child.stdout), ended(child)]);
  const engine = await lab.engine();
  const down = Promise.withResolvers<number>();
  engine.onPeerDown(() => down.resolve(performance.now()));
  await engine.connect({ host: '127.0.0.1', port: Number(port) }, { signal: never });
  child.kill('SIGKILL');
  await ended(child);
  const endedMs = performance.now();
  expect((await down.promise) - endedMs).toBeLessThan(500);
});

async function linesOf(stream: NodeJS.ReadableStream): Promise<readonly string[]> {
  for await (const line of createInterface({ input: stream })) return [line];
  return [];
}

async function ended(what: Socket | { once(event: 'close', listener: () => void): unknown }): Promise<readonly string[]> {
  if ('resume' in what) what.resume().on('error', () => undefined);
  await new Promise<void>((resolve) => what.once('close', () => resolve()));
  return [];
}

async function knockAndLeave(to: PeerAddress): Promise<void> {
  const socket = connectTcp(to).on('error', () => undefined);
  socket.on('connect', () => socket.destroy());
  await ended(socket);
}

async function echoed(stream: MeshStream): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  stream.onFrame((frame) => resolve(text(frame)));
  stream.send(bytes('hello'));
  return await promise;
}

/** The address that the kernel has made for the card; usable once it knows that nobody else has it. */
async function linkLocalAddress(): Promise<string> {
  return await vi.waitFor(
    async () => {
      const address = networkInterfaces().eth0?.find((other) => other.address.startsWith('fe80'))?.address ?? '';
      const host = `${address}%eth0`;
      await expect(canListen(host)).resolves.toBe(true);
      return host;
    },
    { timeout: 20_000, interval: 200 },
  );
}

async function canListen(host: string): Promise<boolean> {
  const engine = await lab.start(lab.identity(), { gate: openGate, listen: { host, port: 0 } }).catch(() => undefined);
  await engine?.[Symbol.asyncDispose]();
  return engine !== undefined;
}
