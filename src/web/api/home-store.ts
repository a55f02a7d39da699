import { REACHABILITIES, type Reachability } from '../../core/devices/device-model.ts';
import { type Json, textsOf } from '../../core/json.ts';
import type { Connection } from './event-stream.ts';
import { type HubClient, messageOf } from './hub-client.ts';
import type { ApprovalView, DeviceView, EventView, ReadingView } from './hub-types.ts';
import { Observable } from './observable.ts';
import { SerialLoads } from './serial-loads.ts';

/** Called with every event, in the order in which the events arrive. */
type HubEventListener = (event: EventView) => void;

/** Holds the state of the home, which is loaded from the hub and then updated by events. */
export class HomeStore extends Observable {
  readonly #hub: HubClient;
  readonly #eventListeners = new Set<HubEventListener>();
  readonly #loads = new SerialLoads<Refresh>((parts) => this.#load(parts));
  #state: HomeState = EMPTY_HOME;

  constructor(hub: HubClient) {
    super();
    this.#hub = hub;
  }

  get state(): HomeState {
    return this.#state;
  }

  /** Loads the problems that the hub reports about itself. If the request fails, the state stays unchanged. */
  async refreshHealth(): Promise<void> {
    try {
      const { problems } = await this.#hub.get('/healthz');
      this.#update({ hubProblems: textsOf(problems) });
    } catch {
      // A hub that starts or stops returns an error. The error is ignored, because the page shows the state of the connection.
    }
  }

  /** Returns the approval requests that wait for a person now. */
  pendingApprovals(): readonly ApprovalView[] {
    return pendingApprovals(this.#state.approvals, Date.now());
  }

  /** Calls `listener` with each event of the hub. Returns a function that removes the listener. */
  onEvent(listener: HubEventListener): () => void {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  }

  setConnection(connection: Connection): void {
    // While the page tries to connect again, the hub is still away.
    const isHubAway = connection === 'lost' || (connection === 'connecting' && this.#state.isHubAway);
    this.#update({ connection, isHubAway });
  }

  handleEvent(event: EventView): void {
    const refresh = refreshAfter(event, this.#state);
    this.#update(withEvent(this.#state, event));
    for (const listener of this.#eventListeners) listener(event);
    if (refresh) void this.refresh(refresh);
  }

  /** Loads all data. Called at the start and after events were lost. */
  reload(): Promise<void> {
    return this.refresh('devices', 'approvals');
  }

  /** Loads parts of the state again. If a load is already running, these parts are loaded after it ends. */
  refresh(...parts: readonly Refresh[]): Promise<void> {
    return this.#loads.request(...parts);
  }

  /** Deletes the state of the home. Called after sign-out. */
  clear(): void {
    const { connection, isHubAway, hubProblems } = this.#state;
    this.#update({ ...EMPTY_HOME, connection, isHubAway, hubProblems });
  }

  #update(change: Partial<HomeState>): void {
    this.#state = { ...this.#state, ...change };
    this.changed();
  }

  async #load(parts: readonly Refresh[]): Promise<void> {
    const results = await Promise.allSettled(parts.map((part) => this.#fetch(part)));
    const devices = results[parts.indexOf('devices')];
    if (devices) this.#update({ problem: devices.status === 'rejected' ? messageOf(devices.reason) : undefined });
    this.#update({ isLoaded: this.#state.isLoaded || devices?.status === 'fulfilled' });
  }

  async #fetch(part: Refresh): Promise<void> {
    if (part === 'devices') {
      const { devices } = await this.#hub.get<{ devices: readonly DeviceView[] }>('/api/v1/devices');
      this.#state = withDevices(this.#state, devices);
    } else {
      // Without the permission this request fails, and the list of approvals stays empty.
      const { approvals } = await this.#hub.get<{ approvals: readonly ApprovalView[] }>('/api/v1/approvals');
      this.#state = { ...this.#state, approvals };
    }
  }
}

/** The state of the home and of the connection to the hub. The object never changes: each change of the state makes a new object. */
export interface HomeState {
  readonly connection: Connection;
  /** True from the loss of the connection until there is one again: what the page shows may have changed, and nothing can be done. */
  readonly isHubAway: boolean;
  /** True once the hub has returned the devices. */
  readonly isLoaded: boolean;
  /** Why the last load of the devices failed, for people; undefined if it succeeded. */
  readonly problem: string | undefined;
  readonly hubProblems: readonly string[];
  /** The devices, sorted by name. */
  readonly devices: readonly DeviceView[];
  /** The readings of all devices, by the ids of the readings. */
  readonly readings: ReadonlyMap<string, ReadingView>;
  /** The approval requests that are pending or were closed in the last hour, newest first. */
  readonly approvals: readonly ApprovalView[];
  /** The newest events, newest first, at most 500. */
  readonly events: readonly EventView[];
}

/** The state before the first response from the hub. */
export const EMPTY_HOME: HomeState = {
  connection: 'connecting',
  isHubAway: false,
  isLoaded: false,
  problem: undefined,
  hubProblems: [],
  devices: [],
  readings: new Map(),
  approvals: [],
  events: [],
};
const MAX_EVENTS = 500;

/** A part of the state that is loaded again after certain events, because these events do not contain the new values. */
type Refresh = 'devices' | 'approvals';

/** Returns the state with the devices and readings replaced by those from `GET /api/v1/devices`. */
export function withDevices(state: HomeState, devices: readonly DeviceView[]): HomeState {
  const readings = new Map(devices.flatMap((device) => device.readings.map((reading) => [reading.id, reading] as const)));
  return { ...state, devices: devices.toSorted((a, b) => a.name.localeCompare(b.name)), readings };
}

/** Returns the state after an event: with the event in its list, and with the new values that the event contains. */
export function withEvent(state: HomeState, event: EventView): HomeState {
  const logged = { ...state, events: [event, ...state.events].slice(0, MAX_EVENTS) };
  if (event.type === 'sensor.reading') return withReading(logged, event);
  if (event.type === 'device.reachability') return withReachability(logged, event);
  return logged;
}

/** Returns the part of the state that must be loaded again after an event; undefined if there is none. */
export function refreshAfter(event: EventView, state: HomeState): Refresh | undefined {
  if (event.type.startsWith('approval.')) return 'approvals';
  if (event.type === 'device.added' || event.type === 'device.removed' || event.type === 'device.changed') return 'devices';
  // The state does not have this reading yet. Its device may be new too.
  if (event.type === 'sensor.reading' && !state.readings.has(event.subject)) return 'devices';
  return undefined;
}

/** Returns the requests that wait for a person, sorted by the time when they expire. */
export function pendingApprovals(approvals: readonly ApprovalView[], nowMs: number): readonly ApprovalView[] {
  return approvals
    .filter(({ state, expires_at: expiresAt }) => state === 'pending' && Date.parse(expiresAt) > nowMs)
    .toSorted((a, b) => a.expires_at.localeCompare(b.expires_at));
}

/** Returns the names of all areas with devices, sorted. */
export function areaNames({ devices }: HomeState): readonly string[] {
  return [...new Set(devices.flatMap(({ area }) => area ?? []))].toSorted();
}

/** Returns the readings of one device. The keys are the names of the readings. */
export function readingsOf(state: HomeState, deviceId: string): ReadonlyMap<string, ReadingView> {
  const device = state.devices.find(({ id }) => id === deviceId);
  return new Map((device?.readings ?? []).map((listed) => [listed.name, state.readings.get(listed.id) ?? listed]));
}

function withReading(state: HomeState, { subject, data, time }: EventView): HomeState {
  const known = state.readings.get(subject);
  if (!known) return state;
  const at = data.at_ms === null ? null : typeof data.at_ms === 'number' ? new Date(data.at_ms).toISOString() : time;
  const value: Json = data.value ?? null;
  const readings = new Map(state.readings).set(subject, { ...known, value, at, age_ms: at === null ? null : 0 });
  return at === null ? { ...state, readings } : withLastSeen({ ...state, readings }, known.device, at);
}

function withLastSeen(state: HomeState, deviceId: string, at: string): HomeState {
  return { ...state, devices: state.devices.map((device) => (device.id === deviceId ? { ...device, last_seen: at } : device)) };
}

function withReachability(state: HomeState, { subject, data }: EventView): HomeState {
  const { reachability } = data;
  if (!isReachability(reachability)) return state;
  return { ...state, devices: state.devices.map((device) => (device.id === subject ? { ...device, reachability } : device)) };
}

function isReachability(value: Json | undefined): value is Reachability {
  return REACHABILITIES.some((known) => known === value);
}

/** Returns the devices that may take the place of another one: whole Matter devices of another node, first those of one type with it. */
export function replacementsFor(device: DeviceView, all: readonly DeviceView[]): readonly DeviceView[] {
  const isAlike = ({ device_types: types }: DeviceView) => types.some((type) => device.device_types.includes(type));
  const others = all.filter(({ kind, matter_node_id: node }) => kind === 'node' && node !== device.matter_node_id);
  return [...others.filter(isAlike), ...others.filter((other) => !isAlike(other))];
}
