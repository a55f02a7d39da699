import type { RecognisedDevice } from '../../core/devices/device-administration.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { PlannedDevice } from './device-map.ts';

/** Ids of devices that left: nobody else ever gets them. */
const SPACE = 'devices.former';

/** A device that left, as far as it can be known again. */
export interface FormerDevice {
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
export interface PresentDevice {
  readonly id: DeviceId;
  readonly planned: PlannedDevice;
  readonly root: PlannedDevice;
  readonly findings: readonly string[] | undefined;
}

/**
 * Devices that left the home. One that is commissioned again is known by vendor, product and serial number or unique id, which are
 * claims of the device: what was granted on it is offered to people and never given back by itself.
 */
export class FormerDevices {
  readonly #store: KeyValueStore;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  has(id: string): boolean {
    return this.#store.get(SPACE, id) !== undefined;
  }

  /** Keeps the id of a device that leaves, and how to know it again. */
  keep({ id, planned, root, findings }: PresentDevice, facts: Pick<FormerDevice, 'name' | 'area' | 'removedAtMs'>): void {
    const node = identityOf(root);
    const told = node === undefined ? {} : { ...facts, node, self: selfOf(planned), ...(findings && { findings: [...findings] }) };
    this.#store.set(SPACE, id, Object.keys(told).length === 0 ? true : told);
  }

  /** Gives an id back to the device that it was of. */
  release(id: DeviceId): void {
    this.#store.delete(SPACE, id);
  }

  /** An id that was had for a while until the device got its former one back. */
  retire(id: DeviceId): void {
    this.#store.set(SPACE, id, true);
  }

  get(id: DeviceId): FormerDevice | undefined {
    return parseFormer(id, this.#store.get(SPACE, id));
  }

  /** The device that left and is most likely this one: of several the one that left last. Undefined where attestation is weaker now. */
  recognise({ planned, root, findings }: PresentDevice): FormerDevice | undefined {
    const node = identityOf(root);
    if (node === undefined || findings === undefined) return undefined;
    const self = selfOf(planned);
    return this.#store
      .entries(SPACE)
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
