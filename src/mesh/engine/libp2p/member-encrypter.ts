import type { ConnectionEncrypter, MessageStream, SecureConnectionOptions, SecuredConnection } from '@libp2p/interface';
import { type LengthPrefixedStream, lpStream } from '@libp2p/utils';
import { AtmoError } from '../../../core/errors.ts';
import { type AdmissionDesk, admit, type GateTransport, MAX_GATE_TRANSPORT_BYTES } from '../admission.ts';
import type { ConnectionAttempt, ConnectionAttempts } from '../connection-attempt.ts';
import type { GatePeer } from '../mesh-engine.ts';
import { hubOf } from './libp2p-key.ts';

/** Not libp2p's `/noise`: a node without the gate does not get further than this name. */
const PROTOCOL = '/atmosphere-edge/noise/1';
/** Bytes that a peer may send ahead while its messages are judged. */
const MAX_READ_AHEAD_BYTES = 65_536;
/** How long a refusal may take to be sent, milliseconds. */
const FAREWELL_MS = 500;

/** What the encrypter is made of. */
export interface MemberEncrypterParts {
  readonly noise: ConnectionEncrypter;
  readonly attempts: ConnectionAttempts;
  readonly desk: AdmissionDesk;
}

/**
 * Noise, then the gate over the encrypted connection. Only when both sides have admitted each other libp2p gets the
 * connection: nothing that a stranger sends reaches its multiplexer, its protocols or gossipsub.
 */
export class MemberEncrypter implements ConnectionEncrypter {
  readonly protocol = PROTOCOL;
  readonly #parts: MemberEncrypterParts;

  constructor(parts: MemberEncrypterParts) {
    this.#parts = parts;
  }

  async secureOutbound(connection: MessageStream, options?: SecureConnectionOptions): Promise<SecuredConnection> {
    return await this.#admit(this.#attempt(connection), await this.#parts.noise.secureOutbound(connection, options));
  }

  async secureInbound(connection: MessageStream, options?: SecureConnectionOptions): Promise<SecuredConnection> {
    return await this.#admit(this.#attempt(connection), await this.#parts.noise.secureInbound(connection, options));
  }

  #attempt(connection: MessageStream): ConnectionAttempt {
    const attempt = this.#parts.attempts.of(connection);
    if (attempt) return attempt;
    throw new AtmoError('INTERNAL_ERROR', 'A connection came to the gate that nobody had opened');
  }

  async #admit(attempt: ConnectionAttempt, secured: SecuredConnection): Promise<SecuredConnection> {
    try {
      await this.#runGate(attempt, secured);
      return secured;
    } catch (error) {
      attempt.error = error;
      await secured.connection.close({ signal: AbortSignal.timeout(FAREWELL_MS) }).catch(() => undefined);
      throw error;
    }
  }

  async #runGate(attempt: ConnectionAttempt, secured: SecuredConnection): Promise<void> {
    const { direction, address, gate, expect, signal } = attempt;
    const hub = hubOf(secured.remotePeer);
    if (!hub) throw new AtmoError('PERMISSION_DENIED', `${address} has a key that is not Ed25519`);
    const peer: GatePeer = { ...hub, direction, address };
    const messages = lpStream(secured.connection, { maxDataLength: MAX_GATE_TRANSPORT_BYTES, maxBufferSize: MAX_READ_AHEAD_BYTES });
    await admit(this.#parts.desk, { transport: new GateMessages(messages, address), gate, peer, expect, signal });
    this.#parts.attempts.pass(attempt, peer);
    secured.connection.addEventListener('close', () => this.#parts.desk.seats.release(peer.id), { once: true });
    // What the peer sent after the gate goes back to where the multiplexer will read it.
    messages.unwrap();
  }
}

/** The gate's messages over an encrypted stream, each behind its length. */
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
