import { readFileSync } from 'node:fs';
import type { IClientOptions, MqttClient, Packet } from 'mqtt';
import { AtmoError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import { certificateFailure } from '../http-client/http-request.ts';

/** A received message. */
export interface MqttMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** True for a retained message. The broker stored it earlier, so it is not a current command. */
  readonly isRetained: boolean;
}

/** The message that the broker publishes when a client's connection breaks (MQTT 5.0 §3.1.2.5). */
interface MqttWill {
  readonly topic: string;
  readonly payload: string;
}

/** Port: a connection to the broker. It is opened at the first use, and again after each break. */
export interface MqttConnection extends AsyncDisposable {
  /**
   * Sends a message with QoS 1, and resolves when the broker has confirmed it. Rejects with SERVICE_UNAVAILABLE (no connection; the message
   * is dropped), SERVICE_REFUSED (the broker refused it, or the topic has no subscriber), or OUTCOME_UNKNOWN (no confirmation).
   */
  deliver(topic: string, payload: string, signal: AbortSignal): Promise<void>;
  /** Publishes a message that the broker retains. An empty payload deletes the retained message. Does nothing without a connection. */
  retain(topic: string, payload: string): void;
  /** Sends a message to the current subscribers. Does nothing without a connection. */
  publish(topic: string, payload: string): void;
  /** Connects, and reconnects after each break. Calls `onUp` each time, since a new connection has no subscriptions. */
  open(listeners: MqttListeners, will: MqttWill): void;
  /** Subscribes for the time of the current connection. After a reconnection, `onUp` must subscribe again. */
  subscribe(filters: readonly string[]): void;
}

interface MqttListeners {
  readonly onUp: () => void;
  readonly onMessage: (message: MqttMessage) => void;
}

/** The broker's address, and the hub's credentials. */
interface BrokerAddress {
  readonly url: string;
  readonly clientId: string;
  readonly user?: string;
  readonly secret?: string;
  readonly caFile?: string;
}

/** Default TCP ports of MQTT without and with TLS (IANA). */
const DEFAULT_PORTS = { mqtt: 1883, mqtts: 8883 } as const;
const RECONNECT_MS = 5_000;
const KEEPALIVE_S = 30;
/** Longest received message in bytes. Real ones are short, but without a limit, a broker delivers up to 256 MB (MQTT 5.0, 3.1.2.11.4). */
const MAX_PACKET_BYTES = 65_536;
const DISCONNECT_TIMEOUT_MS = 1_000;
const STOPPING = 'the hub is stopping';

/** A connection over MQTT 5.0. A message that cannot be sent now is dropped. It is not sent later, after a reconnection. */
export class BrokerConnection implements MqttConnection {
  readonly #logger: Logger;
  readonly #address: BrokerAddress;
  #client: Promise<MqttClient> | undefined;
  #connected: MqttClient | undefined;
  #listeners: MqttListeners | undefined;
  #problem = 'no answer';
  #isEnded = false;

  constructor(logger: Logger, address: BrokerAddress) {
    this.#logger = logger;
    this.#address = address;
  }

  async deliver(topic: string, payload: string, signal: AbortSignal): Promise<void> {
    const client = await this.#untilConnected(signal);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let ack: Packet | undefined;
    const onPacket = (packet: Packet) => {
      if (packet.cmd === 'puback') ack = packet;
    };
    const giveUp = () => reject(notAcknowledged(topic));
    client.on('packetreceive', onPacket);
    signal.addEventListener('abort', giveUp, { once: true });
    // The client calls back while it handles the PUBACK of this message, so the last received PUBACK is the one of this message.
    client.publish(topic, payload, { qos: 1 }, (error) => (error ? reject(publishError(topic, error)) : resolve()));
    try {
      await promise;
    } finally {
      client.off('packetreceive', onPacket);
      signal.removeEventListener('abort', giveUp);
    }
    if (ack && 'reasonCode' in ack && ack.reasonCode === NO_MATCHING_SUBSCRIBERS) {
      throw new AtmoError('SERVICE_REFUSED', `Nobody listens to ${topic} at the MQTT broker`, { topic });
    }
  }

  retain(topic: string, payload: string): void {
    this.#connected?.publish(topic, payload, { qos: 0, retain: true });
  }

  publish(topic: string, payload: string): void {
    this.#connected?.publish(topic, payload, { qos: 0 });
  }

  subscribe(filters: readonly string[]): void {
    this.#connected?.subscribe([...filters], { qos: 1 }, (error) => {
      if (error) this.#logger.warn('mqtt.not_subscribed', { filters, problem: errorReason(error) });
    });
  }

  open(listeners: MqttListeners, will: MqttWill): void {
    this.#listeners = listeners;
    this.#client = this.#connect(will);
    this.#client.catch((error: unknown) => this.#logger.error('mqtt.not_loaded', { problem: errorReason(error) }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    const client = await this.#client?.catch(() => undefined);
    if (!client) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = setTimeout(() => client.end(true, () => resolve()), DISCONNECT_TIMEOUT_MS);
    client.end(!client.connected, () => resolve());
    await promise;
    clearTimeout(late);
  }

  async #untilConnected(signal: AbortSignal): Promise<MqttClient> {
    if (this.#isEnded) throw notConnected(STOPPING);
    this.#client ??= this.#connect();
    const client = await this.#client;
    signal.throwIfAborted();
    if (client.connected) return client;
    const { promise, resolve, reject } = Promise.withResolvers<MqttClient>();
    const up = () => resolve(client);
    const down = () => reject(notConnected(this.#problem));
    client.once('connect', up).once('close', down);
    signal.addEventListener('abort', down, { once: true });
    try {
      return await promise;
    } finally {
      client.off('connect', up).off('close', down);
      signal.removeEventListener('abort', down);
    }
  }

  async #connect(will?: MqttWill): Promise<MqttClient> {
    // `mqtt` is a CommonJS package: in the bundle it has no named exports.
    const { default: mqtt } = await import('mqtt');
    const client = mqtt.connect(clientOptions(this.#address, will));
    client.on('connect', () => this.#onUp(client));
    client.on('close', () => this.#onDown(client));
    client.on('error', (error) => this.#onProblem(errorReason(error)));
    client.on('message', (topic, payload, { retain }) => this.#listeners?.onMessage({ topic, payload, isRetained: retain }));
    return client;
  }

  #onUp(client: MqttClient): void {
    this.#connected = client;
    this.#problem = 'no answer';
    this.#logger.info('mqtt.connected', { broker: this.#address.url });
    this.#listeners?.onUp();
  }

  #onDown(client: MqttClient): void {
    if (this.#connected && !this.#isEnded) this.#logger.warn('mqtt.disconnected', { broker: this.#address.url });
    this.#connected = undefined;
    // Drops unconfirmed messages. Otherwise the client would resend them after a reconnection, although their callers got an error.
    for (const id of Object.keys(client.outgoing)) client.removeOutgoingMessage(Number(id));
  }

  /** Logs a problem only once, although each attempt to connect reports it again. */
  #onProblem(problem: string): void {
    if (problem !== this.#problem) this.#logger.warn('mqtt.unreachable', { broker: this.#address.url, problem });
    this.#problem = problem;
  }
}

function clientOptions({ url, clientId, user, secret, caFile }: BrokerAddress, will: MqttWill | undefined): IClientOptions {
  const { protocol: scheme, hostname, port } = new URL(url);
  const protocol = scheme === 'mqtts:' ? 'mqtts' : 'mqtt';
  return {
    // The package would parse a URL with a deprecated function of Node.js. So it gets the parts of the URL instead.
    protocol,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? DEFAULT_PORTS[protocol] : Number(port),
    protocolVersion: 5,
    properties: { maximumPacketSize: MAX_PACKET_BYTES },
    clientId,
    // With `clean`, the broker stores no commands while the hub is offline: an old command must not run later.
    clean: true,
    resubscribe: false,
    queueQoSZero: false,
    reconnectPeriod: RECONNECT_MS,
    reconnectOnConnackError: true,
    connectTimeout: INVOCATION_POLICY.connectTimeoutMs,
    keepalive: KEEPALIVE_S,
    ...(user !== undefined && { username: user }),
    ...(secret !== undefined && { password: secret }),
    ...(caFile !== undefined && { ca: readFileSync(caFile) }),
    ...(will && { will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
  };
}

/** Returns SERVICE_REFUSED for an error with a code of the broker (MQTT 5.0 §2.4), and OUTCOME_UNKNOWN for any other error. */
function publishError(topic: string, error: Error): AtmoError {
  if (!('code' in error) || typeof error.code !== 'number') return notAcknowledged(topic);
  return new AtmoError('SERVICE_REFUSED', `The MQTT broker refused the message to ${topic}: ${error.message.slice(0, 200)}`, { topic });
}

/** MQTT reason code for a message whose topic has no subscriber (MQTT 5.0 §3.4.2.1). */
const NO_MATCHING_SUBSCRIBERS = 0x10;

/** Returns the code of a connection error, or its message if it has no code. */
function errorReason(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const { code }: { code?: unknown } = error as object;
  return typeof code === 'string' && code !== '' ? code : error.message.slice(0, 200);
}

/** Returns SERVICE_UNAVAILABLE, for a message that was not sent because there is no connection. */
function notConnected(reason: string): AtmoError {
  const certificate = certificateFailure('The MQTT broker', reason);
  if (certificate) return certificate;
  return new AtmoError('SERVICE_UNAVAILABLE', `The MQTT broker cannot be reached (${reason}); nothing was sent`, { reason });
}

/** Returns OUTCOME_UNKNOWN, for a message that was sent but not confirmed. */
function notAcknowledged(topic: string): AtmoError {
  return new AtmoError('OUTCOME_UNKNOWN', `The MQTT broker did not say whether it took the message to ${topic}`);
}
