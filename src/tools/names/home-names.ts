import { type AreaChanges, type AreaNames, areaKey, type HomeNames, type HomeOrder } from '../../core/devices/device-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type Json, objectOf, textsOf } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { givenName } from '../../core/untrusted-text.ts';

const DEVICES = 'home-names/devices';
const AREAS = 'home-names/areas';
const FORMER_AREAS = 'home-names/former-areas';
const ORDER = 'home-names/order';
const ORDER_KEY = 'order';
const NO_NAMES: AreaNames = { aliases: [] };

/** Port: current and former names of devices. */
interface DeviceNameHistory {
  prefixOf(device: DeviceId): string | undefined;
  formerNames(device: DeviceId): readonly string[];
}

const NO_HISTORY: DeviceNameHistory = { prefixOf: () => undefined, formerNames: () => [] };

interface FormerArea {
  readonly today: string;
  /** True if the area was merged into another area. Grants and rules with the former name then do not apply to that other area. */
  readonly isJoined: boolean;
}

/** Names that people gave to devices and areas, stored in the hub's state. */
export class StoredHomeNames implements HomeNames, AreaChanges {
  readonly #store: KeyValueStore;
  readonly #claimed: DeviceNameHistory;
  readonly #devices = new Map<string, readonly string[]>();
  readonly #areas = new Map<string, AreaNames>();
  /** Maps the key of each former name to the area that had it. `today` is the area's current name, and never a key of this map. */
  readonly #formerAreas = new Map<string, FormerArea>();
  #order: HomeOrder;
  readonly #listeners = new Set<() => void>();
  readonly #changeListeners = new Set<() => void>();
  #revision = 0;

  /** `claimed` returns the tool name prefix and the former names of a device. */
  constructor(store: KeyValueStore, claimed: DeviceNameHistory = NO_HISTORY) {
    this.#store = store;
    this.#claimed = claimed;
    for (const { key, value } of store.entries(DEVICES)) this.#devices.set(key, parseTexts(value));
    for (const { key, value } of store.entries(AREAS)) this.#areas.set(key, parseAreaNames(value));
    const { areas, floors } = objectOf(store.get(ORDER, ORDER_KEY));
    this.#order = { areas: textsOf(areas), floors: textsOf(floors) };
    for (const { key, value } of store.entries(FORMER_AREAS)) {
      const former = parseFormerArea(value);
      if (former) this.#formerAreas.set(key, former);
    }
  }

  get revision(): number {
    return this.#revision;
  }

  deviceAliases(device: string): readonly string[] {
    return this.#devices.get(device) ?? NO_NAMES.aliases;
  }

  formerNames(device: string): readonly string[] {
    return this.#claimed.formerNames(device as DeviceId);
  }

  toolPrefix(device: string): string | undefined {
    return this.#claimed.prefixOf(device as DeviceId);
  }

  areaNames(area: string): AreaNames {
    return this.#areas.get(areaKey(area)) ?? NO_NAMES;
  }

  order(): HomeOrder {
    return this.#order;
  }

  /** Sets the order of areas (names) and floors. Throws STORAGE_FAILED if the write fails. */
  setOrder({ areas, floors }: HomeOrder): HomeOrder {
    const order = { areas: [...new Set(areas.map(areaKey))], floors: [...distinct(floors)] };
    this.#write(ORDER, ORDER_KEY, order);
    this.#order = order;
    this.#changed();
    return order;
  }

  areaToday(area: string): string {
    return this.#formerAreas.get(areaKey(area))?.today ?? area;
  }

  /** Converts the key of an area in a grant or rule to the area's current key. The key of an area that was merged stays unchanged. */
  areaMeant(key: string): string {
    const former = this.#formerAreas.get(key);
    return former && !former.isJoined ? areaKey(former.today) : key;
  }

  formerAreaNames(area: string): readonly string[] {
    return [...this.#formerAreas].filter(([, { today }]) => areaKey(today) === areaKey(area)).map(([key]) => key);
  }

  onAreaRenamed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` after each change of a name, alias, floor or order; the returned function unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /**
   * Renames an area, together with its floor and aliases. If the area `to` already exists, set `isJoined`. Grants and rules for `from` then
   * do not apply to the area `to`. Throws STORAGE_FAILED if the write fails.
   */
  renameArea(from: string, to: string, { isJoined }: { readonly isJoined: boolean }): void {
    const [gone, kept] = [areaKey(from), areaKey(to)];
    const [before, there] = [this.areaNames(from), this.areaNames(to)];
    const former = [...this.#formerAreas].filter(([, { today }]) => areaKey(today) === gone);
    for (const [key, one] of former) this.#setFormer(key, key === kept ? null : { today: to, isJoined: one.isJoined || isJoined });
    if (gone !== kept) {
      this.#setFormer(gone, { today: to, isJoined });
      this.describeArea(from, NO_NAMES);
      const aliases = [...there.aliases, ...before.aliases, from].filter((one) => areaKey(one) !== kept);
      const { areas, floors } = this.#order;
      if (areas.includes(gone)) this.setOrder({ areas: areas.map((key) => (key === gone ? kept : key)), floors });
      const floor = there.floor ?? before.floor;
      this.describeArea(to, { aliases, ...(floor !== undefined && { floor }) });
    }
    for (const listener of this.#listeners) listener();
  }

  /** Releases a former name of an area, so that another area can get it. Throws STORAGE_FAILED if the write fails. */
  freeArea(name: string): void {
    const today = this.areaToday(name);
    this.#setFormer(areaKey(name), null);
    const { aliases, ...rest } = this.areaNames(today);
    this.describeArea(today, { ...rest, aliases: aliases.filter((one) => areaKey(one) !== areaKey(name)) });
    for (const listener of this.#listeners) listener();
  }

  /** Sets the aliases of a device; an empty list removes all. Throws STORAGE_FAILED if the write fails. */
  setDeviceAliases(device: string, aliases: readonly string[]): readonly string[] {
    const kept = distinct(aliases);
    this.#write(DEVICES, device, kept.length === 0 ? null : [...kept]);
    if (kept.length === 0) this.#devices.delete(device);
    else this.#devices.set(device, kept);
    this.#changed();
    return kept;
  }

  /** Sets the floor and the aliases of an area. Throws STORAGE_FAILED if the write fails. */
  describeArea(area: string, { floor, aliases }: AreaNames): AreaNames {
    const names: AreaNames = { aliases: distinct(aliases), ...(floor !== undefined && { floor: givenName(floor) }) };
    const isEmpty = names.aliases.length === 0 && names.floor === undefined;
    const key = areaKey(area);
    this.#write(AREAS, key, isEmpty ? null : { ...names, aliases: [...names.aliases] });
    if (isEmpty) this.#areas.delete(key);
    else this.#areas.set(key, names);
    this.#changed();
    return names;
  }

  #setFormer(key: string, former: FormerArea | null): void {
    this.#write(FORMER_AREAS, key, former && { ...former });
    if (former) this.#formerAreas.set(key, former);
    else this.#formerAreas.delete(key);
    this.#changed();
  }

  #write(space: string, key: string, value: Json): void {
    if (value === null) this.#store.delete(space, key);
    else this.#store.set(space, key, value);
  }

  #changed(): void {
    this.#revision++;
    for (const listener of this.#changeListeners) listener();
  }
}

function distinct(texts: readonly string[]): readonly string[] {
  const trimmed = texts.map((text) => givenName(text)).filter((text) => text !== '');
  return [...new Map(trimmed.map((text) => [text.toLowerCase(), text])).values()];
}

/** Parses stored names of an area. Ignores unknown parts, which another version may have written. */
function parseAreaNames(value: Json): AreaNames {
  if (!isJsonObject(value)) return NO_NAMES;
  return { aliases: parseTexts(value.aliases ?? []), ...(typeof value.floor === 'string' && { floor: value.floor }) };
}

function parseFormerArea(value: Json): FormerArea | undefined {
  if (!isJsonObject(value) || typeof value.today !== 'string') return undefined;
  return { today: value.today, isJoined: value.isJoined === true };
}

function parseTexts(value: Json): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
