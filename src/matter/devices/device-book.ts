import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { parseDeviceId, slug } from '../../core/ids.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { type Logger, silentLogger } from '../../core/logger.ts';
import { attemptWrite } from '../../core/storage/durable-file.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { PlannedDevice } from './device-map.ts';
import { deviceText } from './device-text.ts';
import { type FormerDevice, FormerDevices, type PresentDevice } from './former-devices.ts';

const SPACE = 'devices';
// Leaves room for a suffix within the 64 characters of a device id.
const MAX_SLUG = 56;

/** What the hub itself knows of a device. */
export interface DeviceEntry {
  readonly id: DeviceId;
  /** The name that a person gave it here. */
  readonly name?: string;
  readonly area?: string;
  readonly lastSeenMs: number;
  /** What attestation found of its node; absent where nobody knows. */
  readonly findings?: readonly string[];
}

/** What a person said about a node before it joined. */
export interface DeviceWish {
  readonly name?: string;
  readonly area?: string;
  /** What attestation found and was accepted. */
  readonly findings?: readonly string[];
}

/** Ids, names and areas of devices, kept on disk by node id and UniqueID or endpoint, so that they outlive restarts and renames. */
export class DeviceBook {
  readonly #store: KeyValueStore;
  readonly #wishFor: (nodeId: string) => DeviceWish | undefined;
  readonly #former: FormerDevices;
  readonly #logger: Logger;
  #entries: Map<string, DeviceEntry> | undefined;

  /** `wishFor` tells what was wished for a node that is just joining. */
  constructor(store: KeyValueStore, wishFor: (nodeId: string) => DeviceWish | undefined = () => undefined, logger: Logger = silentLogger) {
    this.#store = store;
    this.#logger = logger;
    this.#wishFor = wishFor;
    this.#former = new FormerDevices(store);
  }

  /**
   * The entry of a device; a device seen for the first time gets its id here, from the name wished for it or the one it has. One that the
   * disk does not take counts until the hub stops, and is written with the next change.
   */
  entryOf(planned: PlannedDevice): DeviceEntry {
    const known = this.#all.get(planned.key);
    if (known !== undefined) return known;
    const wish = planned.kind === 'node' ? this.#wishFor(planned.nodeId) : undefined;
    const name = deviceText(wish?.name);
    const area = deviceText(wish?.area);
    return this.#attempt(planned.key, {
      id: this.#freeId(name || this.#nameAsPart(planned) || planned.label || planned.productName),
      ...(name !== '' && { name }),
      ...(area !== '' && { area }),
      lastSeenMs: 0,
    });
  }

  /** What people call it: the name given here, to it or to the device that it is a part of, else the device's own label, else product and area. */
  nameOf(planned: PlannedDevice): string {
    const { name, area } = this.entryOf(planned);
    if (name !== undefined) return name;
    const asPart = this.#nameAsPart(planned);
    if (asPart !== '') return deviceText(asPart);
    if (planned.label !== '') return deviceText(planned.label);
    return deviceText(area === undefined ? planned.productName : `${planned.productName} ${area}`);
  }

  /** True when the name of `nameOf` comes from a person and not from the device. */
  isNamedHere(planned: PlannedDevice): boolean {
    return this.entryOf(planned).name !== undefined || this.#nameAsPart(planned) !== '';
  }

  /** An empty name goes back to what the device says. */
  rename(key: string, name: string): void {
    const { name: _, ...rest } = this.#known(key);
    const text = deviceText(name);
    this.#save(key, text === '' ? rest : { ...rest, name: text });
  }

  setArea(key: string, area: string | null): void {
    const { area: _, ...rest } = this.#known(key);
    const text = deviceText(area);
    this.#save(key, text === '' ? rest : { ...rest, area: text });
  }

  saw(key: string, atMs: number): void {
    const entry = this.#all.get(key);
    if (entry !== undefined && entry.lastSeenMs !== atMs) this.#attempt(key, { ...entry, lastSeenMs: atMs });
  }

  /** Keeps what attestation found of a node. */
  attest(nodeId: string, findings: readonly string[]): void {
    const entry = this.#all.get(nodeId);
    if (entry !== undefined) this.#save(nodeId, { ...entry, findings });
  }

  /**
   * Forgets a node with everything behind it but the ids, and by what the devices could be known again: what was granted on them is
   * never a grant on another device.
   */
  forgetNode(nodeId: string, plans: readonly PlannedDevice[], removedAtMs: number): void {
    for (const [key, entry] of [...this.#all]) {
      if (key !== nodeId && !key.startsWith(`${nodeId}/`)) continue;
      const present = this.#presentOf(
        plans.find((planned) => planned.key === key),
        plans,
      );
      const { name, area } = entry;
      if (present === undefined) this.#former.retire(entry.id);
      else this.#former.keep(present, { ...(name !== undefined && { name }), ...(area !== undefined && { area }), removedAtMs });
    }
    for (const key of [...this.#all.keys()].filter((one) => one === nodeId || one.startsWith(`${nodeId}/`))) {
      this.#all.delete(key);
      this.#store.delete(SPACE, key);
    }
  }

  /** The device that left and that this one seems to be; undefined where nothing tells so, or its attestation is weaker than it was. */
  recognise(planned: PlannedDevice, plans: readonly PlannedDevice[]): FormerDevice | undefined {
    const present = this.#presentOf(planned, plans);
    return present && this.#former.recognise(present);
  }

  /** Gives a device the id of the one that it was, with name and area where nobody gave it others. */
  restore(key: string, { id, name, area }: FormerDevice): void {
    const entry = this.#known(key);
    this.#former.retire(entry.id);
    this.#save(key, {
      ...entry,
      id,
      ...(entry.name === undefined && name !== undefined && { name }),
      ...(entry.area === undefined && area !== undefined && { area }),
    });
    this.#former.release(id);
  }

  #presentOf(planned: PlannedDevice | undefined, plans: readonly PlannedDevice[]): PresentDevice | undefined {
    const root = plans.find(({ kind }) => kind === 'node');
    if (planned === undefined || root === undefined) return undefined;
    return { id: this.entryOf(planned).id, planned, root, findings: this.#all.get(root.key)?.findings };
  }

  /** `Fridge cabinet 1`, where a person calls the whole `Fridge`; empty when nobody named the whole. */
  #nameAsPart({ parentKey, partTitle }: PlannedDevice): string {
    if (parentKey === undefined || partTitle === undefined) return '';
    const name = this.#all.get(parentKey)?.name;
    return name === undefined ? '' : `${name} ${partTitle}`;
  }

  get #all(): Map<string, DeviceEntry> {
    this.#entries ??= new Map(this.#store.entries(SPACE).flatMap(({ key, value }) => parseEntry(key, value)));
    return this.#entries;
  }

  #known(key: string): DeviceEntry {
    const entry = this.#all.get(key);
    if (entry === undefined) throw new AtmoError('DEVICE_NOT_FOUND', `No device of key ${key} was ever seen`);
    return entry;
  }

  /** STORAGE_FAILED changes nothing. */
  #save(key: string, entry: DeviceEntry): DeviceEntry {
    const { findings, ...rest } = entry;
    this.#store.set(SPACE, key, { ...rest, ...(findings && { findings: [...findings] }) });
    this.#all.set(key, entry);
    return entry;
  }

  #attempt(key: string, entry: DeviceEntry): DeviceEntry {
    this.#all.set(key, entry);
    attemptWrite(
      () => this.#save(key, entry),
      (problem) => this.#logger.error('device.not_kept', { device: entry.id, problem }),
    );
    return entry;
  }

  #freeId(name: string): DeviceId {
    const base = slug(name, '-').slice(0, MAX_SLUG).replace(/-+$/, '') || 'device';
    const taken = new Set([...this.#all.values()].map(({ id }) => String(id)));
    for (let suffix = 1; ; suffix++) {
      const id = suffix === 1 ? base : `${base}-${suffix}`;
      if (!taken.has(id) && !this.#former.has(id)) return parseDeviceId(id);
    }
  }
}

function parseEntry(key: string, value: Json): readonly (readonly [string, DeviceEntry])[] {
  if (!isJsonObject(value) || typeof value.id !== 'string') return [];
  const { id, name, area, lastSeenMs, findings } = value;
  const entry: DeviceEntry = {
    id: parseDeviceId(id),
    ...(typeof name === 'string' && { name }),
    ...(typeof area === 'string' && { area }),
    lastSeenMs: typeof lastSeenMs === 'number' ? lastSeenMs : 0,
    ...(Array.isArray(findings) && { findings: findings.filter((one) => typeof one === 'string') }),
  };
  return [[key, entry]];
}
