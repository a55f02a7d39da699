import type {
  DeviceAccess,
  DeviceCallOptions,
  DeviceChange,
  DeviceDirectory,
  ExpectedValue,
  ReadBack,
} from '../../src/core/devices/device-directory.ts';
import type {
  AttributePath,
  AttributeReading,
  CommandPath,
  Device,
  DeviceDescription,
  DeviceEvent,
} from '../../src/core/devices/device-model.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { DeviceId } from '../../src/core/ids.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { BEHAVIOURS } from '../fixtures/device-behaviours.ts';

/** Devices in memory that do what Matter devices do, as far as BEHAVIOURS says. */
export class FakeHome implements DeviceDirectory, DeviceAccess {
  /** When devices told what they hold, ms since 1970; 0 is unknown. */
  toldMs = 1;
  readonly invoked: { readonly path: CommandPath; readonly fields: JsonObject }[] = [];
  readonly written: { readonly path: AttributePath; readonly value: Json }[] = [];
  readonly shown: DeviceId[] = [];
  readonly reads: (readonly AttributePath[])[] = [];
  /** Values whose report may take the place of a read. */
  readonly expected: (readonly AttributePath[])[] = [];
  /** What commands answer. */
  response: JsonObject | null = null;
  /** What the next interactions throw. */
  failure: AtmoError | undefined;
  readFailure: AtmoError | undefined;
  writeFailure: AtmoError | undefined;
  /** Devices that have not reported their present values yet. */
  readonly unreported = new Set<string>();
  /** Devices that never answer a read. */
  readonly unreadable = new Set<string>();
  /** Devices that never answer a command. */
  readonly dead = new Set<string>();
  readonly #descriptions = new Map<DeviceId, DeviceDescription>();
  readonly #values = new Map<string, Json>();
  readonly #changes = new Set<(change: DeviceChange) => void>();
  readonly #reports = new Set<(reading: AttributeReading) => void>();
  readonly #events = new Set<(event: DeviceEvent) => void>();

  constructor(...descriptions: readonly DeviceDescription[]) {
    for (const description of descriptions) this.#descriptions.set(description.device.id, description);
  }

  list(): readonly Device[] {
    return [...this.#descriptions.values()].map(({ device }) => device);
  }

  get(id: DeviceId): Device | undefined {
    return this.#descriptions.get(id)?.device;
  }

  describe(id: DeviceId): DeviceDescription | undefined {
    return this.#descriptions.get(id);
  }

  onChange(listener: (change: DeviceChange) => void): () => void {
    this.#changes.add(listener);
    return () => this.#changes.delete(listener);
  }

  onReport(listener: (reading: AttributeReading) => void): () => void {
    this.#reports.add(listener);
    return () => this.#reports.delete(listener);
  }

  onEvent(listener: (event: DeviceEvent) => void): () => void {
    this.#events.add(listener);
    return () => this.#events.delete(listener);
  }

  add(description: DeviceDescription): void {
    this.#descriptions.set(description.device.id, description);
    for (const listener of this.#changes) listener({ kind: 'added', device: description.device });
  }

  change(id: DeviceId, change: Partial<Device>): void {
    const before = this.#described(id);
    const device = { ...before.device, ...change };
    this.#descriptions.set(id, { ...before, device });
    const kind = change.reachability === undefined ? 'changed' : 'reachability';
    for (const listener of this.#changes) listener({ kind, device, before: before.device });
  }

  remove(id: DeviceId): void {
    const { device } = this.#described(id);
    this.#descriptions.delete(id);
    for (const listener of this.#changes) listener({ kind: 'removed', device });
  }

  /** The device says something, without being asked. */
  report(path: AttributePath, value: Json, atMs = this.toldMs): void {
    this.#values.set(keyOf(path), value);
    for (const listener of this.#reports) listener({ path, value, atMs, reachability: 'reachable' });
  }

  tell(event: DeviceEvent): void {
    for (const listener of this.#events) listener(event);
  }

  cached(path: AttributePath): AttributeReading | undefined {
    const value = this.#values.get(keyOf(path));
    return value === undefined ? undefined : { path, value, atMs: this.toldMs, reachability: 'reachable' };
  }

  noteRead(devices: readonly DeviceId[]): void {
    this.shown.push(...devices);
  }

  isCurrent(id: DeviceId): boolean {
    return this.#descriptions.has(id) && !this.unreported.has(id);
  }

  async read(paths: readonly AttributePath[], _options: DeviceCallOptions): Promise<readonly AttributeReading[]> {
    this.reads.push(paths);
    if (paths.some(({ device }) => this.unreadable.has(device))) return new Promise(() => {});
    if (this.readFailure ?? this.failure) throw this.readFailure ?? this.failure;
    return paths.map((path) => ({ path, value: this.#values.get(keyOf(path)) ?? null, atMs: this.toldMs, reachability: 'reachable' }));
  }

  awaitReports(values: readonly ExpectedValue[]): ReadBack {
    this.expected.push(values.map(({ path }) => path));
    return {
      read: (options) =>
        this.read(
          values.map(({ path }) => path),
          options,
        ),
      [Symbol.dispose]: () => {},
    };
  }

  async write(path: AttributePath, value: Json, _options: DeviceCallOptions): Promise<void> {
    if (this.writeFailure ?? this.failure) throw this.writeFailure ?? this.failure;
    this.written.push({ path, value });
    this.#values.set(keyOf(path), value);
  }

  async invoke(path: CommandPath, fields: JsonObject, _options: DeviceCallOptions): Promise<JsonObject | null> {
    if (this.dead.has(path.device)) return new Promise(() => {});
    if (this.failure) throw this.failure;
    this.invoked.push({ path, fields });
    const at = `${path.device}/${path.endpoint}/${path.cluster}/`;
    const own = [...this.#values].filter(([key]) => key.startsWith(at)).map(([key, value]) => [key.slice(at.length), value]);
    const effect = BEHAVIOURS[`${path.cluster}.${path.command}`]?.(fields, Object.fromEntries(own)) ?? {};
    for (const [attribute, value] of Object.entries(effect)) this.#values.set(`${at}${attribute}`, value);
    return this.response;
  }

  #described(id: DeviceId): DeviceDescription {
    const found = this.#descriptions.get(id);
    if (!found) throw new AtmoError('DEVICE_NOT_FOUND', `The fake home has no ${id}`);
    return found;
  }
}

function keyOf(path: AttributePath): string {
  return `${path.device}/${path.endpoint}/${path.cluster}/${path.attribute}`;
}
