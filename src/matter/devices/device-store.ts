import type { RecognisedDevice } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import { type DeviceId, parseDeviceId, slug } from '../../core/ids.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { type Logger, silentLogger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { PlannedDevice } from './device-composition.ts';
import { deviceText } from './device-text.ts';

const DEVICE_SPACE = 'devices';
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
export interface JoiningNodeDetails {
  readonly name?: string;
  readonly area?: string;
  /** What attestation found and was accepted. */
  readonly findings?: readonly string[];
}

/** Ids, names and areas of devices, kept on disk by node id and UniqueID or endpoint, so that they outlive restarts and renames. */
export class DeviceStore {
  readonly #store: KeyValueStore;
  readonly #wishFor: (nodeId: string) => JoiningNodeDetails | undefined;
  readonly #former: FormerDeviceStore;
  readonly #logger: Logger;
  #entries: Map<string, DeviceEntry> | undefined;

  /** `wishFor` tells what was wished for a node that is just joining. */
  constructor(
    store: KeyValueStore,
    wishFor: (nodeId: string) => JoiningNodeDetails | undefined = () => undefined,
    logger: Logger = silentLogger,
  ) {
    this.#store = store;
    this.#logger = logger;
    this.#wishFor = wishFor;
    this.#former = new FormerDeviceStore(store);
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
      this.#store.delete(DEVICE_SPACE, key);
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
    this.#entries ??= new Map(this.#store.entries(DEVICE_SPACE).flatMap(({ key, value }) => parseEntry(key, value)));
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
    this.#store.set(DEVICE_SPACE, key, { ...rest, ...(findings && { findings: [...findings] }) });
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

/** Ids of devices that left: nobody else ever gets them. */
const FORMER_SPACE = 'devices.former';

/** A device that left, as far as it can be known again. */
interface FormerDevice {
  readonly id: DeviceId;
  /** The name and the area that a person gave it. */
  readonly name?: string;
  readonly area?: string;
  readonly removedAtMs: number;
  /** What the attestation of its node found; absent where nobody knows. */
  readonly findings?: readonly string[];
  /** What it says of itself, and what the node says that it was a part of. */
  readonly self: string;
  readonly node: string;
}

/** A device that is here, with what is needed to know it again. */
interface PresentDevice {
  readonly id: DeviceId;
  readonly planned: PlannedDevice;
  readonly root: PlannedDevice;
  readonly findings: readonly string[] | undefined;
}

/**
 * Devices that left the home. One that is commissioned again is known by vendor, product and serial number or unique id, which are
 * claims of the device: what was granted on it is offered to people and never given back by itself.
 */
class FormerDeviceStore {
  readonly #store: KeyValueStore;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  has(id: string): boolean {
    return this.#store.get(FORMER_SPACE, id) !== undefined;
  }

  /** Keeps the id of a device that leaves, and how to know it again. */
  keep({ id, planned, root, findings }: PresentDevice, facts: Pick<FormerDevice, 'name' | 'area' | 'removedAtMs'>): void {
    const node = identityOf(root);
    const told = node === undefined ? {} : { ...facts, node, self: selfOf(planned), ...(findings && { findings: [...findings] }) };
    this.#store.set(FORMER_SPACE, id, Object.keys(told).length === 0 ? true : told);
  }

  /** Gives an id back to the device that it was of. */
  release(id: DeviceId): void {
    this.#store.delete(FORMER_SPACE, id);
  }

  /** An id that was had for a while until the device got its former one back. */
  retire(id: DeviceId): void {
    this.#store.set(FORMER_SPACE, id, true);
  }

  get(id: DeviceId): FormerDevice | undefined {
    return parseFormer(id, this.#store.get(FORMER_SPACE, id));
  }

  /** The device that left and is most likely this one: of several the one that left last. Undefined where attestation is weaker now. */
  recognise({ planned, root, findings }: PresentDevice): FormerDevice | undefined {
    const node = identityOf(root);
    if (node === undefined || findings === undefined) return undefined;
    const self = selfOf(planned);
    return this.#store
      .entries(FORMER_SPACE)
      .flatMap(({ key, value }) => parseFormer(key as DeviceId, value) ?? [])
      .filter((former) => former.node === node && former.self === self && isNoWeaker(findings, former.findings))
      .toSorted((a, b) => b.removedAtMs - a.removedAtMs)[0];
  }
}

/** For people: what is offered. */
export function offerOf(device: DeviceId, { id, name, removedAtMs }: FormerDevice): RecognisedDevice {
  return { device, former: id, ...(name !== undefined && { name }), removedAtMs };
}

/** Undefined for a node that tells nothing by which it could be known again. */
function identityOf({ facts: { vendor, product, serial, uniqueId } }: PlannedDevice): string | undefined {
  const own = serial !== '' ? `s${serial}` : uniqueId !== '' ? `u${uniqueId}` : undefined;
  return own === undefined ? undefined : JSON.stringify([vendor.id, product.id, own]);
}

/** Its place in the node, and all that it says of itself: behind a bridge another device may stand at the same place. */
function selfOf({ key, nodeId, kind, facts: { vendor, product, serial }, deviceTypes }: PlannedDevice): string {
  return JSON.stringify([key.slice(nodeId.length), kind, vendor.id, product.id, product.name, serial, deviceTypes]);
}

/** Findings that nobody wrote down then may have been any but none. */
function isNoWeaker(now: readonly string[], then: readonly string[] = []): boolean {
  return now.every((finding) => then.includes(finding));
}

function parseFormer(id: DeviceId, value: Json | undefined): FormerDevice | undefined {
  if (value === undefined || !isJsonObject(value)) return undefined;
  const { name, area, removedAtMs, findings, self, node } = value;
  if (typeof self !== 'string' || typeof node !== 'string') return undefined;
  return {
    id,
    ...(typeof name === 'string' && { name }),
    ...(typeof area === 'string' && { area }),
    removedAtMs: typeof removedAtMs === 'number' ? removedAtMs : 0,
    ...(Array.isArray(findings) && { findings: findings.filter((one) => typeof one === 'string') }),
    self,
    node,
  };
}
