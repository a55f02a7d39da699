import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { decodeCbor, encodeCbor } from '../../../src/codec/cbor.ts';
import { parseInvite } from '../../../src/codec/messages/membership.ts';
import { hubIdOf, rawPublicKey, type SigningKey } from '../../../src/codec/public-key.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { EventBus, type HubEvent } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { inviterCertificate, type LocalHub } from '../../../src/mesh/membership/certificates.ts';
import { JoinAttempt } from '../../../src/mesh/membership/join-mesh.ts';
import { openMembership } from '../../../src/mesh/membership/membership.ts';
import type { PassphraseBox, RootKeyFile } from '../../../src/mesh/membership/root-key.ts';
import type { ConnectionGate, GateChannel, GatePeer } from '../../../src/mesh/transport/mesh-engine.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

export const PASSPHRASE = 'correct horse battery staple';
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

export function hubKey(): LocalHub {
  const { privateKey } = generateKeyPairSync('ed25519');
  return ownHub(privateKey);
}

export function ownHub(privateKey: KeyObject): LocalHub {
  const publicKey = rawPublicKey(privateKey);
  return { privateKey, publicKey, hubId: hubIdOf(publicKey) };
}

export class MemoryRootKeyFile implements RootKeyFile {
  readonly path = '/state/mesh/root.key';
  #text: string | undefined;

  read(): string | undefined {
    return this.#text;
  }

  write(text: string): void {
    this.#text = text;
  }

  remove(): void {
    this.#text = undefined;
  }
}

/** Stretches no passphrase; what it seals is no secret. */
const QUICK_BOX: PassphraseBox = {
  seal: async (content, passphrase) => encodeCbor([passphrase, content]),
  open: async (box, given) => {
    const parts = decodeCbor(box);
    const [passphrase, content]: readonly unknown[] = Array.isArray(parts) ? parts : [];
    if (passphrase === given && content instanceof Uint8Array) return content;
    throw new AtmoError('PERMISSION_DENIED', 'The passphrase is another one');
  },
};

export interface MembershipFixtureOptions {
  /** Absent: one that is fast and no secret. */
  readonly box?: PassphraseBox;
  readonly self?: LocalHub;
  readonly clock?: ManualClock;
  readonly store?: MemoryKeyValueStore;
  readonly rootKeyFile?: RootKeyFile;
  /** Milliseconds that this hub's clock is ahead. */
  readonly aheadMs?: number;
  readonly isTimeTrusted?: boolean;
}

/** A hub's membership with everything around it in memory; `self`, `store` and `rootKeyFile` of an older room make it that room after a restart. */
export async function membershipFixture(options: MembershipFixtureOptions = {}) {
  const clock = options.clock ?? new ManualClock();
  const store = options.store ?? new MemoryKeyValueStore(clock);
  const self = options.self ?? hubKey();
  const rootKeyFile = options.rootKeyFile ?? new MemoryRootKeyFile();
  const time = { now: () => clock.now() + (options.aheadMs ?? 0), isTrusted: () => options.isTimeTrusted ?? true };
  const events = new EventBus('test', clock);
  const heard: HubEvent[] = [];
  events.listen((event) => heard.push(event));
  const parts = openMembership({ self, store, rootKeyFile, box: options.box ?? QUICK_BOX, time, clock, events, logger: silentLogger });
  await parts.membership.start();
  return { ...parts, self, store, rootKeyFile, time, clock, events, heard };
}

export type MembershipFixture = Awaited<ReturnType<typeof membershipFixture>>;

/** A hub that made a mesh; its root key is nowhere any more, so that no passphrase has to be stretched. */
export async function founder(options: MembershipFixtureOptions = {}): Promise<MembershipFixture> {
  const setup = await membershipFixture(options);
  enterAsFounder(setup, rootKey());
  return setup;
}

/** A hub that made a mesh and has its sealed root key. */
export async function foundedWithPassphrase(options: MembershipFixtureOptions = {}): Promise<MembershipFixture> {
  const setup = await membershipFixture(options);
  await setup.authority.create({ passphrase: PASSPHRASE, name: 'Home' });
  return setup;
}

export function rootKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  return { privateKey, publicKey: rawPublicKey(privateKey) };
}

/** Makes the hub one that may invite, with the root key in the open. */
export function enterAsFounder({ membership, self, time }: MembershipFixture, root: SigningKey): void {
  const certificate = inviterCertificate(root, { key: self.publicKey, permissions: ['*', 'admin:*'] }, time);
  membership.enter({ rootKey: root.publicKey, certificate, addresses: [] });
}

export interface ChannelPair {
  readonly dialler: GateChannel & { close(): void };
  readonly answerer: GateChannel & { close(): void };
}

/** Two ends of one connection in memory. */
export function channelPair(): ChannelPair {
  const [there, back] = [new Pipe(), new Pipe()];
  return { dialler: endOf(back, there), answerer: endOf(there, back) };
}

function endOf(incoming: Pipe, outgoing: Pipe) {
  return {
    read: () => incoming.take(),
    write: async (message: Uint8Array) => outgoing.put(message),
    close: () => {
      incoming.close();
      outgoing.close();
    },
  };
}

class Pipe {
  readonly #messages: Uint8Array[] = [];
  readonly #readers: { resolve(message: Uint8Array): void; reject(error: AtmoError): void }[] = [];
  #isClosed = false;

  put(message: Uint8Array): void {
    const reader = this.#readers.shift();
    if (reader) reader.resolve(message);
    else if (!this.#isClosed) this.#messages.push(message);
  }

  async take(): Promise<Uint8Array> {
    const message = this.#messages.shift();
    if (message) return message;
    if (this.#isClosed) throw closed();
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    this.#readers.push({ resolve, reject });
    return promise;
  }

  close(): void {
    this.#isClosed = true;
    for (const reader of this.#readers.splice(0)) reader.reject(closed());
  }
}

function closed(): AtmoError {
  return new AtmoError('NODE_UNAVAILABLE', 'The other side closed the connection');
}

export function peerOf({ hubId, publicKey }: LocalHub, direction: GatePeer['direction']): GatePeer {
  return { id: hubId, publicKey, direction, address: '192.0.2.7:8082' };
}

/** What either side made of the other: `admitted`, or the reason that it was refused for. */
export interface Meeting {
  readonly dialler: string;
  readonly answerer: string;
}

interface Side {
  readonly self: LocalHub;
  readonly gate: ConnectionGate;
}

/** Lets two hubs meet as the engine does: the transport has proven both keys, and a side that throws closes the connection. */
export async function meet(dialler: Side, answerer: Side): Promise<Meeting> {
  const ends = channelPair();
  const [one, other] = await Promise.all([
    side(dialler.gate, ends.dialler, peerOf(answerer.self, 'outbound')),
    side(answerer.gate, ends.answerer, peerOf(dialler.self, 'inbound')),
  ]);
  return { dialler: one, answerer: other };
}

async function side(gate: ConnectionGate, channel: GateChannel & { close(): void }, peer: GatePeer): Promise<string> {
  try {
    await gate.admit(channel, peer);
    return 'admitted';
  } catch (error) {
    channel.close();
    return reasonOf(error);
  }
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof AtmoError)) throw error;
  return typeof error.details.reason === 'string' ? error.details.reason : error.code;
}

export async function inviteOf(setup: MembershipFixture, options: Parameters<MembershipFixture['admission']['invite']>[0] = {}) {
  return parseInvite((await setup.admission.invite(options)).text);
}

/** One try of a hub to join with an invite. */
export async function tryJoin(joiner: MembershipFixture, host: Side, invite: Awaited<ReturnType<typeof inviteOf>>): Promise<Meeting> {
  const attempt = new JoinAttempt(joiner, { invite, name: 'Attic' });
  return meet({ self: joiner.self, gate: attempt }, host);
}

/** A hub that joined at another. */
export async function joined(
  host: MembershipFixture,
  options: MembershipFixtureOptions & { readonly permissions?: readonly string[] } = {},
): Promise<MembershipFixture> {
  const joiner = await membershipFixture({ clock: host.clock, ...options });
  const { permissions } = options;
  await tryJoin(joiner, host, await inviteOf(host, { permissions }));
  joiner.membership.requireOwn();
  return joiner;
}

export function refusalOf(work: () => unknown): AtmoError {
  try {
    work();
  } catch (error) {
    if (error instanceof AtmoError) return error;
    throw error;
  }
  throw new Error('Nothing was refused');
}

export async function rejectionOf(work: Promise<unknown>): Promise<AtmoError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof AtmoError) return error;
    throw error;
  }
  throw new Error('Nothing was refused');
}
