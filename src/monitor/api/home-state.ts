import type { Json } from '../../core/json.ts';
import type { ApprovalView, DeviceView, EventView, ReachabilityView, ReadingView } from './hub-types.ts';

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

export const NO_HOME: HomeState = { devices: [], readings: new Map(), approvals: [], events: [] };
const MAX_EVENTS = 500;

/** What an event asks the page to fetch again, since the event alone does not say it. */
export type Refresh = 'devices' | 'approvals';

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
export function waiting(approvals: readonly ApprovalView[], nowMs: number): readonly ApprovalView[] {
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
