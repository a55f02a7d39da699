import type { Device } from '../../core/devices/device-model.ts';
import { foldedName } from '../../core/devices/device-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import { type Json, type JsonObject, objectOf, objectsOf, textsOf } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { ClaimedDeviceNames, LackingNames } from '../../tools/names/name-references.ts';
import { hashedName, plainPrefix, plainText, toolName } from './device-tool-names.ts';

const SPACE = 'device.names';
const STATE = 'device.names.state';
const OPENED = 'opened';
const READINGS_OPENED = 'readings-opened';
/** Maximum number of names that one device holds. Without it, a device that keeps changing its name could take any number of names. */
const MAX_NAMES = 32;

/** A tool of a device, before it has a name. */
export interface ToolToName {
  /** Key of the tool on the device; it does not change with the tool's name. */
  readonly key: string;
  readonly action: string;
  /** Short forms of the action, and the tool's names in older hub versions. */
  readonly shortForms: readonly string[];
}

/** The name of a tool, and its aliases. */
export interface NamedTool {
  readonly name: string;
  readonly aliases: readonly string[];
}

interface PrefixClaim {
  /** The prefix made from the device's name. If another device holds it, `prefix` is a different one. */
  readonly plain: string;
  readonly prefix: string;
}

/** The names of a device; each list begins with the newest. */
interface NameRecord {
  readonly prefixes: readonly PrefixClaim[];
  /** The names of each tool by the tool's key. */
  readonly tools: Readonly<Record<string, readonly string[]>>;
  /** Names that people gave the device. */
  readonly names: readonly string[];
  readonly readings: Readonly<Record<string, string>>;
}

/** A reading of a device, before it has an id. */
export interface ReadingToName {
  readonly key: string;
  readonly path: string;
  readonly endpoint: number;
}

/** Highest number in names such as `lamp_2_turn_on`. Further names end in a hash, because long actions leave space for only two digits. */
const MOST_NUMBERED = 50;

const NO_NAMES: NameRecord = { prefixes: [], tools: {}, names: [], readings: {} };

/**
 * Stores the names of all devices permanently. A tool name, or a prefix of tool names, belongs to the first device that uses it. The device
 * keeps it after renames, restarts and its own removal, until the owner frees it. Other devices get different names.
 */
export class DeviceNameRegistry {
  readonly #store: KeyValueStore;
  readonly #records = new Map<DeviceId, NameRecord>();
  readonly #prefixes = new Map<string, DeviceId>();
  /** Tool name → `<device id> <tool key>`. */
  readonly #tools = new Map<string, string>();
  readonly #unsaved = new Set<DeviceId>();

  constructor(store: KeyValueStore) {
    this.#store = store;
    for (const { key, value } of store.entries(SPACE)) this.#enter(key as DeviceId, recordOf(value));
  }

  /** True once the hub has stored the tool names that older hub versions used but did not store. */
  get isOpen(): boolean {
    return this.#store.get(STATE, OPENED) !== undefined;
  }

  /** True once the hub has stored the reading ids that older hub versions used but did not store. */
  get hasReadings(): boolean {
    return this.#store.get(STATE, READINGS_OPENED) !== undefined;
  }

  open(): void {
    for (const state of [OPENED, READINGS_OPENED]) if (this.#store.get(STATE, state) === undefined) this.#store.set(STATE, state, true);
  }

  /** Adds the names that a device had in older hub versions. Omits names that another device holds. `save` writes the added names. */
  adopt(device: Device, prefix: string, tools: ReadonlyMap<string, readonly string[]>): void {
    const before = this.#recordOf(device.id);
    const isFree = (this.#prefixes.get(prefix) ?? device.id) === device.id;
    const prefixes = isFree ? [{ plain: plainPrefix(device), prefix }, ...before.prefixes] : before.prefixes;
    const named = [...tools].map(([key, names]): [string, readonly string[]] => {
      const kept = names.filter((name) => this.#isFree(name, device.id, key));
      return [key, distinct([...kept, ...(before.tools[key] ?? [])])];
    });
    this.#change(device.id, { ...before, prefixes, tools: { ...before.tools, ...Object.fromEntries(named) } });
  }

  /**
   * Assigns permanent names to the tools of a device and returns them by tool key. If a name is too long, its prefix is shortened but stays
   * different from the prefixes in `others`, if possible. `save` writes new names.
   */
  name(device: Device, tools: readonly ToolToName[], others: readonly string[]): ReadonlyMap<string, NamedTool> {
    const { prefix, prefixes } = this.#prefixFor(device);
    const before = this.#recordOf(device.id);
    const taken = new Set<string>();
    const isFree = (key: string) => (name: string) => this.#isFree(name, device.id, key) && !taken.has(name);
    const named = tools.map(({ key, action, shortForms }) => {
      const nameOf = (candidate: string, number: number) =>
        number > MOST_NUMBERED ? hashedName(candidate, action) : toolName(candidate, action, others);
      const name = firstFree(prefix, nameOf, isFree(key));
      taken.add(name);
      return { key, name, shortForms };
    });
    const complete = named.map(({ key, name, shortForms }) => {
      const short = shortForms.map((form) => toolName(prefix, form, others)).filter(isFree(key));
      const aliases = distinct([...short, ...(before.tools[key] ?? [])]).filter((one) => one !== name);
      for (const one of aliases) taken.add(one);
      return { key, name, aliases };
    });
    const kept = Object.fromEntries(complete.map(({ key, name, aliases }) => [key, [name, ...aliases]]));
    const names = distinct([device.name, ...(before.names.length < MAX_NAMES ? before.names : before.names.slice(1))]);
    this.#change(device.id, { ...before, prefixes, tools: { ...before.tools, ...kept }, names });
    return new Map(complete.map(({ key, ...tool }) => [key, tool]));
  }

  /**
   * Assigns paths to the readings of a device and returns them by reading key. Paths are permanent: history, grants, rules and other
   * programs use them in ids. If a path ever belonged to another reading, adds the endpoint number. `save` writes new paths.
   */
  nameReadings(device: DeviceId, readings: readonly ReadingToName[]): ReadonlyMap<string, string> {
    const before = this.#recordOf(device);
    const kept = new Map(Object.entries(before.readings));
    const taken = new Set(kept.values());
    for (const { key, path, endpoint } of readings) {
      if (kept.has(key)) continue;
      const numbered = `${path.split('/', 1)[0]}/${endpoint}`;
      const candidate = (_: string, number: number) => [path, numbered][number - 1] ?? `${numbered}_${number - 1}`;
      const chosen = firstFree(path, candidate, (one) => !taken.has(one));
      kept.set(key, chosen);
      taken.add(chosen);
    }
    this.#change(device, { ...before, readings: Object.fromEntries(kept) });
    return kept;
  }

  /**
   * Writes the names of a device if they changed. Throws STORAGE_FAILED if the write fails: the names then stay valid until the hub stops,
   * and the next call tries to write again.
   */
  save(device: DeviceId): void {
    if (!this.#unsaved.has(device)) return;
    this.#store.set(SPACE, device, this.#recordOf(device) as unknown as JsonObject);
    this.#unsaved.delete(device);
  }

  /** Returns the current prefix of a device's tool names; undefined for a device that never had a prefix. */
  prefixOf(device: DeviceId): string | undefined {
    return this.#records.get(device)?.prefixes[0]?.prefix;
  }

  /** Returns the other device that holds the prefix made from this device's name; undefined if no other device holds it. */
  holderOfWanted(device: Device): DeviceId | undefined {
    const holder = this.#prefixes.get(plainPrefix(device));
    return holder === device.id ? undefined : holder;
  }

  /** Returns all names of a device, the current ones first; undefined for a device that never had a name. */
  namesOf(device: DeviceId): ClaimedDeviceNames | undefined {
    const record = this.#records.get(device);
    if (!record) return undefined;
    return {
      device,
      names: record.names,
      prefixes: record.prefixes.map(({ prefix }) => prefix),
      tools: [...new Set(Object.values(record.tools).flat())],
    };
  }

  all(): readonly ClaimedDeviceNames[] {
    return [...this.#records.keys()].flatMap((device) => this.namesOf(device) ?? []);
  }

  /**
   * Returns the device that a name refers to. The name can be a prefix of tool names, a tool name or a device name. Returns undefined if no
   * device has the name, or if several devices have it as their device name.
   */
  findHolder(name: string): DeviceId | undefined {
    const holder = this.#prefixes.get(name) ?? this.holderOf(name);
    if (holder !== undefined) return holder;
    const called = [...this.#records].filter(([, { names }]) => names.some((one) => foldedName(one) === foldedName(name)));
    return called.length === 1 ? called[0]?.[0] : undefined;
  }

  /**
   * Frees a former name of a device, and the tool names that begin with it, so that other devices can use them. Returns the freed names. If
   * `isHere` is true, the device exists and its current names stay. If `isHere` is false, the device was removed and any name can be freed;
   * if `name` is the device's id, all names are freed. Throws STORAGE_FAILED if the record cannot be written.
   */
  free(device: DeviceId, name: string, isHere: boolean): readonly string[] {
    const { after, freed } = this.#without(device, name, isHere);
    if (!after) return this.#forget(device);
    this.#change(device, after);
    this.save(device);
    return freed;
  }

  /** Returns the names that `free` would free. */
  wouldFree(device: DeviceId, name: string, isHere: boolean): readonly string[] {
    return this.#without(device, name, isHere).freed;
  }

  /** Returns the record as `free` leaves it, and the freed names. The record is undefined if `name` is the id of a removed device. */
  #without(device: DeviceId, name: string, isHere: boolean): { readonly after: NameRecord | undefined; readonly freed: readonly string[] } {
    const before = this.#recordOf(device);
    if (name === device && !isHere) return { after: undefined, freed: textsIn(before) };
    const ofToday = isHere ? 1 : 0;
    const claim = before.prefixes.slice(ofToday).find(({ prefix }) => prefix === name);
    const goes = (one: string) => one === name || (claim !== undefined && one.startsWith(`${name}_`));
    const tools = Object.entries(before.tools).map(([key, names]): [string, readonly string[]] => [
      key,
      names.filter((one, index) => index < ofToday || !goes(one)),
    ]);
    const names = before.names.filter(
      (one, index) => index < ofToday || !(foldedName(one) === foldedName(name) || plainText(one) === claim?.plain),
    );
    const after = { ...before, prefixes: before.prefixes.filter((one) => one !== claim), tools: Object.fromEntries(tools), names };
    const left = new Set(textsIn(after));
    return { after, freed: textsIn(before).filter((one) => !left.has(one)) };
  }

  /**
   * Moves the names of `from` to `to`: two ids of the same device, or a device and the one that it replaces. A tool or reading of `to` whose
   * endpoint `from` lacks goes on as that of another endpoint with the same cluster and action. Throws STORAGE_FAILED if the records cannot
   * be written.
   */
  merge(from: DeviceId, to: DeviceId): void {
    const [gone, kept] = [this.#recordOf(from), this.#recordOf(to)];
    const tools = withSuccessors(kept.tools, gone.tools);
    const keptReadings = withSuccessors(kept.readings, gone.readings);
    const keys = distinct([...Object.keys(tools), ...Object.keys(gone.tools)]);
    const paths = new Set(Object.values(keptReadings));
    const readings = Object.entries(gone.readings).filter(([, path]) => !paths.has(path));
    this.#leave(from);
    this.#unsaved.delete(from);
    this.#change(to, {
      prefixes: [...kept.prefixes, ...gone.prefixes],
      tools: Object.fromEntries(keys.map((key) => [key, distinct([...(tools[key] ?? []), ...(gone.tools[key] ?? [])])])),
      names: distinct([...kept.names, ...gone.names]),
      readings: { ...Object.fromEntries(readings), ...keptReadings },
    });
    this.save(to);
    // Deleted last: a hub that is killed before has both records and merges them again.
    this.#store.delete(SPACE, from);
  }

  /** Returns the key of the tool of `present` that does what a tool of `former` did, by the key of that. Lacks tools without counterpart. */
  successors(former: DeviceId, present: DeviceId): ReadonlyMap<string, string> {
    return successorsOf(Object.keys(this.#recordOf(former).tools), Object.keys(this.#recordOf(present).tools));
  }

  /** Returns the names of tools and the paths of readings that `from` has and `to` has no counterpart for, by the names of today. */
  lacking(from: DeviceId, to: DeviceId): LackingNames {
    const [old, replacement] = [this.#recordOf(from), this.#recordOf(to)];
    const without = (former: object, present: object) => {
      const successors = successorsOf(Object.keys(former), Object.keys(present));
      return Object.keys(former).filter((key) => !successors.has(key));
    };
    const toolKeys = without(old.tools, replacement.tools);
    return {
      toolKeys,
      tools: toolKeys.flatMap((key) => old.tools[key] ?? []),
      readings: without(old.readings, replacement.readings).flatMap((key) => old.readings[key] ?? []),
    };
  }

  formerNames(device: DeviceId): readonly string[] {
    return this.#records.get(device)?.names.slice(1) ?? [];
  }

  /** Returns the device that holds a tool name; it may be a removed device. */
  holderOf(tool: string): DeviceId | undefined {
    return this.#tools.get(tool)?.split(' ', 1)[0] as DeviceId | undefined;
  }

  #forget(device: DeviceId): readonly string[] {
    const freed = textsIn(this.#recordOf(device));
    this.#store.delete(SPACE, device);
    this.#leave(device);
    this.#unsaved.delete(device);
    return freed;
  }

  #prefixFor(device: Device): { readonly prefix: string; readonly prefixes: readonly PrefixClaim[] } {
    const { prefixes } = this.#recordOf(device.id);
    const plain = plainPrefix(device);
    const own = prefixes.find((claim) => claim.plain === plain);
    const isFree = (prefix: string) => (this.#prefixes.get(prefix) ?? device.id) === device.id;
    const [newest] = prefixes;
    // Claims are permanent, because rules and automations refer to them. So the number of claims of a device is limited.
    if (!own && newest && prefixes.length >= MAX_NAMES) return { prefix: newest.prefix, prefixes };
    const claim = own ?? { plain, prefix: firstFree(plain, (candidate) => candidate, isFree) };
    return { prefix: claim.prefix, prefixes: [claim, ...prefixes.filter((one) => one !== own)] };
  }

  #isFree(name: string, device: DeviceId, key: string): boolean {
    const holder = this.#tools.get(name);
    return holder === undefined || holder === `${device} ${key}`;
  }

  #recordOf(device: DeviceId): NameRecord {
    return this.#records.get(device) ?? NO_NAMES;
  }

  #change(device: DeviceId, record: NameRecord): void {
    const before = this.#records.get(device);
    if (before && JSON.stringify(before) === JSON.stringify(record)) return;
    this.#leave(device);
    this.#enter(device, record);
    this.#unsaved.add(device);
  }

  #enter(device: DeviceId, record: NameRecord): void {
    this.#records.set(device, record);
    for (const { prefix } of record.prefixes) this.#prefixes.set(prefix, device);
    for (const [key, names] of Object.entries(record.tools)) for (const name of names) this.#tools.set(name, `${device} ${key}`);
  }

  #leave(device: DeviceId): void {
    const { prefixes, tools } = this.#recordOf(device);
    for (const { prefix } of prefixes) this.#prefixes.delete(prefix);
    for (const name of Object.values(tools).flat()) this.#tools.delete(name);
    this.#records.delete(device);
  }
}

/** Returns a record of a device by the keys of the device that takes its place. What has no counterpart keeps its key. */
function withSuccessors<Value>(former: Readonly<Record<string, Value>>, present: object): Readonly<Record<string, Value>> {
  const successors = successorsOf(Object.keys(former), Object.keys(present));
  return Object.fromEntries(Object.entries(former).map(([key, value]) => [successors.get(key) ?? key, value]));
}

/**
 * Returns the key of the counterpart of each key of a former device. Keys are `endpoint/cluster/…`. Where both devices have as many endpoints
 * with the rest of a key, these match in order; otherwise only equal keys match, since nobody knows which endpoint went missing.
 */
function successorsOf(former: readonly string[], present: readonly string[]): ReadonlyMap<string, string> {
  const rest = (key: string) => key.slice(key.indexOf('/') + 1);
  const byEndpoint = (keys: readonly string[] = []) => keys.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  const presentBy = Map.groupBy(present, rest);
  const pairs = [...Map.groupBy(former, rest)].flatMap(([own, keys]) => {
    const others = byEndpoint(presentBy.get(own));
    if (others.length !== keys.length) return keys.filter((key) => others.includes(key)).map((key) => [key, key] as const);
    return byEndpoint(keys).map((key, index) => [key, others[index] ?? key] as const);
  });
  return new Map(pairs);
}

function textsIn({ prefixes, tools, names }: NameRecord): readonly string[] {
  return distinct([...names, ...prefixes.map(({ prefix }) => prefix), ...Object.values(tools).flat()]);
}

/** Returns the first free name with a prefix: `lamp`, `lamp_2`, … The loop ends, because some number is always free. */
function firstFree(prefix: string, nameOf: (prefix: string, number: number) => string, isFree: (name: string) => boolean): string {
  for (let number = 1; ; number++) {
    const name = nameOf(number === 1 ? prefix : `${prefix}_${number}`, number);
    if (isFree(name)) return name;
  }
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

/** Parses a stored record and drops fields that only other hub versions use. */
function recordOf(value: Json): NameRecord {
  const { prefixes, tools, names, readings } = objectOf(value);
  const isText = (entry: [string, Json]): entry is [string, string] => typeof entry[1] === 'string';
  return {
    prefixes: objectsOf(prefixes).flatMap(({ plain, prefix }) =>
      typeof plain === 'string' && typeof prefix === 'string' ? [{ plain, prefix }] : [],
    ),
    tools: Object.fromEntries(Object.entries(objectOf(tools)).map(([key, list]) => [key, textsOf(list)])),
    names: textsOf(names),
    readings: Object.fromEntries(Object.entries(objectOf(readings)).filter(isText)),
  };
}
