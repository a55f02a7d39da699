import { areaKey } from '../../core/devices/device-facts.ts';
import type { AreaNames, HomeNames } from '../../core/devices/home-names.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';

const DEVICES = 'home-names/devices';
const AREAS = 'home-names/areas';
const NO_NAMES: AreaNames = { aliases: [] };

/** Names that people gave to devices and areas, kept in the hub's state. */
export class KeptHomeNames implements HomeNames {
  readonly #store: KeyValueStore;
  readonly #devices = new Map<string, readonly string[]>();
  readonly #areas = new Map<string, AreaNames>();
  #revision = 0;

  constructor(store: KeyValueStore) {
    this.#store = store;
    for (const { key, value } of store.entries(DEVICES)) this.#devices.set(key, textsOf(value));
    for (const { key, value } of store.entries(AREAS)) this.#areas.set(key, areaNamesOf(value));
  }

  get revision(): number {
    return this.#revision;
  }

  deviceAliases(device: string): readonly string[] {
    return this.#devices.get(device) ?? NO_NAMES.aliases;
  }

  areaNames(area: string): AreaNames {
    return this.#areas.get(areaKey(area)) ?? NO_NAMES;
  }

  /** Replaces what a device is called beside its name; an empty list takes all away. STORAGE_FAILED. */
  setDeviceAliases(device: string, aliases: readonly string[]): readonly string[] {
    const kept = distinct(aliases);
    this.#keep(DEVICES, device, kept.length === 0 ? null : [...kept]);
    if (kept.length === 0) this.#devices.delete(device);
    else this.#devices.set(device, kept);
    return kept;
  }

  /** Replaces the floor and the other names of an area. STORAGE_FAILED. */
  describeArea(area: string, { floor, aliases }: AreaNames): AreaNames {
    const names: AreaNames = { aliases: distinct(aliases), ...(floor !== undefined && { floor: floor.trim() }) };
    const isEmpty = names.aliases.length === 0 && names.floor === undefined;
    const key = areaKey(area);
    this.#keep(AREAS, key, isEmpty ? null : { ...names, aliases: [...names.aliases] });
    if (isEmpty) this.#areas.delete(key);
    else this.#areas.set(key, names);
    return names;
  }

  #keep(space: string, key: string, value: Json): void {
    if (value === null) this.#store.delete(space, key);
    else this.#store.set(space, key, value);
    this.#revision++;
  }
}

function distinct(texts: readonly string[]): readonly string[] {
  const trimmed = texts.map((text) => text.trim()).filter((text) => text !== '');
  return [...new Map(trimmed.map((text) => [text.toLowerCase(), text])).values()];
}

/** What another version wrote is taken as far as it is understood. */
function areaNamesOf(value: Json): AreaNames {
  if (!isJsonObject(value)) return NO_NAMES;
  return { aliases: textsOf(value.aliases ?? []), ...(typeof value.floor === 'string' && { floor: value.floor }) };
}

function textsOf(value: Json): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
