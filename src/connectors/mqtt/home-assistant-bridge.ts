import { isoTime, repeat } from '../../core/clock.ts';
import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import { parseSensorId } from '../../core/devices/device-names.ts';
import type { SensorInfo } from '../../core/devices/sensor-readings.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { HubEvent } from '../../core/events.ts';
import { present } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { type ConnectorContext, optionalSecret } from '../connector.ts';
import { type AgentCalls, TokenAgent } from '../connector-agent.ts';
import { BrokerConnection, type MqttConnection, type MqttMessage } from './broker-connection.ts';
import { type BridgeCommand, commandFor, controlRequirements } from './home-assistant-commands.ts';
import { BridgeTopics, retainedMessages, statePayload } from './home-assistant-messages.ts';
import type { BridgeConfig, MqttConfig } from './mqtt-config.ts';

interface BridgeCollaborators extends Pick<ConnectorContext, 'clock' | 'logger' | 'events' | 'readings' | 'devices' | 'hub'> {
  readonly link: MqttConnection;
  readonly topics: BridgeTopics;
  /** Returns whether a tool with this `namespace:name` is registered. */
  readonly hasTool: (name: string) => boolean;
  /** Absent if the owner does not allow commands. */
  readonly calls?: AgentCalls;
}

/** Changes within this many milliseconds, such as all readings of a device, are published together. */
const DEBOUNCE_MS = 500;
/** Interval in milliseconds at which all messages are computed again, since sensors can be added or removed without an event. */
const RECONCILE_MS = 60_000;
const MAX_PAYLOAD_BYTES = 64;

/**
 * Publishes the home on an MQTT broker in Home Assistant's format. If the owner allows it, also runs Home Assistant's commands. The broker
 * retains states, but a command never runs if the broker retained it, or if it arrived while the hub was offline.
 */
export class HomeAssistantBridge implements Service {
  readonly #parts: BridgeCollaborators;
  /** The messages that the broker retains, by topic. */
  readonly #retained = new Map<string, string>();
  readonly #stopped = new AbortController();
  readonly #running = new ConcurrencyLimiter({ holder: 'The bridge', maxRunning: 16, maxWaiting: 0 });
  #isDue = false;
  #endings: (() => void)[] = [];

  constructor(parts: BridgeCollaborators) {
    this.#parts = parts;
  }

  /** Starts to connect to the broker. Rejects with CONFIG_INVALID if the configured permissions cannot be granted. */
  async start(): Promise<void> {
    const { events, clock, link, topics, calls } = this.#parts;
    calls?.may('device:control');
    this.#endings = [events.listen((event) => this.#onEvent(event)), repeat(clock, RECONCILE_MS, () => this.#publishChanges())];
    const listeners = { onUp: () => this.#onUp(), onMessage: (message: MqttMessage) => this.#onMessage(message) };
    link.open(listeners, { topic: topics.status, payload: 'offline' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#endings.splice(0)) end();
    this.#stopped.abort(new AtmoError('CANCELLED', 'The hub is stopping'));
    this.#parts.link.retain(this.#parts.topics.status, 'offline');
    this.#parts.calls?.[Symbol.dispose]();
  }

  #onUp(): void {
    const { link, topics, calls } = this.#parts;
    link.retain(topics.status, 'online');
    this.#publishAll();
    link.subscribe([topics.homeAssistantStatus, topics.discoveryFilter, ...(calls ? [topics.commandFilter] : [])]);
  }

  #onEvent({ type, subject }: HubEvent): void {
    if (type === 'sensor.reading') this.#onReading(subject);
    else if (type.startsWith('device.') && type !== 'device.event') this.#scheduleChanges();
  }

  #onReading(id: string): void {
    const { readings, topics } = this.#parts;
    const reading = readings.current(parseSensorId(id));
    const topic = topics.state(id);
    const before = this.#retained.get(topic);
    // The first value of a sensor determines the type of its entity. So all messages are computed again.
    if (!reading || before === undefined || before === 'None') this.#scheduleChanges();
    else this.#retain(topic, statePayload(reading));
  }

  #scheduleChanges(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#endings.push(
      this.#parts.clock.after(DEBOUNCE_MS, () => {
        this.#isDue = false;
        this.#endings.pop();
        this.#publishChanges();
      }),
    );
  }

  /** Publishes each message that differs from the retained one. Deletes the retained messages of removed entities. */
  #publishChanges(): void {
    const { readings, devices, hub, topics } = this.#parts;
    const isControlled = (sensor: SensorInfo) => this.#isControlled(sensor);
    const states = retainedMessages({ readings: readings.sensors(), devices, hub, isControlled }, topics);
    for (const [topic, payload] of states) this.#retain(topic, payload);
    for (const topic of this.#retained.keys()) if (!states.has(topic)) this.#clear(topic);
  }

  #publishAll(): void {
    this.#retained.clear();
    this.#publishChanges();
  }

  #isControlled(sensor: SensorInfo): boolean {
    const { calls, devices, hasTool } = this.#parts;
    if (!calls) return false;
    const { permission, tool } = controlRequirements(sensor);
    const isThere = tool === undefined ? devices.get(sensor.device) !== undefined : hasTool(tool);
    return isThere && calls.may(permission);
  }

  #retain(topic: string, payload: string): void {
    if (this.#retained.get(topic) === payload) return;
    this.#retained.set(topic, payload);
    this.#parts.link.retain(topic, payload);
  }

  #clear(topic: string): void {
    this.#retained.delete(topic);
    this.#parts.link.retain(topic, '');
  }

  #onMessage({ topic, payload, isRetained }: MqttMessage): void {
    const { topics } = this.#parts;
    const sensor = topics.sensorOfCommand(topic);
    if (sensor !== undefined) {
      if (!isRetained) void this.#onCommand(topic, sensor, payload);
    } else if (topics.isDiscovery(topic)) {
      // This entity was removed, for example while the hub was offline. So its retained announcement is deleted.
      if (payload.length > 0 && !this.#retained.has(topic)) this.#clear(topic);
    } else if (topic === topics.homeAssistantStatus && !isRetained && textOf(payload) === 'online') this.#publishAll();
  }

  async #onCommand(topic: string, sensor: string, payload: Uint8Array): Promise<void> {
    try {
      const { tool, params } = this.#commandOf(sensor, payload);
      const { signal } = this.#stopped;
      await this.#running.run(async () => {
        signal.throwIfAborted();
        await this.#parts.calls?.call(tool, params, signal);
      }, signal);
    } catch (thrown) {
      this.#onFailure(topic, sensor, toAtmoError(thrown));
    }
  }

  #commandOf(id: string, payload: Uint8Array): BridgeCommand {
    const reading = this.#parts.readings.current(parseSensorId(id));
    const command = reading && payload.length <= MAX_PAYLOAD_BYTES ? commandFor(reading.sensor, textOf(payload)) : undefined;
    if (command) return command;
    throw new AtmoError('VALIDATION_ERROR', 'There is nothing here that takes such a command');
  }

  /** Publishes the error. Then publishes the state again, because the sender assumes that its command worked. */
  #onFailure(topic: string, sensor: string, { code, message }: AtmoError): void {
    if (this.#stopped.signal.aborted) return;
    const { link, topics, clock, logger } = this.#parts;
    logger.warn('mqtt.command_failed', { topic, code });
    link.publish(topics.errors, JSON.stringify({ topic, code, message, timestamp: isoTime(clock.now()) }));
    const state = this.#retained.get(topics.state(sensor));
    if (state !== undefined) link.retain(topics.state(sensor), state);
  }
}

const textOf = (payload: Uint8Array): string => new TextDecoder().decode(payload);

/** Creates the broker connection and the bridge. Throws CONFIG_INVALID if settings contradict each other or a secret is unreadable. */
export function openMqtt(context: ConnectorContext, config: MqttConfig): { readonly link: MqttConnection; readonly service: Service } {
  const { url, user, password, caFile, clientId, bridge } = config;
  if (url.startsWith('mqtt:') && caFile !== undefined) {
    throw new AtmoError('CONFIG_INVALID', 'connectors.mqtt.ca_file is for TLS; write the url with mqtts://');
  }
  const { hub, env } = context;
  const logger = context.logger.child({ connector: 'mqtt' });
  const id = clientId ?? new BridgeTopics(hub.name, { discoveryPrefix: '' }).node;
  const address = present({ url, clientId: id, user, secret: optionalSecret(password, env), caFile });
  const link = new BrokerConnection(logger, address);
  const running = bridge && openBridge(context, logger, { link, config: bridge });
  return {
    link,
    service: {
      start: async () => running?.start(),
      async [Symbol.asyncDispose]() {
        await running?.[Symbol.asyncDispose]();
        await link[Symbol.asyncDispose]();
      },
    },
  };
}

interface BridgeLink {
  readonly link: MqttConnection;
  readonly config: BridgeConfig;
}

function openBridge(context: ConnectorContext, logger: Logger, { link, config }: BridgeLink): HomeAssistantBridge {
  const { clock, events, readings, devices, hub, registry, agents } = context;
  const { commands, permissions } = config;
  if (commands && !permissions) {
    throw new AtmoError('CONFIG_INVALID', 'connectors.mqtt.bridge.commands needs permissions, such as ["device:control:@type/light"]');
  }
  const calls = commands && permissions ? new TokenAgent(agents, { name: 'mqtt-bridge', permissions }) : undefined;
  const topics = new BridgeTopics(hub.name, config);
  const hasTool = (name: string) => registry.has(name);
  return new HomeAssistantBridge({ clock, logger, events, link, readings, devices, hub, topics, hasTool, ...(calls && { calls }) });
}
