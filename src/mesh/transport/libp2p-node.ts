import type { GossipSub } from '@libp2p/gossipsub';
import { identify } from '@libp2p/identify';
import type {
  ConnectionEncrypter,
  ConnectionProtector,
  Libp2p,
  MessageStream,
  PrivateKey,
  SecureConnectionOptions,
  SecuredConnection,
  Upgrader,
} from '@libp2p/interface';
import { noise } from '@libp2p/noise';
import { preSharedKey } from '@libp2p/pnet';
import { LengthPrefixedDecoder, type LengthPrefixedStream, lpStream } from '@libp2p/utils';
import { yamux } from '@libp2p/yamux';
import { createLibp2p } from 'libp2p';
import { AtmoError } from '../../core/errors.ts';
import {
  type AdmissionPolicy,
  admit,
  type ConnectionAttempt,
  type ConnectionAttempts,
  GATE_TIMEOUT_MS,
  type GateTransport,
  MAX_GATE_TRANSPORT_BYTES,
} from './admission.ts';
import { meshGossipsub } from './gossipsub.ts';
import { hubOf } from './libp2p-key.ts';
import type { GatePeer } from './mesh-engine.ts';
import { silentLogger } from './tcp-connection.ts';

/** High value that turns off libp2p's own limits, above which libp2p would close connections. The engine limits connections at the gate. */
const NO_LIMIT = 100_000;

interface Libp2pNodeOptions {
  readonly privateKey: PrivateKey;
  readonly attempts: ConnectionAttempts;
  readonly policy: AdmissionPolicy;
  /** Secret of 32 bytes that all members share. */
  readonly preSharedKey?: Uint8Array | undefined;
  readonly site?: string | undefined;
}

/** A libp2p node; the engine passes its sockets to `upgrader`. */
export type Libp2pNode = Libp2p<{ pubsub: GossipSub; sockets: { readonly upgrader: Upgrader } }>;

/** Creates a libp2p node without starting it. The node never listens, dials, discovers or pings by itself. */
export async function createNode({ privateKey, attempts, policy, preSharedKey, site }: Libp2pNodeOptions): Promise<Libp2pNode> {
  return await createLibp2p({
    start: false,
    privateKey,
    logger: silentLogger,
    nodeInfo: { name: 'atmosphere-edge', version: '1', userAgent: 'atmosphere-edge' },
    ...(preSharedKey && { connectionProtector: () => protector(preSharedKey, attempts) }),
    connectionEncrypters: [(components) => new MemberEncrypter(noise()(components), attempts, policy)],
    // Yamux's keep-alive is off, since the control stream has its own heartbeat.
    streamMuxers: [yamux({ enableKeepAlive: false, maxInboundStreams: 256, maxOutboundStreams: 256 })],
    connectionMonitor: { enabled: false },
    connectionManager: {
      maxConnections: NO_LIMIT,
      inboundConnectionThreshold: NO_LIMIT,
      maxIncomingPendingConnections: NO_LIMIT,
      inboundUpgradeTimeout: GATE_TIMEOUT_MS,
      reconnectRetries: 0,
    },
    services: {
      identify: identify({ maxObservedAddresses: 1 }),
      pubsub: meshGossipsub(site),
      sockets: ({ upgrader }: { upgrader: Upgrader }) => ({ upgrader }),
    },
  });
}

function protector(key: Uint8Array, attempts: ConnectionAttempts): ConnectionProtector {
  const text = `/key/swarm/psk/1.0.0/\n/base16/\n${Buffer.from(key).toString('hex')}`;
  const inner = preSharedKey({ psk: new TextEncoder().encode(text) })();
  return {
    protect: async (connection, options) => {
      const outer = await inner.protect(connection, options);
      attempts.wrap(connection, outer);
      return outer;
    },
  };
}

/** Name of the protocol. It is not libp2p's `/noise`, so that a libp2p node without the gate cannot connect. */
const PROTOCOL = '/atmosphere-edge/noise/1';
/** Maximum number of bytes that a peer may send before the gate has read them. */
const MAX_READ_AHEAD_BYTES = 65_536;
/** Bytes of the length before each Noise message (https://noiseprotocol.org/noise.html, section 13; libp2p's noise specification). */
const NOISE_LENGTH_BYTES = 2;
/** Time limit for sending a refusal, in milliseconds. */
const REFUSAL_MS = 500;

/**
 * Runs Noise, then the gate over the encrypted connection. libp2p gets the connection only after both hubs have admitted each other. Before
 * that, no byte of the peer reaches libp2p's multiplexer, its protocols or gossipsub.
 */
class MemberEncrypter implements ConnectionEncrypter {
  readonly protocol = PROTOCOL;
  readonly #noise: ConnectionEncrypter;
  readonly #attempts: ConnectionAttempts;
  readonly #policy: AdmissionPolicy;

  constructor(noise: ConnectionEncrypter, attempts: ConnectionAttempts, policy: AdmissionPolicy) {
    this.#noise = noise;
    this.#attempts = attempts;
    this.#policy = policy;
  }

  async secureOutbound(connection: MessageStream, options?: SecureConnectionOptions): Promise<SecuredConnection> {
    return await this.#admit(this.#attempt(connection), await this.#noise.secureOutbound(connection, options));
  }

  async secureInbound(connection: MessageStream, options?: SecureConnectionOptions): Promise<SecuredConnection> {
    return await this.#admit(this.#attempt(connection), await this.#noise.secureInbound(connection, options));
  }

  #attempt(connection: MessageStream): ConnectionAttempt {
    const attempt = this.#attempts.of(connection);
    if (attempt) return attempt;
    throw new AtmoError('INTERNAL_ERROR', 'A connection reached the gate without an attempt of the engine');
  }

  async #admit(attempt: ConnectionAttempt, secured: SecuredConnection): Promise<SecuredConnection> {
    try {
      await this.#runGate(attempt, secured);
      endQuietly(secured.connection);
      return secured;
    } catch (error) {
      attempt.error = error;
      await secured.connection.close({ signal: AbortSignal.timeout(REFUSAL_MS) }).catch(() => undefined);
      throw error;
    }
  }

  async #runGate(attempt: ConnectionAttempt, secured: SecuredConnection): Promise<void> {
    const { direction, address, gate, expect, signal } = attempt;
    const hub = hubOf(secured.remotePeer);
    if (!hub) throw new AtmoError('PERMISSION_DENIED', `${address} has a key that is not Ed25519`);
    const peer: GatePeer = { ...hub, direction, address };
    const messages = lpStream(secured.connection, { maxDataLength: MAX_GATE_TRANSPORT_BYTES, maxBufferSize: MAX_READ_AHEAD_BYTES });
    await admit(this.#policy, { transport: new GateMessages(messages, address), gate, peer, expect, signal });
    this.#attempts.pass(attempt, peer);
    secured.connection.addEventListener('close', () => this.#policy.slots.release(peer.id), { once: true });
    // Leaves the bytes after the gate's messages to the multiplexer.
    messages.unwrap();
  }
}

const TOO_SHORT = new RangeError('The length of the next message has not come yet');

/**
 * Noise asks for a next message after each one, and libp2p's decoder learns by an error that there is none. To make this error with its stack takes
 * twice as long as to decrypt a message, so it gets one that exists already.
 */
function endQuietly(connection: object): void {
  const decoder: unknown = Reflect.get(connection, 'decoder');
  if (!(decoder instanceof LengthPrefixedDecoder)) return;
  const lengthOf: unknown = Reflect.get(decoder, 'lengthDecoder');
  if (typeof lengthOf !== 'function') return;
  Reflect.set(decoder, 'lengthDecoder', (bytes: { readonly byteLength: number }) => {
    if (bytes.byteLength < NOISE_LENGTH_BYTES) throw TOO_SHORT;
    return lengthOf(bytes);
  });
}

/** Sends and reads gate messages over an encrypted stream. Each message has its length in front. */
class GateMessages implements GateTransport {
  readonly #messages: LengthPrefixedStream;
  readonly #address: string;

  constructor(messages: LengthPrefixedStream, address: string) {
    this.#messages = messages;
    this.#address = address;
  }

  async write(message: Uint8Array): Promise<void> {
    await this.#messages.write(message).catch((error) => this.#fail(error));
  }

  async read(signal: AbortSignal): Promise<Uint8Array> {
    try {
      return (await this.#messages.read({ signal })).subarray();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return this.#fail(error);
    }
  }

  #fail(cause: unknown): never {
    const name = cause instanceof Error ? cause.name : '';
    if (name === 'InvalidDataLengthError' || name === 'InvalidDataLengthLengthError' || name === 'StreamBufferError')
      throw new AtmoError(
        'PAYLOAD_TOO_LARGE',
        `${this.#address} sent more than ${MAX_GATE_TRANSPORT_BYTES} bytes to the gate`,
        {},
        { cause },
      );
    throw new AtmoError('NODE_UNAVAILABLE', `${this.#address} closed the connection during the gate`, {}, { cause });
  }
}
