/**
 * A member of the mesh that means harm. Arguments: state directory of a hub that has joined and does not run, `host:port` of
 * the hub to harm, number of frames, seed. Speaks first-hand: no code of the honest side checks what it sends. Prints
 * `READY` once it is connected, and at its end one line of JSON with what it sent.
 */
import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { announce, homeWithTools } from '../../../scripts/bench/announced-home.ts';
import { HubKey } from '../../../src/auth/hub-key.ts';
import { frameCodec, handshakeCodec } from '../../../src/codec/messages/connection.ts';
import { meshIdOf } from '../../../src/codec/public-key.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { type MembershipRecord, parseMembershipRecord } from '../../../src/mesh/membership/mesh-membership.ts';
import { CONTROL_PROTOCOL } from '../../../src/mesh/rpc/control-links.ts';
import { Libp2pEngine } from '../../../src/mesh/transport/libp2p-engine.ts';
import { type ConnectionGate, MAX_GOSSIP_BYTES, type MeshStream } from '../../../src/mesh/transport/mesh-engine.ts';
import { StateStore } from '../../../src/storage/state-store.ts';
import { journalParts } from '../../storage/storage-services.ts';
import { mutated, randomOf } from '../mesh/mutation.ts';

const [stateDir = '', target = '', frameCount = '0', seed = '1'] = process.argv.slice(2);
const RECORD_MS = 3_000;
const MAX_RECORDED = 500;
const FORGED_IDENTITIES = 1_000;
const BURST = 50;
const PAUSE_MS = 25;
const RECONNECT_PAUSE_MS = 50;
const REQUEST_KINDS_KNOWN = 12;
const FLOOD_LIMIT_MS = 60_000;
const SETTLE_MS = 300;

const random = randomOf(Number(seed));
const sent = { frames: 0, gossip: 0, forged: 0, streams: 0, connections: 0, refused: 0 };

async function ownRecord(): Promise<MembershipRecord> {
  const parts = { clock: systemClock, logger: silentLogger, events: { emit() {} }, ...journalParts(stateDir) };
  await using store = new StateStore(parts, { directory: stateDir, snapshotDirectory: `${stateDir}/snapshots` });
  await store.start();
  return parseMembershipRecord(store.get('mesh.membership', 'own') ?? null);
}

/** Passes every gate, as its certificate is a real one. */
function openGate({ rootKey, certificate }: MembershipRecord): ConnectionGate {
  const hello = handshakeCodec.encode({ kind: 'hello', version: 1, meshId: meshIdOf(rootKey), certificate });
  return {
    async admit(channel, { direction }) {
      if (direction === 'inbound') await channel.read();
      await channel.write(hello);
      if (direction === 'outbound') await channel.read();
    },
  };
}

await using key = new HubKey(stateDir, () => {});
await key.start();
const record = await ownRecord();
const heard: Uint8Array[] = [];
const remember = (bytes: Uint8Array) => void (heard.length < MAX_RECORDED && heard.push(Buffer.from(bytes)));
let theirs: MeshStream | undefined;

await using engine = new Libp2pEngine({ key: key.privateKey, gate: openGate(record), listen: { host: '', port: 0 } });
engine.onGossip((message) => {
  remember(message);
  return 'accept';
});
const open = new Set<MeshStream>();

function watch(stream: MeshStream): MeshStream {
  open.add(stream);
  stream.onFrame(remember);
  stream.onClose(() => {
    open.delete(stream);
    if (theirs === stream) theirs = undefined;
  });
  return stream;
}

engine.handle(CONTROL_PROTOCOL, (stream) => {
  theirs = watch(stream);
});
await engine.start();

/** Connects, again and again: it is thrown out all the time. */
async function connected(): Promise<HubId> {
  const colon = target.lastIndexOf(':');
  const address = { host: target.slice(0, colon), port: Number(target.slice(colon + 1)) };
  for (;;) {
    try {
      const { id } = await engine.connect(address, { signal: AbortSignal.timeout(10_000) });
      sent.connections += 1;
      return id;
    } catch {
      sent.refused += 1;
      await sleep(RECONNECT_PAUSE_MS);
    }
  }
}

/** The stream that the victim opened, else one of our own; undefined when it takes none. */
async function streamTo(id: HubId): Promise<MeshStream | undefined> {
  if (theirs) return theirs;
  try {
    const stream = await engine.openStream(id, CONTROL_PROTOCOL, { signal: AbortSignal.timeout(2_000) });
    sent.streams += 1;
    return watch(stream);
  } catch {
    return undefined;
  }
}

/** Half of them are well-formed requests with a rotten body, which the victim has to look into. */
function hostileFrame(requestId: number): Buffer {
  const rotten = mutated(heard, random);
  if (random() < 0.5 || rotten.length > 60_000) return rotten;
  const kind = 1 + Math.floor(random() * REQUEST_KINDS_KNOWN);
  return Buffer.from(frameCodec.encode({ type: 'request', id: requestId, kind, body: rotten }));
}

async function attackStreams(count: number): Promise<void> {
  let id = await connected();
  while (sent.frames < count) {
    const stream = await streamTo(id);
    if (!stream) {
      await sleep(RECONNECT_PAUSE_MS);
      id = await connected();
      continue;
    }
    // Requests of a side are odd or even; the wrong half is hostile, too.
    let requestId = 1 + Math.floor(random() * 2);
    for (let burst = 0; open.has(stream) && sent.frames < count; burst++) {
      stream.send(hostileFrame(requestId));
      requestId += 2;
      sent.frames += 1;
      if (burst % BURST === BURST - 1) await sleep(PAUSE_MS);
      else await Promise.resolve();
    }
  }
}

async function attackGossip(count: number): Promise<void> {
  while (sent.gossip < count) {
    for (let burst = 0; burst < BURST && sent.gossip < count; burst++) {
      await engine.publish(mutated(heard, random).subarray(0, MAX_GOSSIP_BYTES)).catch(() => undefined);
      sent.gossip += 1;
    }
    await sleep(PAUSE_MS);
  }
}

/** Announcements of hubs that nobody let in, each under a key of its own and with a certificate that is another hub's. */
async function attackIdentities(): Promise<void> {
  const home = await homeWithTools(4);
  for (; sent.forged < FORGED_IDENTITIES; sent.forged++) {
    const forged = { ...home, key: generateKeyPairSync('ed25519').privateKey, state: { ...home.state, name: 'forged' } };
    await engine.publish(announce(forged, record.certificate)).catch(() => undefined);
    if (sent.forged % BURST === 0) await sleep(PAUSE_MS);
  }
}

/** A stream that the victim has not ended after a moment. */
async function lastingStream(): Promise<MeshStream> {
  for (;;) {
    const stream = await streamTo(await connected());
    await sleep(SETTLE_MS);
    if (stream && open.has(stream)) return stream;
  }
}

/** Well-formed requests as fast as the stream takes them, until the victim ends it or the limit; answers how many and for how long. */
async function flood(): Promise<Readonly<Record<string, number>>> {
  const stream = await lastingStream();
  const startMs = performance.now();
  let frames = 0;
  for (; open.has(stream) && performance.now() - startMs < FLOOD_LIMIT_MS; frames++) {
    const hasRoom = stream.send(frameCodec.encode({ type: 'request', id: 2 * frames + 1, kind: 8, body: new Uint8Array(64) }));
    if (!hasRoom || frames % 101 === 0) await sleep(1);
  }
  return { flood_frames: frames, flood_cut_ms: performance.now() - startMs, flood_uncut: Number(open.has(stream)) };
}

await connected();
await sleep(RECORD_MS);
if (heard.length === 0) heard.push(frameCodec.encode({ type: 'ping', number: 1 }));
console.log('READY');
const count = Number(frameCount);
await Promise.all([attackStreams(count), attackGossip(Math.ceil(count / 10)), attackIdentities()]);
console.log(JSON.stringify({ ...sent, recorded: heard.length, ...(await flood()) }));
process.exit();
