import { isoTime } from '../../core/clock.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { REACHABILITIES, type Reachability } from '../../core/devices/device-model.ts';
import type { PastReading, ReadingStore, ReadingValue, SensorInfo } from '../../core/devices/sensor-readings.ts';
import { EVENT_TYPES, type EventBus, type EventListener, type HubEvent } from '../../core/events.ts';
import type { DeviceId, SensorId } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject, objectOf } from '../../core/json.ts';
import type { PastEvent } from '../../core/storage/event-history.ts';
import type { HouseState } from '../house/house.ts';
import type { Presence } from '../house/presence-store.ts';
import { HUB_STARTED } from './event-recorder.ts';

/** The home as it is now: what of it did not change is as it was. */
export interface PresentHome {
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly house: HouseState;
}

interface KnownSensor {
  readonly info: SensorInfo;
  /** True if its value is true or false now. */
  readonly isSwitch: boolean;
}

/** Passes on past events to who listens, as the bus of the hub did. */
class PastBus implements Pick<EventBus, 'listen'> {
  readonly #listeners = new Set<EventListener>();

  listen(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  deliver({ type, subject, data, atMs }: PastEvent): void {
    const known = EVENT_TYPES.find((one) => one === type);
    if (!known) return;
    const event: HubEvent = { specversion: '1.0', id: '', source: '', type: known, subject, time: isoTime(atMs), data };
    for (const listener of this.#listeners) listener(event);
  }

  /** Passes on a reading. A time in words is not made for it, since there are millions of readings. */
  deliverReading(subject: string, data: JsonObject): void {
    const event: HubEvent = { specversion: '1.0', id: '', source: '', type: 'sensor.reading', subject, time: '', data };
    for (const listener of this.#listeners) listener(event);
  }
}

/** The home at a moment of the past: readings, reachability, flags and presence, as far as they are known from what was kept. */
export class PastHome implements PresentHome {
  readonly bus = new PastBus();
  readonly readings: Pick<ReadingStore, 'current'> = { current: (id) => this.#reading(id) };
  readonly devices: Pick<DeviceDirectory, 'get'> = { get: (id) => this.#device(id) };
  readonly house: HouseState;
  readonly #present: PresentHome;
  readonly #values = new Map<SensorId, { readonly value: ReadingValue | null; readonly atMs: number }>();
  readonly #reachability = new Map<string, Reachability>();
  readonly #flags = new Map<string, Json | undefined>();
  readonly #presence = new Map<string, Presence | undefined>();
  readonly #sensors = new Map<SensorId, KnownSensor | undefined>();
  /** Where persons are now; it holds for those of whom no change is known. */
  #isFromNow = true;

  /** `first`: the first change of each flag, person and device in the time that is played, which says what was before. */
  constructor(present: PresentHome, first: readonly PastEvent[]) {
    this.#present = present;
    this.house = {
      flag: (name) => this.#flag(name),
      presenceOf: (person) => this.#presenceOf(person),
      persons: () => this.#persons(),
      place: () => present.house.place(),
    };
    for (const event of first) this.#set(event.type, event.subject, { ...event.data, isBefore: true });
  }

  /** Sets the value of a sensor without an event: it was so when the time that is played began. */
  begin({ sensor, value, atMs }: PastReading): void {
    this.#values.set(sensor, { value: this.#asShown(sensor, value), atMs });
  }

  /** Sets the value of a sensor, with the event of it if somebody waits for that. */
  takeReading({ sensor, value, atMs }: PastReading, how: 'emit' | 'set'): void {
    const info = this.#sensor(sensor)?.info;
    if (!info) return;
    const shown = this.#asShown(sensor, value);
    this.#values.set(sensor, { value: shown, atMs });
    if (how === 'emit') this.bus.deliverReading(sensor, { value: shown, unit: info.unit, kind: info.kind, at_ms: atMs });
  }

  takeEvent(event: PastEvent): void {
    this.#set(event.type, event.subject, event.data);
    // A change of presence is kept for each person, and is an event of the whole house.
    this.bus.deliver(typeof event.data.person === 'string' ? { ...event, subject: 'presence' } : event);
  }

  #set(type: string, subject: string, data: JsonObject): void {
    const isBefore = data.isBefore === true;
    if (type === 'sensor.reading' && !isBefore) this.#values.set(subject as SensorId, { value: null, atMs: 0 });
    if (type === 'device.reachability') this.#reachability.set(subject, reachabilityOf(isBefore ? data.before : data.reachability));
    if (type === HUB_STARTED) this.#restart(data);
    if (type !== 'house.changed') return;
    const value = isBefore ? data.before : (data.value ?? data.presence);
    if (typeof data.flag === 'string') this.#flags.set(data.flag, value ?? undefined);
    if (typeof data.person === 'string') this.#presence.set(data.person, presenceFrom(value));
  }

  /** After a start of the hub, the flags and persons are those that it knew then, and devices have not answered yet. */
  #restart({ flags, presence }: JsonObject): void {
    for (const id of this.#reachability.keys()) this.#reachability.set(id, 'unknown');
    if (!isJsonObject(flags) || !isJsonObject(presence)) return;
    this.#isFromNow = false;
    this.#flags.clear();
    this.#presence.clear();
    for (const [name, value] of Object.entries(flags)) this.#flags.set(name, value);
    for (const [person, where] of Object.entries(objectOf(presence))) this.#presence.set(person, presenceFrom(where));
  }

  #flag(name: string): Json | undefined {
    return this.#flags.has(name) || !this.#isFromNow ? this.#flags.get(name) : this.#present.house.flag(name);
  }

  #presenceOf(person: string): Presence | undefined {
    return this.#presence.has(person) || !this.#isFromNow ? this.#presence.get(person) : this.#present.house.presenceOf(person);
  }

  #persons(): readonly string[] {
    const known = this.#isFromNow ? this.#present.house.persons() : [];
    return [...new Set([...known, ...this.#presence.keys()])].filter((person) => this.#presenceOf(person) !== undefined);
  }

  #reading(id: SensorId): ReturnType<ReadingStore['current']> {
    const sensor = this.#sensor(id)?.info;
    if (!sensor) return undefined;
    const known = this.#values.get(id);
    // A device of which no change is known answered all the time.
    const reachability = this.#reachability.get(sensor.device) ?? 'reachable';
    return { sensor, value: known?.value ?? null, atMs: known?.atMs ?? 0, reachability };
  }

  #sensor(id: SensorId): KnownSensor | undefined {
    if (this.#sensors.has(id)) return this.#sensors.get(id);
    const now = this.#present.readings.current(id);
    const known = now && { info: now.sensor, isSwitch: typeof now.value === 'boolean' };
    this.#sensors.set(id, known);
    return known;
  }

  #device(id: DeviceId): ReturnType<DeviceDirectory['get']> {
    const now = this.#present.devices.get(id);
    const reachability = this.#reachability.get(id);
    return now && reachability !== undefined ? { ...now, reachability } : now;
  }

  /** Returns a kept value as the sensor shows it: on and off are kept as 1 and 0. */
  #asShown(id: SensorId, value: number | string): ReadingValue {
    return this.#sensor(id)?.isSwitch === true && typeof value === 'number' ? value !== 0 : value;
  }
}

function reachabilityOf(value: Json | undefined): Reachability {
  return REACHABILITIES.find((one) => one === value) ?? 'unknown';
}

function presenceFrom(value: Json | undefined): Presence | undefined {
  return value === 'home' || value === 'away' ? value : undefined;
}
