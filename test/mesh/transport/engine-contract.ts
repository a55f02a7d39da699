import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import {
  type ConnectionGate,
  type EnginePeer,
  type GatePeer,
  type GossipVerdict,
  MAX_FRAME_BYTES,
  MAX_GOSSIP_BYTES,
  type MeshEngine,
  type MeshStream,
  type PeerAddress,
} from '../../../src/mesh/transport/mesh-engine.ts';
import { bytes, openGate, text } from './engine-fixtures.ts';
import type { EngineLab } from './engine-lab.ts';

const ECHO = '/test/echo/1';
const never = new AbortController().signal;
const denyAll: ConnectionGate = {
  admit: async () => {
    throw new AtmoError('PERMISSION_DENIED', 'nobody comes in here');
  },
};

/** What every mesh engine does, whatever carries it. */
export function engineContract(name: string, makeLab: () => EngineLab): void {
  describe(name, () => {
    let lab: EngineLab;

    beforeEach(() => {
      lab = makeLab();
    });
    afterEach(async () => {
      await lab[Symbol.asyncDispose]();
    });

    const connect = (from: MeshEngine, to: MeshEngine, more: Partial<PeerAddress> = {}): Promise<EnginePeer> =>
      from.connect({ ...lab.addressOf(to), ...more }, { signal: never });

    async function connectedPair(): Promise<[dialler: MeshEngine, listener: MeshEngine]> {
      const [dialler, listener] = [await lab.engine(), await lab.engine()];
      await connect(dialler, listener);
      await eventually(() => expect(listener.peers()).toHaveLength(1));
      return [dialler, listener];
    }

    async function streamPair(): Promise<[opened: MeshStream, accepted: MeshStream]> {
      const [dialler, listener] = await connectedPair();
      const accepted = Promise.withResolvers<MeshStream>();
      listener.handle(ECHO, (stream) => accepted.resolve(stream));
      return [await dialler.openStream(listener.id, ECHO, { signal: never }), await accepted.promise];
    }

    /** Sends until the peer, who does not listen, makes it wait for good; answers how many frames that took. */
    async function fill(stream: MeshStream): Promise<number> {
      for (let sent = 1; ; sent += 1) {
        if (stream.send(frameOf(sent - 1))) continue;
        const setup = stream.drained().then(
          () => true,
          () => false,
        );
        if (!(await Promise.race([setup, lab.pass(50).then(() => false)]))) return sent;
      }
    }

    describe('the gate', () => {
      test('shows each side the other, with key, direction and address, and lets the dialler speak first', async () => {
        const seen: GatePeer[] = [];
        const order: string[] = [];
        const gate: ConnectionGate = {
          async admit(channel, peer) {
            seen.push(peer);
            if (peer.direction === 'outbound') await channel.write(bytes('me first'));
            order.push(`${peer.direction} read ${text(await channel.read())}`);
            if (peer.direction === 'inbound') await channel.write(bytes('then me'));
          },
        };
        const [dialler, listener] = [await lab.engine({ gate }), await lab.engine({ gate })];
        const peer = await connect(dialler, listener);
        expect(peer).toMatchObject({ id: listener.id, direction: 'outbound' });
        expect(order).toEqual(['inbound read me first', 'outbound read then me']);
        expect(seen.map(({ id, direction }) => [id, direction]).sort()).toEqual(
          [
            [dialler.id, 'inbound'],
            [listener.id, 'outbound'],
          ].sort(),
        );
        const { host, port } = lab.addressOf(listener);
        expect(peer.address).toBe(`${host}:${port}`);
        expect(peer.publicKey).toMatch(/^[A-Za-z0-9_-]{43}$/);
      });

      test('of the listener refuses: the dialler learns it, nobody is connected', async () => {
        const [dialler, listener] = [await lab.engine(), await lab.engine({ gate: denyAll })];
        await expect(connect(dialler, listener)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
        expect([dialler.peers(), listener.peers()]).toEqual([[], []]);
        expect(listener.refusals()).toEqual({ gate_refused: 1 });
        expect(dialler.refusals()).toEqual({ refused_by_peer: 1 });
      });

      test('of the dialler refuses after the listener has agreed: neither side ever hears of a peer', async () => {
        const listener = await lab.engine();
        const heard: string[] = [];
        listener.onPeerUp(({ id }) => heard.push(id));
        const gate: ConnectionGate = {
          async admit(channel, peer) {
            await openGate.admit(channel, peer);
            throw new AtmoError('PERMISSION_DENIED', 'not you');
          },
        };
        const dialler = await lab.engine({ gate });
        await expect(connect(dialler, listener)).rejects.toThrow('not you');
        await eventually(() => expect(listener.refusals()).toEqual({ refused_by_peer: 1 }));
        expect(heard).toEqual([]);
      });

      test('can be another one for one connection', async () => {
        const [dialler, listener] = [await lab.engine({ gate: denyAll }), await lab.engine()];
        await dialler.connect(lab.addressOf(listener), { signal: never, gate: openGate });
        expect(dialler.peers()).toHaveLength(1);
      });

      test('refuses another hub than the expected one, and takes the expected one', async () => {
        const [dialler, listener] = [await lab.engine(), await lab.engine()];
        const refused = connect(dialler, listener, { expect: lab.identity().id });
        await expect(refused).rejects.toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining(listener.id) });
        expect(dialler.refusals()).toEqual({ wrong_hub: 1 });
        await expect(connect(dialler, listener, { expect: listener.id })).resolves.toMatchObject({ id: listener.id });
      });

      test('does not let a hub connect to itself', async () => {
        const alone = await lab.engine();
        await expect(connect(alone, alone)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
        expect(alone.peers()).toEqual([]);
      });
    });

    describe('a stranger', () => {
      test.each([
        ['sends garbage', (write: (message: Uint8Array) => void) => write(bytes('GET / HTTP/1.1')), 'gate_malformed'],
        ['sends what is no message of the gate', (write: (message: Uint8Array) => void) => write(Uint8Array.of(1)), 'gate_malformed'],
        ['sends too long a message', (write: (message: Uint8Array) => void) => write(new Uint8Array(9_000)), 'gate_message_too_long'],
      ])('who %s is cut', async (_, act, reason) => {
        const host = await lab.engine();
        const stranger = await lab.stranger(lab.addressOf(host));
        act(stranger.write);
        await stranger.cut;
        expect(host.peers()).toEqual([]);
        expect(host.refusals()).toEqual({ [reason]: 1 });
      });

      test('who says nothing is cut after 5 s', async () => {
        const host = await lab.engine();
        const stranger = await lab.stranger(lab.addressOf(host));
        await lab.pass(5_100);
        await stranger.cut;
        expect(host.peers()).toEqual([]);
        expect(host.refusals()).toEqual({ gate_timeout: 1 });
      });
    });

    describe('streams', () => {
      test('carry frames both ways, in order, of nothing and of the largest size', async () => {
        const [opened, accepted] = await streamPair();
        const [here, there] = [collect(opened), collect(accepted)];
        const frames = [0, 1, 100, MAX_FRAME_BYTES, 0, 70, ...Array.from({ length: 300 }, (_, index) => index)];
        for (const size of frames) {
          if (!opened.send(new Uint8Array(size).fill(size))) await opened.drained();
          if (!accepted.send(new Uint8Array(size).fill(size + 1))) await accepted.drained();
        }
        await eventually(() => expect(there.map((frame) => frame.length)).toEqual(frames));
        await eventually(() => expect(here.map((frame) => frame.length)).toEqual(frames));
        const wrong = there.filter((frame, index) => frame.some((byte) => byte !== ((frames[index] ?? 0) & 0xff)));
        expect(wrong).toEqual([]);
      });

      test('keep what comes before somebody listens', async () => {
        const [opened, accepted] = await streamPair();
        for (const word of ['one', 'two', 'three']) opened.send(bytes(word));
        await lab.pass(50);
        const frames = collect(accepted);
        await eventually(() => expect(frames.map(text)).toEqual(['one', 'two', 'three']));
      });

      test('can be opened by both sides in the moment in which they hear of each other', async () => {
        const [dialler, listener] = [await lab.engine(), await lab.engine()];
        const heard: string[] = [];
        for (const engine of [dialler, listener]) {
          engine.handle(ECHO, (stream) => stream.onFrame((frame) => heard.push(`${engine.id} hears ${text(frame)}`)));
          engine.onPeerUp(({ id }) => {
            void engine.openStream(id, ECHO, { signal: never }).then((stream) => stream.send(bytes(`${engine.id}`)));
          });
        }
        await connect(dialler, listener);
        const all = [`${dialler.id} hears ${listener.id}`, `${listener.id} hears ${dialler.id}`].sort();
        await eventually(() => expect(heard.toSorted()).toEqual(all));
      });

      test('know their peer', async () => {
        const [opened, accepted] = await streamPair();
        expect([opened.peer.direction, accepted.peer.direction]).toEqual(['outbound', 'inbound']);
        expect(opened.peer.id).not.toBe(accepted.peer.id);
      });

      test('refuse a frame that is too long', async () => {
        const [opened] = await streamPair();
        expect(() => opened.send(new Uint8Array(MAX_FRAME_BYTES + 1))).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
      });

      test('make a sender wait for a peer that does not listen, and lose nothing', async () => {
        const [opened, accepted] = await streamPair();
        const sent = await fill(opened);
        let hasRoom = false;
        const setup = opened.drained().then(() => {
          hasRoom = true;
        });
        await lab.pass(50);
        expect(hasRoom).toBe(false);
        const frames = collect(accepted);
        await setup;
        opened.send(frameOf(sent));
        await eventually(() => expect(frames).toHaveLength(sent + 1));
        expect(frames.map(numberOf)).toEqual(Array.from({ length: sent + 1 }, (_, index) => index));
      });

      test('end when a sender does not care that nobody listens', async () => {
        const [dialler, listener] = await connectedPair();
        listener.handle(ECHO, () => undefined);
        const stream = await dialler.openStream(listener.id, ECHO, { signal: never });
        const ended = vi.fn();
        stream.onClose(ended);
        for (let index = 0; index < 200; index += 1) stream.send(new Uint8Array(MAX_FRAME_BYTES));
        expect(ended).toHaveBeenCalledTimes(1);
        expect(dialler.refusals()).toEqual({ send_queue_full: 1 });
        expect(dialler.peers()).toHaveLength(1);
      });

      test('closed by one side end on the other after all that was sent', async () => {
        const [opened, accepted] = await streamPair();
        const told: string[] = [];
        accepted.onClose(() => told.push('end'));
        for (let index = 0; index < 20; index += 1) opened.send(bytes(`${index}`));
        await opened.close();
        await lab.pass(20);
        accepted.onFrame((frame) => told.push(text(frame)));
        await eventually(() => expect(told).toHaveLength(21));
        expect(told.at(-1)).toBe('end');
        expect(opened.send(bytes('too late'))).toBe(false);
        await expect(opened.drained()).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
      });

      test('aborted by one side end on both at once, told once, also to a listener that comes later', async () => {
        const [opened, accepted] = await streamPair();
        const ended = vi.fn();
        accepted.onClose(ended);
        opened.abort();
        opened.abort();
        await eventually(() => expect(ended).toHaveBeenCalledTimes(1));
        const late = vi.fn();
        accepted.onClose(late);
        expect(late).toHaveBeenCalledTimes(1);
        expect(accepted.send(bytes('nobody'))).toBe(false);
      });

      test('of a protocol that the peer does not know are refused, and of a hub that is not connected', async () => {
        const [dialler, listener] = await connectedPair();
        const unknown = dialler.openStream(listener.id, '/test/unknown/1', { signal: never });
        await expect(unknown).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
        const absent = dialler.openStream(lab.identity().id, ECHO, { signal: never });
        await expect(absent).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
      });

      test('are at most 16 of one protocol from one peer', async () => {
        const [dialler, listener] = await connectedPair();
        listener.handle(ECHO, () => undefined);
        const streams = [];
        for (let index = 0; index < 16; index += 1) streams.push(await dialler.openStream(listener.id, ECHO, { signal: never }));
        const oneMore = dialler.openStream(listener.id, ECHO, { signal: never });
        await expect(oneMore).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
        expect(listener.refusals()).toEqual({ too_many_streams: 1 });
        streams[0]?.abort();
        await eventually(async () => void (await dialler.openStream(listener.id, ECHO, { signal: never })));
      });

      test('that nobody waits for any more are cancelled', async () => {
        const [dialler, listener] = await connectedPair();
        listener.handle(ECHO, () => undefined);
        const opening = dialler.openStream(listener.id, ECHO, { signal: AbortSignal.abort() });
        await expect(opening).rejects.toMatchObject({ code: 'CANCELLED' });
      });
    });

    describe('gossip', () => {
      test('reaches the far end of a line, each hub once, and tells the neighbour that it came from', async () => {
        const line = [await lab.engine(), await lab.engine(), await lab.engine()] as const;
        const heard = line.map((engine) => listen(engine));
        await connect(line[0], line[1]);
        await connect(line[1], line[2]);
        const word = await publishUntil(line[0], (word) => has(heard[2], word));
        expect(heard[2]?.find((news) => news.word === word)?.from).toBe(line[1].id);
        expect(heard[1]?.filter((news) => news.word === word)).toEqual([{ word, from: line[0].id }]);
        await line[0].publish(bytes(word));
        await lab.pass(50);
        expect(heard[2]?.filter((news) => news.word === word)).toHaveLength(1);
      });

      test.each(['ignore', 'reject'] as const)('that a hub would %s is not told on', async (verdict) => {
        const line = [await lab.engine(), await lab.engine(), await lab.engine()] as const;
        const [, middle, end] = line.map((engine, index) =>
          listen(engine, (word) => (index === 1 && word.startsWith('bad') ? verdict : 'accept')),
        );
        await connect(line[0], line[1]);
        await connect(line[1], line[2]);
        await publishUntil(line[0], (word) => has(end, word));
        await line[0].publish(bytes('bad'));
        await publishUntil(line[0], () => has(middle, 'bad'));
        await lab.pass(50);
        expect(end?.map(({ word }) => word)).not.toContain('bad');
        expect(line[1].refusals()).toEqual(verdict === 'reject' ? { gossip_rejected: 1 } : {});
      });

      test('that the own validator does not accept is not sent, and what is too long is refused', async () => {
        const [dialler, listener] = await connectedPair();
        listen(dialler, (word) => (word.startsWith('news') ? 'accept' : 'ignore'));
        const heard = listen(listener);
        await publishUntil(dialler, (word) => has(heard, word));
        await dialler.publish(bytes('not this'));
        await lab.pass(50);
        expect(heard.map(({ word }) => word)).not.toContain('not this');
        expect(dialler.refusals()).toEqual({ gossip_own_refused: 1 });
        await expect(dialler.publish(new Uint8Array(MAX_GOSSIP_BYTES + 1))).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      });
    });

    describe('peers', () => {
      test('come and go exactly once', async () => {
        const [dialler, listener] = [await lab.engine(), await lab.engine()];
        const events = [watch(dialler), watch(listener)];
        await connect(dialler, listener);
        await connect(dialler, listener, { expect: listener.id });
        await eventually(() => expect(events).toEqual([[`up ${listener.id}`], [`up ${dialler.id}`]]));
        await listener.disconnect(dialler.id);
        await eventually(() =>
          expect(events).toEqual([
            [`up ${listener.id}`, `down ${listener.id}`],
            [`up ${dialler.id}`, `down ${dialler.id}`],
          ]),
        );
        expect([dialler.peers(), listener.peers()]).toEqual([[], []]);
      });

      test('that dial each other at the same moment share one connection', async () => {
        const [one, other] = [await lab.engine(), await lab.engine()];
        other.handle(ECHO, (stream) => stream.onFrame((frame) => stream.send(frame)));
        const events = [watch(one), watch(other)];
        const [there, back] = await Promise.all([connect(one, other), connect(other, one)]);
        expect([there.id, back.id]).toEqual([other.id, one.id]);
        await lab.pass(100);
        expect(events).toEqual([[`up ${other.id}`], [`up ${one.id}`]]);
        const stream = await one.openStream(other.id, ECHO, { signal: never });
        const frames = collect(stream);
        stream.send(bytes('still here'));
        await eventually(() => expect(frames.map(text)).toEqual(['still here']));
      });

      test('that are connected already are the answer to a second dial', async () => {
        const [dialler, listener] = await connectedPair();
        await expect(connect(dialler, listener)).resolves.toMatchObject({ id: listener.id });
        await expect(connect(listener, dialler)).resolves.toMatchObject({ id: dialler.id });
        expect([dialler.peers().length, listener.peers().length]).toEqual([1, 1]);
      });

      test('are no more than allowed, on either side', async () => {
        const [full, first, second] = [await lab.engine({ maxConnections: 1 }), await lab.engine(), await lab.engine()];
        await connect(first, full);
        await expect(connect(second, full)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
        await expect(connect(full, second)).rejects.toMatchObject({ code: 'RESOURCE_EXCEEDED' });
        expect(full.refusals()).toEqual({ too_many_connections: 2 });
        expect(full.peers().map(({ id }) => id)).toEqual([first.id]);
      });

      test('are not told to a listener that has stopped', async () => {
        const [dialler, listener] = [await lab.engine(), await lab.engine()];
        const heard = vi.fn();
        dialler.onPeerUp(heard)();
        await connect(dialler, listener);
        expect(heard).not.toHaveBeenCalled();
      });
    });

    describe('a connection', () => {
      test('to nobody fails and says where', async () => {
        const engine = await lab.engine();
        const { host, port } = lab.nowhere();
        const failure = engine.connect({ host, port }, { signal: never });
        await expect(failure).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE', message: expect.stringContaining(`${host}:${port}`) });
      });

      test('that nobody waits for any more is cancelled', async () => {
        const slow: ConnectionGate = { admit: () => new Promise(() => undefined) };
        const [dialler, listener] = [await lab.engine({ gate: slow }), await lab.engine({ gate: slow })];
        const caller = new AbortController();
        const dialling = dialler.connect(lab.addressOf(listener), { signal: caller.signal });
        caller.abort();
        await expect(dialling).rejects.toMatchObject({ code: 'CANCELLED' });
      });

      test('is possible again after the peer was gone', async () => {
        const identity = lab.identity();
        const [dialler, first] = [await lab.engine(), await lab.engine({ identity })];
        const events = watch(dialler);
        const at = lab.addressOf(first);
        await connect(dialler, first);
        await first[Symbol.asyncDispose]();
        await eventually(() => expect(events).toEqual([`up ${identity.id}`, `down ${identity.id}`]));
        const second = await lab.engine({ identity, at });
        await connect(dialler, second, { expect: identity.id });
        expect(events).toEqual([`up ${identity.id}`, `down ${identity.id}`, `up ${identity.id}`]);
        const heard = listen(second);
        await publishUntil(dialler, (word) => has(heard, word));
      });
    });

    describe('an engine', () => {
      test('does not start where another one listens', async () => {
        const first = await lab.engine();
        const at = lab.addressOf(first);
        await expect(lab.engine({ at })).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining(`${at.port}`) });
      });

      test('ends everything when it is disposed while busy, and takes nothing more', async () => {
        const [dialler, listener] = await connectedPair();
        const accepted: MeshStream[] = [];
        listener.handle(ECHO, (stream) => accepted.push(stream));
        const stream = await dialler.openStream(listener.id, ECHO, { signal: never });
        await fill(stream);
        const [ended, other] = [vi.fn(), watch(listener)];
        stream.onClose(ended);
        const waiting = expect(stream.drained()).rejects.toMatchObject({ code: 'NODE_UNAVAILABLE' });
        await Promise.all([dialler[Symbol.asyncDispose](), dialler[Symbol.asyncDispose]()]);
        await waiting;
        expect(ended).toHaveBeenCalledTimes(1);
        await eventually(() => expect(other).toEqual([`down ${dialler.id}`]));
        expect([dialler.peers(), dialler.listenAddresses()]).toEqual([[], []]);
        await expect(connect(dialler, listener)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
        await expect(dialler.publish(bytes('hello'))).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
      });

      test('ends what is at the gate when it is disposed', async () => {
        const slow: ConnectionGate = { admit: () => new Promise(() => undefined) };
        const [dialler, listener] = [await lab.engine({ gate: slow }), await lab.engine({ gate: slow })];
        const dialling = expect(connect(dialler, listener)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
        await dialler[Symbol.asyncDispose]();
        await dialling;
      });
    });
  });
}

async function eventually(check: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(check, { timeout: 20_000, interval: 2 });
}

function collect(stream: MeshStream): Uint8Array[] {
  const frames: Uint8Array[] = [];
  stream.onFrame((frame) => frames.push(frame.slice()));
  return frames;
}

function listen(engine: MeshEngine, judge: (word: string) => GossipVerdict = () => 'accept'): { word: string; from: string }[] {
  const heard: { word: string; from: string }[] = [];
  engine.onGossip((message, from) => {
    if (from !== engine.id) heard.push({ word: text(message), from });
    return judge(text(message));
  });
  return heard;
}

/** Gossip has no memory: what is told before the neighbours have agreed on the topic is lost. Answers what was told last. */
async function publishUntil(engine: MeshEngine, isHeard: (word: string) => boolean): Promise<string> {
  let word = '';
  // Each is waited for twice as long as the one before: a busy machine may need longer for one than the first is given.
  let timeout = 20;
  await eventually(async () => {
    word = `news ${performance.now()}`;
    timeout *= 2;
    await engine.publish(bytes(word));
    await vi.waitFor(() => expect(isHeard(word)).toBe(true), { timeout, interval: 2 });
  });
  return word;
}

function has(heard: readonly { readonly word: string }[] | undefined, word: string): boolean {
  return heard?.some((news) => news.word === word) ?? false;
}

function watch(engine: MeshEngine): string[] {
  const events: string[] = [];
  engine.onPeerUp(({ id }) => events.push(`up ${id}`));
  engine.onPeerDown(({ id }) => events.push(`down ${id}`));
  return events;
}

function frameOf(number: number): Uint8Array {
  const frame = new Uint8Array(8_192);
  new DataView(frame.buffer).setUint32(0, number);
  return frame;
}

function numberOf(frame: Uint8Array): number {
  return new DataView(frame.buffer, frame.byteOffset).getUint32(0);
}
