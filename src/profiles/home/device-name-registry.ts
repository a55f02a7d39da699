import type { Device } from '../../core/devices/device-model.ts';
import { foldedName } from '../../core/devices/device-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { ClaimedDeviceNames } from '../../tools/builtin/device-name-tools.ts';
import { hashedName, plainPrefix, plainText, toolName } from './device-tool-names.ts';

/** Device id → its names. */
const SPACE = 'device.names';
const STATE = 'device.names.state';
const OPENED = 'opened';
const READINGS_OPENED = 'readings-opened';
/** A device that changes its own name without end takes no more names than this away from others. */
const MAX_NAMES = 32;

/** A tool of a device, before it has a name. */
export interface ToolToName {
  /** What it is on the device, whatever it is called. */
  readonly key: string;
  readonly action: string;
  /** Short forms of the action, and what it was called by hubs before this one kept names. */
  readonly shortForms: readonly string[];
}

/** The name of a tool, and all others that mean it too. */
export interface NamedTool {
  readonly name: string;
  readonly aliases: readonly string[];
}

interface PrefixClaim {
  /** What the device would have been called if it were alone. */
  readonly plain: string;
  readonly prefix: string;
}

/** Each list begins with what was taken last. */
interface NameRecord {
  readonly prefixes: readonly PrefixClaim[];
  /** Key of a tool → its names. */
  readonly tools: Readonly<Record<string, readonly string[]>>;
  /** What people called the device. */
  readonly names: readonly string[];
  /** Key of a reading → the path in its id. */
  readonly readings: Readonly<Record<string, string>>;
}

/** A reading of a device, before it has an id. */
export interface ReadingToName {
  readonly key: string;
  readonly path: string;
  readonly endpoint: number;
}

/** A long action leaves room for two digits of a number: beyond so many namesakes a hash tells them apart. */
const MOST_NUMBERED = 50;

const NO_NAMES: NameRecord = { prefixes: [], tools: {}, names: [], readings: {} };

/**
 * Who has which name, for ever and on the disk: the first device that takes the beginning of a tool name, or a whole one, keeps
 * it through renames, restarts and its own removal. Whoever wants a taken one gets another. Only the owner frees names.
 */
export class DeviceNameRegistry {
  readonly #store: KeyValueStore;
  readonly #records = new Map<DeviceId, NameRecord>();
  readonly #prefixes = new Map<string, DeviceId>();
  /** Tool name → `<device id> <tool key>`. */
  readonly #tools = new Map<string, string>();
  readonly #unkept = new Set<DeviceId>();

  constructor(store: KeyValueStore) {
    this.#store = store;
    for (const { key, value } of store.entries(SPACE)) this.#enter(key as DeviceId, recordOf(value));
  }

  /** False until the devices of a hub that kept no names have taken those that they had. */
  get isOpen(): boolean {
    return this.#store.get(STATE, OPENED) !== undefined;
  }

  /** False until the readings of a hub that kept no ids of them have those that they had. */
  get hasReadings(): boolean {
    return this.#store.get(STATE, READINGS_OPENED) !== undefined;
  }

  open(): void {
    for (const state of [OPENED, READINGS_OPENED]) if (this.#store.get(STATE, state) === undefined) this.#store.set(STATE, state, true);
  }

  /** Lets a device have what it was called before names were kept, as far as no other one has it. `save` writes it. */
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
   * The names of a device's tools by their keys; what it needs for them is taken for ever. `others` are the prefixes of its
   * neighbours, from which shortened names have to differ. `save` writes what is new.
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
   * The paths of a device's readings by their keys, each for ever: history, grants, rules and programs elsewhere go by the ids that are
   * made of them. A reading whose path another one has or had gets the number of its endpoint behind it. `save` writes what is new.
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

  /** Writes the names of a device where they changed. STORAGE_FAILED: they count until the hub stops, and the next call tries again. */
  save(device: DeviceId): void {
    if (!this.#unkept.has(device)) return;
    this.#store.set(SPACE, device, this.#recordOf(device) as unknown as JsonObject);
    this.#unkept.delete(device);
  }

  /** The present beginning of a device's tool names; undefined for one that never had any. */
  prefixOf(device: DeviceId): string | undefined {
    return this.#records.get(device)?.prefixes[0]?.prefix;
  }

  /** The device that has the prefix that this one's name would give; undefined where it has that itself. */
  holderOfWanted(device: Device): DeviceId | undefined {
    const holder = this.#prefixes.get(plainPrefix(device));
    return holder === device.id ? undefined : holder;
  }

  /** All names of a device, those of today first; undefined for one that never had any. */
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

  /** The names of every device that ever had some. */
  all(): readonly ClaimedDeviceNames[] {
    return [...this.#records.keys()].flatMap((device) => this.namesOf(device) ?? []);
  }

  /**
   * The device that has a name, whether it is the beginning of its tools' names, one of these, or what people called it; undefined
   * where nobody, or more than one, has it.
   */
  findHolder(name: string): DeviceId | undefined {
    const holder = this.#prefixes.get(name) ?? this.holderOf(name);
    if (holder !== undefined) return holder;
    const called = [...this.#records].filter(([, { names }]) => names.some((one) => foldedName(one) === foldedName(name)));
    return called.length === 1 ? called[0]?.[0] : undefined;
  }

  /**
   * Takes a former name away from the device that has it, with the names of tools that begin with it, so that others may take them.
   * What it is called today stays its own while `isHere`; of a removed device all names can go. What went; nothing where it is
   * called so today. Its id stands for all names of a removed device. STORAGE_FAILED.
   */
  free(device: DeviceId, name: string, isHere: boolean): readonly string[] {
    const { after, freed } = this.#without(device, name, isHere);
    if (!after) return this.#forget(device);
    this.#change(device, after);
    this.save(device);
    return freed;
  }

  /** What `free` would take away. */
  wouldFree(device: DeviceId, name: string, isHere: boolean): readonly string[] {
    return this.#without(device, name, isHere).freed;
  }

  /** The names of a device without one, and what goes with it; no record where all go. */
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

  /** Gives the names of a device to the one that it turned out to be. STORAGE_FAILED. */
  merge(from: DeviceId, to: DeviceId): void {
    const [gone, kept] = [this.#recordOf(from), this.#recordOf(to)];
    this.#forget(from);
    const keys = distinct([...Object.keys(kept.tools), ...Object.keys(gone.tools)]);
    const paths = new Set(Object.values(kept.readings));
    const readings = Object.entries(gone.readings).filter(([, path]) => !paths.has(path));
    this.#change(to, {
      prefixes: [...kept.prefixes, ...gone.prefixes],
      tools: Object.fromEntries(keys.map((key) => [key, distinct([...(kept.tools[key] ?? []), ...(gone.tools[key] ?? [])])])),
      names: distinct([...kept.names, ...gone.names]),
      readings: { ...Object.fromEntries(readings), ...kept.readings },
    });
    this.save(to);
  }

  /** What people called a device before, as it was written. */
  formerNames(device: DeviceId): readonly string[] {
    return this.#records.get(device)?.names.slice(1) ?? [];
  }

  /** The device that a tool name belongs to, whether the device is here or was removed. */
  holderOf(tool: string): DeviceId | undefined {
    return this.#tools.get(tool)?.split(' ', 1)[0] as DeviceId | undefined;
  }

  #forget(device: DeviceId): readonly string[] {
    const freed = textsIn(this.#recordOf(device));
    this.#store.delete(SPACE, device);
    this.#leave(device);
    this.#unkept.delete(device);
    return freed;
  }

  #prefixFor(device: Device): { readonly prefix: string; readonly prefixes: readonly PrefixClaim[] } {
    const { prefixes } = this.#recordOf(device.id);
    const plain = plainPrefix(device);
    const own = prefixes.find((claim) => claim.plain === plain);
    const isFree = (prefix: string) => (this.#prefixes.get(prefix) ?? device.id) === device.id;
    const [newest] = prefixes;
    // What was claimed stays claimed: rules and automations go by it. A device that changes its name for ever gets no more of them.
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
    this.#unkept.add(device);
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

function textsIn({ prefixes, tools, names }: NameRecord): readonly string[] {
  return distinct([...names, ...prefixes.map(({ prefix }) => prefix), ...Object.values(tools).flat()]);
}

/** The name that a prefix gives, or one behind it with a number: `lamp`, `lamp_2`, … It ends because `nameOf` runs out of no names. */
function firstFree(prefix: string, nameOf: (prefix: string, number: number) => string, isFree: (name: string) => boolean): string {
  for (let number = 1; ; number++) {
    const name = nameOf(number === 1 ? prefix : `${prefix}_${number}`, number);
    if (isFree(name)) return name;
  }
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

/** What another version wrote is taken as far as it is understood. */
function recordOf(value: Json): NameRecord {
  if (!isJsonObject(value)) return NO_NAMES;
  const { prefixes, tools, names, readings } = value;
  const claims = Array.isArray(prefixes) ? prefixes.filter(isJsonObject) : [];
  return {
    prefixes: claims.flatMap(({ plain, prefix }) => (typeof plain === 'string' && typeof prefix === 'string' ? [{ plain, prefix }] : [])),
    tools: isJsonObject(tools) ? Object.fromEntries(Object.entries(tools).map(([key, list]) => [key, textsOf(list)])) : {},
    names: textsOf(names),
    readings: isJsonObject(readings)
      ? Object.fromEntries(Object.entries(readings).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
      : {},
  };
}

function textsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
