import { readFileSync } from 'node:fs';
import type { IClientOptions, MqttClient, Packet } from 'mqtt';
import { AtmoError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { INVOCATION_POLICY } from '../../tools/definition/invocation-policy.ts';
import { certificateFailure } from '../http-client/connection-failure.ts';

/** A message of a topic, as it came. */
export interface MqttMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** Kept by the broker from before: it tells what was, and is no wish of now. */
  readonly isRetained: boolean;
}

/** What the broker tells for a client that goes away without a word (MQTT 5.0 §3.1.2.5). */
interface MqttWill {
  readonly topic: string;
  readonly payload: string;
}

/** Port: one connection to the broker of the house, made on the first use and made again whenever it breaks. */
export interface MqttConnection extends AsyncDisposable {
  /**
   * Resolves when the broker took the message (QoS 1), and where it can tell, when somebody listens to the topic. Errors:
   * SERVICE_UNAVAILABLE (no connection; the message is not kept for later), SERVICE_REFUSED, OUTCOME_UNKNOWN (sent and not answered).
   */
  deliver(topic: string, payload: string, signal: AbortSignal): Promise<void>;
  /** Lets the broker keep a state; an empty one takes it away. Nothing happens while there is no connection. */
  retain(topic: string, payload: string): void;
  /** Tells whoever listens now. Nothing happens while there is no connection. */
  publish(topic: string, payload: string): void;
  /** Connects and stays connected; `onUp` runs after each time that it succeeded, with nothing subscribed yet. */
  open(listeners: MqttListeners, will: MqttWill): void;
  /** Until the connection breaks; then `onUp` has to say it again. */
  subscribe(filters: readonly string[]): void;
}

/** Who hears what happens on a link. */
interface MqttListeners {
  readonly onUp: () => void;
  readonly onMessage: (message: MqttMessage) => void;
}

/** Where the broker is, and who the hub is there. */
interface BrokerAddress {
  readonly url: string;
  readonly clientId: string;
  readonly user?: string;
  readonly secret?: string;
  readonly caFile?: string;
}

/** Registered for MQTT without and with TLS (IANA). */
const DEFAULT_PORTS = { mqtt: 1883, mqtts: 8883 } as const;
const RECONNECT_MS = 5_000;
const KEEPALIVE_S = 30;
/** Commands and announcements of our own are short; a broker would pass on messages of up to 256 MB (MQTT 5.0, 3.1.2.11.4). */
const MAX_PACKET_BYTES = 65_536;
const DISCONNECT_TIMEOUT_MS = 1_000;
const STOPPING = 'the hub is stopping';

/** The link over MQTT 5.0. Nothing is kept for later: what could not be sent is not sent when the connection is back. */
export class BrokerConnection implements MqttConnection {
  readonly #logger: Logger;
  readonly #place: BrokerAddress;
  #client: Promise<MqttClient> | undefined;
  #connected: MqttClient | undefined;
  #listeners: MqttListeners | undefined;
  #problem = 'no answer';
  #isEnded = false;

  constructor(logger: Logger, place: BrokerAddress) {
    this.#logger = logger;
    this.#place = place;
  }

  async deliver(topic: string, payload: string, signal: AbortSignal): Promise<void> {
    const client = await this.#untilConnected(signal);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let answer: Packet | undefined;
    const hear = (packet: Packet) => {
      if (packet.cmd === 'puback') answer = packet;
    };
    const giveUp = () => reject(notAcknowledged(topic));
    client.on('packetreceive', hear);
    signal.addEventListener('abort', giveUp, { once: true });
    // The client calls back within the handling of the very packet that answers, so that the last one heard is ours.
    client.publish(topic, payload, { qos: 1 }, (error) => (error ? reject(publishError(topic, error)) : resolve()));
    try {
      await promise;
    } finally {
      client.off('packetreceive', hear);
      signal.removeEventListener('abort', giveUp);
    }
    if (answer && 'reasonCode' in answer && answer.reasonCode === NO_MATCHING_SUBSCRIBERS) throw noSubscribers(topic);
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
    // The package is CommonJS: in the bundle it has no named exports.
    const { default: mqtt } = await import('mqtt');
    const client = mqtt.connect(clientOptions(this.#place, will));
    client.on('connect', () => this.#onUp(client));
    client.on('close', () => this.#onDown(client));
    client.on('error', (error) => this.#onProblem(errorReason(error)));
    client.on('message', (topic, payload, { retain }) => this.#listeners?.onMessage({ topic, payload, isRetained: retain }));
    return client;
  }

  #onUp(client: MqttClient): void {
    this.#connected = client;
    this.#problem = 'no answer';
    this.#logger.info('mqtt.connected', { broker: this.#place.url });
    this.#listeners?.onUp();
  }

  #onDown(client: MqttClient): void {
    if (this.#connected && !this.#isEnded) this.#logger.warn('mqtt.disconnected', { broker: this.#place.url });
    this.#connected = undefined;
    // What was not answered would be sent once more when the connection is back, long after its caller was told.
    for (const id of Object.keys(client.outgoing)) client.removeOutgoingMessage(Number(id));
  }

  /** Told once, not at each attempt. */
  #onProblem(problem: string): void {
    if (problem !== this.#problem) this.#logger.warn('mqtt.unreachable', { broker: this.#place.url, problem });
    this.#problem = problem;
  }
}

function clientOptions({ url, clientId, user, secret, caFile }: BrokerAddress, will: MqttWill | undefined): IClientOptions {
  const { protocol: scheme, hostname, port } = new URL(url);
  const protocol = scheme === 'mqtts:' ? 'mqtts' : 'mqtt';
  return {
    // Not as text: the package would read it with a function of Node that warns.
    protocol,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? DEFAULT_PORTS[protocol] : Number(port),
    protocolVersion: 5,
    properties: { maximumPacketSize: MAX_PACKET_BYTES },
    clientId,
    // The broker keeps nothing for the hub while it is away: a command of an hour ago is none.
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

/** A code of the broker is its answer; anything else is that the connection ended first. */
function publishError(topic: string, error: Error): unknown {
  return 'code' in error && typeof error.code === 'number' ? publishRefused(topic, error) : notAcknowledged(topic);
}

/** Nobody listens to the topic (MQTT 5.0 §3.4.2.1). */
const NO_MATCHING_SUBSCRIBERS = 0x10;

/** What went wrong with the connection, as `connect` and its stream tell it. */
function errorReason(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const { code }: { code?: unknown } = error as object;
  return typeof code === 'string' && code !== '' ? code : error.message.slice(0, 200);
}

/** SERVICE_UNAVAILABLE: there was no connection to send anything over. */
function notConnected(reason: string): AtmoError {
  const certificate = certificateFailure('The MQTT broker', reason);
  if (certificate) return certificate;
  return new AtmoError('SERVICE_UNAVAILABLE', `The MQTT broker cannot be reached (${reason}); nothing was sent`, { reason });
}

/** OUTCOME_UNKNOWN: the message went out, and no answer came. */
function notAcknowledged(topic: string): AtmoError {
  return new AtmoError('OUTCOME_UNKNOWN', `The MQTT broker did not say whether it took the message to ${topic}`);
}

/** SERVICE_REFUSED: the broker took it for nobody. */
function noSubscribers(topic: string): AtmoError {
  return new AtmoError('SERVICE_REFUSED', `Nobody listens to ${topic} at the MQTT broker`, { topic });
}

/** SERVICE_REFUSED: the broker said no, with a code of MQTT 5.0 §2.4. */
function publishRefused(topic: string, error: Error): AtmoError {
  return new AtmoError('SERVICE_REFUSED', `The MQTT broker refused the message to ${topic}: ${error.message.slice(0, 200)}`, { topic });
}
