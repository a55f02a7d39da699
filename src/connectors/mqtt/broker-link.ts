import { readFileSync } from 'node:fs';
import type { IClientOptions, MqttClient, Packet } from 'mqtt';
import type { Logger } from '../../core/logger.ts';
import { INVOCATION_POLICY } from '../../tools/calls/bounds/invocation-policy.ts';
import { NO_MATCHING_SUBSCRIBERS, nobodyListens, notAnswered, notConnected, reasonOf, refused } from './broker-failure.ts';
import type { MqttLink, MqttListeners, MqttWill } from './mqtt-link.ts';

/** Where the broker is, and who the hub is there. */
interface BrokerPlace {
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
const GOODBYE_MS = 1_000;
const ENDED = 'the hub is stopping';

/** The link over MQTT 5.0. Nothing is kept for later: what could not be sent is not sent when the connection is back. */
export class BrokerLink implements MqttLink {
  readonly #logger: Logger;
  readonly #place: BrokerPlace;
  #client: Promise<MqttClient> | undefined;
  #connected: MqttClient | undefined;
  #listeners: MqttListeners | undefined;
  #problem = 'no answer';
  #isEnded = false;

  constructor(logger: Logger, place: BrokerPlace) {
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
    const giveUp = () => reject(notAnswered(topic));
    client.on('packetreceive', hear);
    signal.addEventListener('abort', giveUp, { once: true });
    // The client calls back within the handling of the very packet that answers, so that the last one heard is ours.
    client.publish(topic, payload, { qos: 1 }, (error) => (error ? reject(failureOf(topic, error)) : resolve()));
    try {
      await promise;
    } finally {
      client.off('packetreceive', hear);
      signal.removeEventListener('abort', giveUp);
    }
    if (answer && 'reasonCode' in answer && answer.reasonCode === NO_MATCHING_SUBSCRIBERS) throw nobodyListens(topic);
  }

  retain(topic: string, payload: string): void {
    this.#connected?.publish(topic, payload, { qos: 0, retain: true });
  }

  tell(topic: string, payload: string): void {
    this.#connected?.publish(topic, payload, { qos: 0 });
  }

  subscribe(filters: readonly string[]): void {
    this.#connected?.subscribe([...filters], { qos: 1 }, (error) => {
      if (error) this.#logger.warn('mqtt.not_subscribed', { filters, problem: reasonOf(error) });
    });
  }

  open(listeners: MqttListeners, will: MqttWill): void {
    this.#listeners = listeners;
    this.#client = this.#connect(will);
    this.#client.catch((error: unknown) => this.#logger.error('mqtt.not_loaded', { problem: reasonOf(error) }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    const client = await this.#client?.catch(() => undefined);
    if (!client) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = setTimeout(() => client.end(true, () => resolve()), GOODBYE_MS);
    client.end(!client.connected, () => resolve());
    await promise;
    clearTimeout(late);
  }

  async #untilConnected(signal: AbortSignal): Promise<MqttClient> {
    if (this.#isEnded) throw notConnected(ENDED);
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
    client.on('error', (error) => this.#onProblem(reasonOf(error)));
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

function clientOptions({ url, clientId, user, secret, caFile }: BrokerPlace, will: MqttWill | undefined): IClientOptions {
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
function failureOf(topic: string, error: Error): unknown {
  return 'code' in error && typeof error.code === 'number' ? refused(topic, error) : notAnswered(topic);
}
