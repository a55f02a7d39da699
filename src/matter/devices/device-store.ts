import type { RecognisedDevice, ReplacedDevice } from '../../core/devices/device-administration.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import { type DeviceId, slug } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject, present } from '../../core/json.ts';
import { type Logger, silentLogger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { deviceText, type PlannedDevice } from './device-composition.ts';

const DEVICE_SPACE = 'devices';
// Maximum length of a device id without its suffix. A whole id has at most 64 characters; the rest is for a suffix such as `-2`.
const MAX_SLUG = 56;

interface DeviceEntry {
  readonly id: DeviceId;
  /** The name that a person gave to the device on this hub. */
  readonly name?: string;
  readonly area?: string;
  readonly lastSeenMs: number;
  /** Attestation findings of the device's node; absent if unknown. */
  readonly findings?: readonly string[];
}

/** Name and area that a person gave to a node before it joined, and its attestation findings. */
export interface JoiningNodeDetails {
  readonly name?: string;
  readonly area?: string;
  readonly findings?: readonly string[];
}

/** Stores the id, name and area of each device by its permanent key. The id stays the same after restarts and renames. */
export class DeviceStore {
  readonly #store: KeyValueStore;
  readonly #joiningDetailsOf: (nodeId: string) => JoiningNodeDetails | undefined;
  readonly #former: FormerDeviceStore;
  readonly #logger: Logger;
  #entries: Map<string, DeviceEntry> | undefined;

  /** `joiningDetailsOf` returns the details of a node that is being commissioned. */
  constructor(
    store: KeyValueStore,
    joiningDetailsOf: (nodeId: string) => JoiningNodeDetails | undefined = () => undefined,
    logger: Logger = silentLogger,
  ) {
    this.#store = store;
    this.#logger = logger;
    this.#joiningDetailsOf = joiningDetailsOf;
    this.#former = new FormerDeviceStore(store);
  }

  /**
   * Returns the stored data of a device. A new device first gets an id, made from the name that a person gave, else from its label or
   * product name. If the data cannot be written, it stays in memory and is written with the next change of the device.
   */
  entryOf(planned: PlannedDevice): DeviceEntry {
    const known = this.#all.get(planned.key);
    if (known !== undefined) return known;
    const details = planned.kind === 'node' ? this.#joiningDetailsOf(planned.nodeId) : undefined;
    const name = deviceText(details?.name);
    const area = deviceText(details?.area);
    return this.#attempt(planned.key, {
      id: this.#freeId(name || this.#nameAsPart(planned) || planned.label || planned.productName),
      ...(name !== '' && { name }),
      ...(area !== '' && { area }),
      lastSeenMs: 0,
    });
  }

  /**
   * Returns the first name that exists: the name that a person gave the device; for a part, the name that a person gave the whole device,
   * plus the title of the part; the device's own label; the product name, plus the area.
   */
  nameOf(planned: PlannedDevice): string {
    const { name, area } = this.entryOf(planned);
    if (name !== undefined) return name;
    const asPart = this.#nameAsPart(planned);
    if (asPart !== '') return deviceText(asPart);
    if (planned.label !== '') return deviceText(planned.label);
    return deviceText(area === undefined ? planned.productName : `${planned.productName} ${area}`);
  }

  /** Returns whether the name that `nameOf` returns comes from a person. */
  isNamedHere(planned: PlannedDevice): boolean {
    return this.entryOf(planned).name !== undefined || this.#nameAsPart(planned) !== '';
  }

  /** Sets the name of a device; an empty name restores the device's own name. */
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

  attest(nodeId: string, findings: readonly string[]): void {
    const entry = this.#all.get(nodeId);
    if (entry !== undefined) this.#save(nodeId, { ...entry, findings });
  }

  /**
   * Removes a node with its bridged devices and parts. Their ids stay reserved, so that a permission for a removed device never applies to
   * another device. Stores the data by which the devices can be recognised.
   */
  forgetNode(nodeId: string, plans: readonly PlannedDevice[], removedAtMs: number): void {
    const removed = [...this.#all].filter(([key]) => key === nodeId || key.startsWith(`${nodeId}/`));
    for (const [key, { id, name, area }] of removed) {
      const planned = plans.find((plan) => plan.key === key);
      const device = this.#presentDevice(planned, plans);
      if (device === undefined) this.#former.reserve(id);
      else this.#former.add(device, present({ name, area, removedAtMs }));
    }
    for (const [key] of removed) {
      this.#all.delete(key);
      this.#store.delete(DEVICE_SPACE, key);
    }
  }

  /** Returns the removed device that this device seems to be. Returns undefined if none matches, or if the attestation is now weaker. */
  recognise(planned: PlannedDevice, plans: readonly PlannedDevice[]): FormerDevice | undefined {
    const device = this.#presentDevice(planned, plans);
    return device && this.#former.recognise(device);
  }

  /** Gives a recognised device its former id. Also restores its former name and area, unless a person has set new ones. */
  restore(key: string, { id, name, area }: FormerDevice): void {
    const entry = this.#known(key);
    this.#former.reserve(entry.id);
    this.#save(key, { ...present({ name, area }), ...entry, id });
    this.#former.release(id);
  }

  /**
   * Gives a device the id, name and area of a device that it replaces and that is no longer here. May be repeated: each step has the same
   * result again, so that a hub that was killed between two writes completes it.
   */
  takeOver(key: string, { id, name, area }: ReplacedDevice): void {
    const { area: _, ...entry } = this.#known(key);
    if (entry.id !== id) {
      this.#former.reserve(entry.id);
      this.#save(key, { ...entry, ...present({ area }), name, id });
    }
    this.#former.release(id);
    // A device that a bridge no longer has keeps its entry.
    for (const [stale, { id: other }] of [...this.#all]) {
      if (other !== id || stale === key) continue;
      this.#all.delete(stale);
      this.#store.delete(DEVICE_SPACE, stale);
    }
  }

  #presentDevice(planned: PlannedDevice | undefined, plans: readonly PlannedDevice[]): PresentDevice | undefined {
    const root = plans.find(({ kind }) => kind === 'node');
    if (planned === undefined || root === undefined) return undefined;
    return { id: this.entryOf(planned).id, planned, root, findings: this.#all.get(root.key)?.findings };
  }

  /** If a person named the whole device `Fridge`, returns a name such as `Fridge cabinet 1`. Otherwise returns an empty text. */
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

  /** Writes an entry. If this fails, throws STORAGE_FAILED and changes nothing. */
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
  const { lastSeenMs } = value;
  return [[key, { id: parseDeviceId(value.id), ...parseDetails(value), lastSeenMs: typeof lastSeenMs === 'number' ? lastSeenMs : 0 }]];
}

function parseDetails({ name, area, findings }: JsonObject): JoiningNodeDetails {
  return {
    ...(typeof name === 'string' && { name }),
    ...(typeof area === 'string' && { area }),
    ...(Array.isArray(findings) && { findings: findings.filter((one) => typeof one === 'string') }),
  };
}

/** Key space of removed devices, whose ids no other device ever gets. */
const FORMER_SPACE = 'devices.former';

/** A removed device: the name and area that a person gave it, and the data by which it can be recognised. */
interface FormerDevice extends JoiningNodeDetails {
  readonly id: DeviceId;
  readonly removedAtMs: number;
  /** Identity data that the device reported about itself, and about the node that it belonged to. */
  readonly self: string;
  readonly node: string;
}

/** A device of the home, with the data by which it can be recognised later. */
interface PresentDevice {
  readonly id: DeviceId;
  readonly planned: PlannedDevice;
  readonly root: PlannedDevice;
  readonly findings: readonly string[] | undefined;
}

/**
 * Stores devices that were removed from the home. If a device is commissioned again, the hub recognises it by vendor, product, and serial
 * number or unique id. A device can forge these. So the hub never restores the former id, with its permissions, by itself: it only offers
 * this to people.
 */
class FormerDeviceStore {
  readonly #store: KeyValueStore;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  has(id: string): boolean {
    return this.#store.get(FORMER_SPACE, id) !== undefined;
  }

  /** Stores the id of a removed device, and the data by which it can be recognised. */
  add({ id, planned, root, findings }: PresentDevice, facts: Pick<FormerDevice, 'name' | 'area' | 'removedAtMs'>): void {
    const node = identityOf(root);
    if (node === undefined) this.reserve(id);
    else this.#store.set(FORMER_SPACE, id, { ...facts, node, self: selfOf(planned), ...(findings && { findings: [...findings] }) });
  }

  /** Removes the entry of a device that got its former id back. */
  release(id: DeviceId): void {
    this.#store.delete(FORMER_SPACE, id);
  }

  /** Stores only an id, so that no other device gets it. */
  reserve(id: DeviceId): void {
    this.#store.set(FORMER_SPACE, id, true);
  }

  /** Returns the matching device that was removed last. Returns undefined if none matches, or if the attestation is now weaker. */
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

/** Returns a recognised device in its public form. */
export function recognisedDevice(device: DeviceId, { id, name, removedAtMs }: FormerDevice): RecognisedDevice {
  return present({ device, former: id, name, removedAtMs });
}

/** Returns vendor, product and serial number of a node as text; the unique id replaces a missing number. Undefined if both are missing. */
function identityOf({ facts: { vendor, product, serial, uniqueId } }: PlannedDevice): string | undefined {
  const own = serial !== '' ? `s${serial}` : uniqueId !== '' ? `u${uniqueId}` : undefined;
  return own === undefined ? undefined : JSON.stringify([vendor.id, product.id, own]);
}

/** Returns a device's position in its node and its product data as text. Both are needed: another device may get the position later. */
function selfOf({ key, nodeId, kind, facts: { vendor, product, serial }, deviceTypes }: PlannedDevice): string {
  return JSON.stringify([key.slice(nodeId.length), kind, vendor.id, product.id, product.name, serial, deviceTypes]);
}

/** Returns whether the attestation is at least as strong as before: every current finding was already stored before. */
function isNoWeaker(now: readonly string[], then: readonly string[] = []): boolean {
  return now.every((finding) => then.includes(finding));
}

function parseFormer(id: DeviceId, value: Json | undefined): FormerDevice | undefined {
  if (value === undefined || !isJsonObject(value)) return undefined;
  const { removedAtMs, self, node } = value;
  if (typeof self !== 'string' || typeof node !== 'string') return undefined;
  return { id, ...parseDetails(value), removedAtMs: typeof removedAtMs === 'number' ? removedAtMs : 0, self, node };
}
