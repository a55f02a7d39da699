import type { Json } from '../../core/json.ts';
import type { Connection } from './event-stream.ts';
import { type HubClient, messageOf } from './hub-client.ts';
import type { ApprovalView, DeviceView, EventView, ReachabilityView, ReadingView } from './hub-types.ts';
import { Observable } from './observable.ts';

/** Hears every event, in order. */
export type HubEventListener = (event: EventView) => void;

/** The home as the hub tells it: loaded once, then kept by the events. */
export class HomeStore extends Observable {
  readonly #hub: HubClient;
  readonly #hearers = new Set<HubEventListener>();
  readonly #stale = new Set<Refresh>();
  #state: HomeState = EMPTY_HOME;
  #connection: Connection = 'connecting';
  #isLoaded = false;
  #problem: string | undefined;
  #refreshing: Promise<void> | undefined;
  #hubProblems: readonly string[] = [];

  constructor(hub: HubClient) {
    super();
    this.#hub = hub;
  }

  get state(): HomeState {
    return this.#state;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** False until the hub has told the home for the first time. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Why the home could not be asked for, for people; undefined when it could. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** What is wrong with the hub itself, one line each. */
  get hubProblems(): readonly string[] {
    return this.#hubProblems;
  }

  /** Asks the hub how it is; what cannot be asked changes nothing, since the connection tells of it. */
  async refreshHealth(): Promise<void> {
    try {
      const { problems } = await this.#hub.get('/healthz');
      this.#hubProblems = Array.isArray(problems) ? problems.map(String) : [];
      this.changed();
    } catch {
      // A hub that starts or stops answers with an error.
    }
  }

  /** Requests that wait for a person now. */
  pendingApprovals(): readonly ApprovalView[] {
    return pendingApprovals(this.#state.approvals, Date.now());
  }

  /** Hears events as they come, as `EventStream` tells them; the answer stops it. */
  onEvent(hearer: HubEventListener): () => void {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  setConnection(connection: Connection): void {
    this.#connection = connection;
    this.changed();
  }

  handleEvent(event: EventView): void {
    const refresh = refreshAfter(event, this.#state);
    this.#state = withEvent(this.#state, event);
    this.changed();
    for (const hearer of this.#hearers) hearer(event);
    if (refresh) void this.refresh(refresh);
  }

  /** Asks for everything anew: at the beginning and when events were lost. */
  reload(): Promise<void> {
    return this.refresh('devices', 'approvals');
  }

  /** Asks for these parts anew; what is asked for while an answer is on its way is fetched once after it. */
  async refresh(...parts: readonly Refresh[]): Promise<void> {
    for (const part of parts) this.#stale.add(part);
    this.#refreshing ??= this.#drain().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  /** Forgets the home, when somebody signs out. */
  clear(): void {
    this.#state = EMPTY_HOME;
    this.#isLoaded = false;
    this.#problem = undefined;
    this.changed();
  }

  async #drain(): Promise<void> {
    while (this.#stale.size > 0) {
      const parts = [...this.#stale];
      this.#stale.clear();
      const results = await Promise.allSettled(parts.map((part) => this.#fetch(part)));
      const devices = results[parts.indexOf('devices')];
      if (devices) this.#problem = devices.status === 'rejected' ? messageOf(devices.reason) : undefined;
      this.#isLoaded ||= devices?.status === 'fulfilled';
      this.changed();
    }
  }

  async #fetch(part: Refresh): Promise<void> {
    if (part === 'devices') {
      const { devices } = await this.#hub.get<{ devices: readonly DeviceView[] }>('/api/v1/devices');
      this.#state = withDevices(this.#state, devices);
    } else {
      // Whoever may not see requests sees none.
      const { approvals } = await this.#hub.get<{ approvals: readonly ApprovalView[] }>('/api/v1/approvals');
      this.#state = { ...this.#state, approvals };
    }
  }
}

/** What the page knows of the home. Immutable: a change makes a new one. */
export interface HomeState {
  /** In the order of their names. */
  readonly devices: readonly DeviceView[];
  /** By id. */
  readonly readings: ReadonlyMap<string, ReadingView>;
  /** Requests that wait and those decided lately, newest first. */
  readonly approvals: readonly ApprovalView[];
  /** Newest first, at most 500. */
  readonly events: readonly EventView[];
}

export const EMPTY_HOME: HomeState = { devices: [], readings: new Map(), approvals: [], events: [] };
const MAX_EVENTS = 500;

/** What an event asks the page to fetch again, since the event alone does not say it. */
type Refresh = 'devices' | 'approvals';

/** What `GET /api/v1/devices` said, taken over. */
export function withDevices(state: HomeState, devices: readonly DeviceView[]): HomeState {
  const readings = new Map(devices.flatMap((device) => device.readings.map((reading) => [reading.id, reading] as const)));
  return { ...state, devices: devices.toSorted((a, b) => a.name.localeCompare(b.name)), readings };
}

/** An event, taken over as far as it says what is new. */
export function withEvent(state: HomeState, event: EventView): HomeState {
  const heard = { ...state, events: [event, ...state.events].slice(0, MAX_EVENTS) };
  if (event.type === 'sensor.reading') return withReading(heard, event);
  if (event.type === 'device.reachability') return withReachability(heard, event);
  return heard;
}

/** What has to be fetched after an event. */
export function refreshAfter(event: EventView, state: HomeState): Refresh | undefined {
  if (event.type === 'approval.requested' || event.type === 'approval.decided') return 'approvals';
  if (event.type === 'device.added' || event.type === 'device.removed' || event.type === 'device.changed') return 'devices';
  // A new kind of value of a device that is known, or of one that is not.
  if (event.type === 'sensor.reading' && !state.readings.has(event.subject)) return 'devices';
  return undefined;
}

/** The requests that a person has to look at, the one that expires first in front. */
export function pendingApprovals(approvals: readonly ApprovalView[], nowMs: number): readonly ApprovalView[] {
  return approvals
    .filter(({ state, expires_at: expiresAt }) => state === 'pending' && Date.parse(expiresAt) > nowMs)
    .toSorted((a, b) => a.expires_at.localeCompare(b.expires_at));
}

/** The readings of a device by their names. */
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

function isReachability(value: Json | undefined): value is ReachabilityView {
  return value === 'reachable' || value === 'unreachable' || value === 'unknown';
}
