import type { Clock } from '../../core/clock.ts';
import type { EventBus, EventType, HubEvent } from '../../core/events.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { EventHistory, PastEvent } from '../../core/storage/event-history.ts';
import type { House } from '../house/house.ts';

/** Types of what the recorder notes beside events of the hub. */
export const HUB_STARTED = 'hub.started';
export const HUB_STOPPED = 'hub.stopped';

/** The members of each type of event that are kept: those that triggers and conditions look at. */
const KEPT: Partial<Record<EventType, readonly string[]>> = {
  'device.event': ['event', 'cluster', 'data', 'at_ms'],
  'device.reachability': ['reachability'],
  'house.changed': ['flag', 'value', 'person', 'presence', 'before'],
  'scene.run': [],
  'approval.decided': ['state', 'agent_id'],
  'agent.changed': ['is_running', 'last_outcome'],
};

interface RecorderPorts {
  readonly clock: Clock;
  readonly events: EventBus;
  readonly history: EventHistory;
  readonly house: Pick<House, 'flags' | 'presences'>;
}

/** Keeps what happens in the house, besides readings, so that a draft of an automation can be tried on it later. */
export class EventRecorder implements Service {
  readonly #ports: RecorderPorts;
  /** What was last known of each device, agent and sensor since the start of the hub, so that only changes are kept. */
  readonly #last = new Map<string, Json>();
  /** Whether a device answered before the start of the hub. */
  readonly #earlier = new Map<string, Json>();
  #stop: () => void = () => {};

  constructor(ports: RecorderPorts) {
    this.#ports = ports;
  }

  async start(): Promise<void> {
    const { clock, house, history } = this.#ports;
    const last = Object.groupBy(history.lastOfEach(['device.reachability', HUB_STARTED, HUB_STOPPED]), ({ type }) => type);
    const crashedMs = hasCrashed(last) ? history.newestMs() : undefined;
    for (const { subject, data } of last['device.reachability'] ?? []) this.#earlier.set(subject, data.reachability ?? null);
    history.begin(clock.now());
    if (crashedMs !== undefined) history.note({ atMs: crashedMs, type: HUB_STOPPED, subject: '', data: {} });
    const flags = Object.fromEntries(house.flags.list().map(({ name, value }) => [name, value]));
    const presence = Object.fromEntries(house.presences.list().map((one) => [one.person, one.presence]));
    this.#note(HUB_STARTED, '', { flags, presence });
    const types: readonly EventType[] = [...(Object.keys(KEPT) as EventType[]), 'sensor.reading'];
    this.#stop = this.#ports.events.listen((event) => this.#onEvent(event), types);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    this.#note(HUB_STOPPED, '', {});
  }

  #onEvent(event: HubEvent): void {
    const { type, subject, data } = event;
    if (type === 'sensor.reading') this.#onReading(subject, data.value ?? null);
    else if (type === 'device.reachability') this.#onReachability(subject, data.reachability ?? null);
    else if (type === 'agent.changed') this.#onAgent(event);
    else this.#note(type, typeof data.person === 'string' ? `${subject}/${data.person}` : subject, keptOf(event));
  }

  /** Readings have a history of their own, in which a value that is not known is missing. */
  #onReading(sensor: string, value: Json): void {
    const isKnown = value !== null;
    const wasKnown = this.#last.get(sensor) !== false;
    if (isKnown !== wasKnown) this.#last.set(sensor, isKnown);
    if (!isKnown && wasKnown) this.#note('sensor.reading', sensor, { value: null });
  }

  #onReachability(device: string, reachability: Json): void {
    const before = this.#last.get(device);
    if (before === reachability) return;
    this.#last.set(device, reachability);
    this.#note('device.reachability', device, { reachability, before: before ?? this.#earlier.get(device) ?? null });
  }

  /** An agent changes with each run; only that a run began or ended counts. */
  #onAgent(event: HubEvent): void {
    const isRunning = event.data.is_running === true;
    const key = `agent ${event.subject}`;
    if ((this.#last.get(key) ?? false) === isRunning) return;
    this.#last.set(key, isRunning);
    this.#note('agent.changed', event.subject, keptOf(event));
  }

  #note(type: string, subject: string, data: JsonObject): void {
    this.#ports.history.note({ atMs: this.#ports.clock.now(), type, subject, data });
  }
}

/** Returns whether the hub ended without a stop, given the last events of each type. */
function hasCrashed(last: Partial<Record<string, readonly PastEvent[]>>): boolean {
  const [started = 0, stopped = 0] = [HUB_STARTED, HUB_STOPPED].map((type) => last[type]?.[0]?.atMs ?? 0);
  return started > stopped;
}

function keptOf({ type, data }: HubEvent): JsonObject {
  const kept = (KEPT[type] ?? []).flatMap((name): [string, Json][] => {
    const value = data[name];
    return value === undefined ? [] : [[name, isJsonObject(value) ? { ...value } : value]];
  });
  return Object.fromEntries(kept);
}
