import { describe, expect, test } from 'vitest';
import type { MeshEngine } from '../../../src/mesh/transport/mesh-engine.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryEngine } from '../memory-engine.ts';
import { MemoryNetwork } from '../memory-network.ts';
import { bytes, madeUpHub, openGate, text } from './engine-fixtures.ts';
import { MemoryLab, settled } from './memory-lab.ts';

const never = new AbortController().signal;

async function connected(lab: MemoryLab): Promise<[dialler: MeshEngine, listener: MeshEngine]> {
  const [dialler, listener] = [await lab.engine(), await lab.engine()];
  const dialling = dialler.connect(lab.addressOf(listener), { signal: never });
  for (let turn = 0; turn < 20; turn += 1) await lab.pass(50);
  await dialling;
  return [dialler, listener];
}

function listen(engine: MeshEngine): string[] {
  const heard: string[] = [];
  engine.onGossip((message) => {
    heard.push(text(message));
    return 'accept';
  });
  return heard;
}

describe('the network in memory', () => {
  test('delivers after the delay and not before', async () => {
    await using lab = new MemoryLab(40);
    const [dialler, listener] = await connected(lab);
    const heard = listen(listener);
    await dialler.publish(bytes('late'));
    await lab.pass(39);
    expect(heard).toEqual([]);
    await lab.pass(1);
    expect(heard).toEqual(['late']);
  });

  test('keeps the order of what goes over one connection when the delay shrinks', async () => {
    const clock = new ManualClock();
    let latencyMs = 0;
    const network = new MemoryNetwork({ clock, latencyMs: () => latencyMs });
    const [one, other] = ['10.0.0.1:1', '10.0.0.2:1'].map(
      (address) => new MemoryEngine({ network, address, self: madeUpHub(), gate: openGate }),
    ) as [MemoryEngine, MemoryEngine];
    await one.start();
    await other.start();
    await one.connect({ host: '10.0.0.2', port: 1 }, { signal: never });
    const heard = listen(other);
    latencyMs = 100;
    await one.publish(bytes('first'));
    latencyMs = 1;
    await one.publish(bytes('second'));
    clock.advance(99);
    await settled();
    expect(heard).toEqual([]);
    clock.advance(1);
    await settled();
    expect(heard).toEqual(['first', 'second']);
  });

  test('holds back what crosses a partition, as TCP does, and delivers it when it heals', async () => {
    await using lab = new MemoryLab();
    const [dialler, listener] = await connected(lab);
    const heard = listen(listener);
    const cutOff = lab.addressOf(listener);
    lab.network.partition((address) => address === `${cutOff.host}:${cutOff.port}`);
    await dialler.publish(bytes('held'));
    await lab.pass(60_000);
    expect(heard).toEqual([]);
    expect(dialler.peers()).toHaveLength(1);
    lab.network.heal();
    await settled();
    expect(heard).toEqual(['held']);
  });

  test('lets a dial across a partition run into its time limit of five seconds', async () => {
    await using lab = new MemoryLab();
    const [dialler, listener] = [await lab.engine(), await lab.engine()];
    lab.network.partition((address) => address);
    const dialling = expect(dialler.connect(lab.addressOf(listener), { signal: never })).rejects.toMatchObject({
      code: 'NODE_UNAVAILABLE',
    });
    await lab.pass(5_000);
    await dialling;
  });

  test('tells the end of a connection across a partition only when that heals', async () => {
    await using lab = new MemoryLab();
    const [dialler, listener] = await connected(lab);
    lab.network.partition((address) => address);
    await listener[Symbol.asyncDispose]();
    await settled();
    expect(dialler.peers()).toHaveLength(1);
    lab.network.heal();
    await settled();
    expect(dialler.peers()).toEqual([]);
  });

  test('loses the share of gossip that it is told to, and nothing of a stream', async () => {
    await using lab = new MemoryLab();
    const [dialler, listener] = await connected(lab);
    const heard = listen(listener);
    lab.network.loseGossip(1);
    await dialler.publish(bytes('lost'));
    listener.handle('/test/1', (stream) => stream.onFrame((frame) => heard.push(text(frame))));
    (await dialler.openStream(listener.id, '/test/1', { signal: never })).send(bytes('frame'));
    await settled();
    expect(heard).toEqual(['frame']);
    lab.network.loseGossip(0);
    await dialler.publish(bytes('found'));
    await settled();
    expect(heard).toEqual(['frame', 'found']);
  });

  test('takes a hub back that came again although its old connection still seems to live', async () => {
    await using lab = new MemoryLab();
    const identity = madeUpHub();
    const [listener, first] = [await lab.engine(), await lab.engine({ identity })];
    const events: string[] = [];
    listener.onPeerUp(() => events.push('up'));
    listener.onPeerDown(() => events.push('down'));
    await first.connect(lab.addressOf(listener), { signal: never });
    await settled();
    // The old connection hangs in a partition while the hub, which lost its power, has started anew elsewhere.
    const { host, port } = lab.addressOf(first);
    lab.network.partition((address) => address === `${host}:${port}`);
    await lab.pass(11_000);
    const again = await lab.engine({ identity });
    await again.connect(lab.addressOf(listener), { signal: never });
    await settled();
    expect(events).toEqual(['up', 'down', 'up']);
    expect(listener.peers()).toHaveLength(1);
  });

  test('carries gossip through 300 hubs with three neighbours each, once to every one', async () => {
    await using lab = new MemoryLab();
    const engines: MeshEngine[] = [];
    const counts = new Map<string, number>();
    for (let index = 0; index < 300; index += 1) {
      const engine = await lab.engine({ maxConnections: 300 });
      engine.onGossip((_, from) => {
        if (from !== engine.id) counts.set(engine.id, (counts.get(engine.id) ?? 0) + 1);
        return 'accept';
      });
      const neighbours = new Set([index - 1, Math.floor(index / 2), Math.floor(index / 7)].filter((other) => other >= 0 && other < index));
      for (const other of neighbours) await engine.connect(lab.addressOf(engines[other] ?? engine), { signal: never });
      engines.push(engine);
    }
    await engines[7]?.publish(bytes('to all'));
    for (let turn = 0; turn < 10; turn += 1) await settled();
    expect(counts.size).toBe(299);
    expect(new Set(counts.values())).toEqual(new Set([1]));
  });
});
