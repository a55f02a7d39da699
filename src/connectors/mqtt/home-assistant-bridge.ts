import { type Clock, isoTime, repeat } from '../../core/clock.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ReadingStore, SensorInfo } from '../../core/devices/sensor-readings.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { EventBus, HubEvent } from '../../core/events.ts';
import { parseSensorId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { AgentCalls } from '../connector-agent.ts';
import type { MqttConnection, MqttMessage } from './broker-connection.ts';
import { type BridgeCommand, commandFor, controlRequirements } from './home-assistant-commands.ts';
import { type BridgedHub, type BridgeTopics, retainedMessages, statePayload } from './home-assistant-messages.ts';

/** Whom the bridge works with. */
interface BridgeCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly link: MqttConnection;
  readonly readings: Pick<ReadingStore, 'sensors' | 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly hub: BridgedHub;
  readonly topics: BridgeTopics;
  /** Whether there is a tool, by namespace and name. */
  readonly hasTool: (name: string) => boolean;
  /** Absent where the owner takes no commands. */
  readonly calls?: AgentCalls;
}

/** What comes together, such as a device with all its readings, is told together. */
const DEBOUNCE_MS = 500;
/** Sensors that came or went without an event. */
const RECONCILE_MS = 60_000;
const MAX_PAYLOAD_BYTES = 64;
const MAX_RUNNING = 16;

/**
 * Shows the home on an MQTT broker in the words of Home Assistant, and runs what is commanded there where the owner allows it. The
 * broker keeps states; a command that it kept, or that came while the hub was away, is never run.
 */
export class HomeAssistantBridge implements Service {
  readonly #with: BridgeCollaborators;
  /** What the broker keeps, by topic. */
  readonly #kept = new Map<string, string>();
  readonly #stopped = new AbortController();
  #running = 0;
  #isDue = false;
  #endings: (() => void)[] = [];

  constructor(ports: BridgeCollaborators) {
    this.#with = ports;
  }

  /** CONFIG_INVALID for permissions that cannot be granted. */
  async start(): Promise<void> {
    const { events, clock, link, topics, calls } = this.#with;
    calls?.may('device:control');
    this.#endings = [events.listen((event) => this.#onEvent(event)), repeat(clock, RECONCILE_MS, () => this.#compare())];
    const listeners = { onUp: () => this.#onUp(), onMessage: (message: MqttMessage) => this.#onMessage(message) };
    link.open(listeners, { topic: topics.status, payload: 'offline' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#endings.splice(0)) end();
    this.#stopped.abort(new AtmoError('CANCELLED', 'The hub is stopping'));
    this.#with.link.retain(this.#with.topics.status, 'offline');
    this.#with.calls?.[Symbol.dispose]();
  }

  #onUp(): void {
    const { link, topics, calls } = this.#with;
    this.#kept.clear();
    link.retain(topics.status, 'online');
    this.#compare();
    link.subscribe([topics.homeAssistantStatus, topics.discoveryFilter, ...(calls ? [topics.commandFilter] : [])]);
  }

  #onEvent({ type, subject }: HubEvent): void {
    if (type === 'sensor.reading') this.#onReading(subject);
    else if (type.startsWith('device.') && type !== 'device.event') this.#gather();
  }

  #onReading(id: string): void {
    const { readings, topics } = this.#with;
    const reading = readings.current(parseSensorId(id));
    const topic = topics.state(id);
    const before = this.#kept.get(topic);
    // A first value says what kind of entity a sensor is.
    if (!reading || before === undefined || before === 'None') this.#gather();
    else this.#keep(topic, statePayload(reading));
  }

  #gather(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#endings.push(
      this.#with.clock.after(DEBOUNCE_MS, () => {
        this.#isDue = false;
        this.#endings.pop();
        this.#compare();
      }),
    );
  }

  /** Tells what differs from what the broker keeps, and takes back what is gone. */
  #compare(): void {
    const { readings, devices, hub, topics } = this.#with;
    const isControlled = (sensor: SensorInfo) => this.#isControlled(sensor);
    const states = retainedMessages({ readings: readings.sensors(), devices, hub, isControlled }, topics);
    for (const [topic, payload] of states) this.#keep(topic, payload);
    for (const topic of this.#kept.keys()) if (!states.has(topic)) this.#forget(topic);
  }

  #isControlled(sensor: SensorInfo): boolean {
    const { calls, devices, hasTool } = this.#with;
    if (!calls) return false;
    const { permission, tool } = controlRequirements(sensor);
    const isThere = tool === undefined ? devices.get(sensor.device) !== undefined : hasTool(tool);
    return isThere && calls.may(permission);
  }

  #keep(topic: string, payload: string): void {
    if (this.#kept.get(topic) === payload) return;
    this.#kept.set(topic, payload);
    this.#with.link.retain(topic, payload);
  }

  #forget(topic: string): void {
    this.#kept.delete(topic);
    this.#with.link.retain(topic, '');
  }

  #onMessage({ topic, payload, isRetained }: MqttMessage): void {
    const { topics } = this.#with;
    const sensor = topics.sensorOfCommand(topic);
    if (sensor !== undefined) {
      if (!isRetained) void this.#onCommand(topic, sensor, payload);
    } else if (topics.isDiscovery(topic)) this.#onAnnouncement(topic, payload);
    else if (topic === topics.homeAssistantStatus && !isRetained && textOf(payload) === 'online') this.#tellAgain();
  }

  /** Of a device that went while the hub was away. */
  #onAnnouncement(topic: string, payload: Uint8Array): void {
    if (payload.length > 0 && !this.#kept.has(topic)) this.#forget(topic);
  }

  #tellAgain(): void {
    this.#kept.clear();
    this.#compare();
  }

  async #onCommand(topic: string, sensor: string, payload: Uint8Array): Promise<void> {
    try {
      await this.#run(this.#commandOf(sensor, payload));
    } catch (thrown) {
      this.#onFailure(topic, sensor, toAtmoError(thrown));
    }
  }

  #commandOf(id: string, payload: Uint8Array): BridgeCommand {
    const reading = this.#with.readings.current(parseSensorId(id));
    const command = reading && payload.length <= MAX_PAYLOAD_BYTES ? commandFor(reading.sensor, textOf(payload)) : undefined;
    if (command) return command;
    throw new AtmoError('VALIDATION_ERROR', 'There is nothing here that takes such a command');
  }

  async #run({ tool, params }: BridgeCommand): Promise<void> {
    if (this.#running >= MAX_RUNNING) throw new AtmoError('RESOURCE_EXCEEDED', `More than ${MAX_RUNNING} commands run at once`);
    this.#running++;
    try {
      await this.#with.calls?.call(tool, params, this.#stopped.signal);
    } finally {
      this.#running--;
    }
  }

  /** Who commanded believes that it worked, until the state is told again. */
  #onFailure(topic: string, sensor: string, { code, message }: AtmoError): void {
    if (this.#stopped.signal.aborted) return;
    const { link, topics, clock, logger } = this.#with;
    logger.warn('mqtt.command_failed', { topic, code });
    link.publish(topics.errors, JSON.stringify({ topic, code, message, timestamp: isoTime(clock.now()) }));
    const state = this.#kept.get(topics.state(sensor));
    if (state !== undefined) link.retain(topics.state(sensor), state);
  }
}

const textOf = (payload: Uint8Array): string => new TextDecoder().decode(payload);
