import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, present } from '../core/json.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { copyJson } from '../tools/schema/plain-json.ts';
import { type BridgeEntry, SUSPENSIONS } from './bridge-entry.ts';
import { type HeldToken, parseTokens } from './bridge-tokens.ts';
import { parseThing } from './bridged-things.ts';

const THINGS = 'bridge.things';
const ECOSYSTEMS = 'bridge.ecosystems';
const READERS = 'bridge.readers';
const NUMBERS = 'bridge.numbers';

/** A fabric that has commissioned a bridge, with the agent as which it calls. `label` was chosen by the other side. */
export interface Ecosystem {
  /** Id of the agent: `ecosystem-1`. */
  readonly agentId: string;
  readonly bridge: number;
  readonly fabricIndex: number;
  readonly identity: string;
  readonly vendorId: number;
  readonly label: string;
  readonly joinedAtMs: number;
  /** True if it was removed and its fabric is still on the bridge. It may do nothing, and gets no tokens again. */
  readonly isEnded?: true;
  readonly tokens: readonly HeldToken[];
}

/** Keeps the chosen things, the ecosystems and their tokens in the hub's state. A change is on the disk when the method returns. */
export class BridgeStore {
  readonly #store: KeyValueStore;
  /** Kept in memory, since each command of an ecosystem asks for them. */
  #ecosystems: readonly Ecosystem[] | undefined;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  /** Returns the chosen things, sorted by bridge and name. */
  things(): readonly BridgeEntry[] {
    const found = this.#store.entries(THINGS).flatMap(({ key, value }) => parseEntry(key, value) ?? []);
    return found.toSorted((a, b) => a.bridge - b.bridge || a.thing.name.localeCompare(b.thing.name));
  }

  putThing({ id, ...entry }: BridgeEntry): void {
    this.#store.set(THINGS, id, copyJson(entry));
  }

  deleteThing(id: string): void {
    this.#store.delete(THINGS, id);
  }

  /** Returns the ecosystems, sorted by the id of their agent. */
  ecosystems(): readonly Ecosystem[] {
    this.#ecosystems ??= this.#store.entries(ECOSYSTEMS).flatMap(({ key, value }) => parseEcosystem(key, value) ?? []);
    return this.#ecosystems;
  }

  putEcosystem({ agentId, ...ecosystem }: Ecosystem): void {
    this.#store.set(ECOSYSTEMS, agentId, copyJson(ecosystem));
    this.#ecosystems = undefined;
  }

  deleteEcosystem(agentId: string): void {
    this.#store.delete(ECOSYSTEMS, agentId);
    this.#ecosystems = undefined;
  }

  /** Returns an id for the agent of a new ecosystem. An id is never used again, so that no rule for one holds for another. */
  nextAgentId(isTaken: (agentId: string) => boolean): string {
    const last = this.#store.get(NUMBERS, 'last-ecosystem');
    let number = (typeof last === 'number' ? last : 0) + 1;
    while (isTaken(`ecosystem-${number}`)) number++;
    this.#store.set(NUMBERS, 'last-ecosystem', number);
    return `ecosystem-${number}`;
  }

  /** Returns the UDP port that a bridge had last. */
  portOf(bridge: number): number | undefined {
    const port = this.#store.get(NUMBERS, `port-${bridge}`);
    return typeof port === 'number' ? port : undefined;
  }

  putPort(bridge: number, port: number): void {
    if (this.portOf(bridge) !== port) this.#store.set(NUMBERS, `port-${bridge}`, port);
  }

  /** Returns the tokens with which this hub reads the chosen things of another hub. */
  readerTokens(hub: string): readonly HeldToken[] {
    return parseTokens(this.#store.get(READERS, hub));
  }

  /** Returns the ids of the hubs for which there are such tokens. */
  readerHubs(): readonly string[] {
    return this.#store.entries(READERS).map(({ key }) => key);
  }

  putReaderTokens(hub: string, tokens: readonly HeldToken[]): void {
    if (tokens.length === 0) this.#store.delete(READERS, hub);
    else this.#store.set(READERS, hub, copyJson(tokens));
  }

  /** Returns the chosen thing with this id, key or name. Throws NOT_FOUND, or AMBIGUOUS_DEVICE with the ids if several have the name. */
  requireThing(text: string): BridgeEntry {
    const things = this.things();
    const exact = things.find(({ id, thing }) => id === text || thing.key === text);
    const named = things.filter(({ thing }) => thing.target === text || thing.name.toLowerCase() === text.toLowerCase());
    if (exact) return exact;
    if (named.length > 1) {
      const candidates = named.map(({ thing }) => thing.key);
      throw new AtmoError('AMBIGUOUS_DEVICE', `${JSON.stringify(text)} is the name of ${named.length}: ${candidates.join(', ')}`, {
        candidates,
      });
    }
    if (named[0]) return named[0];
    throw new AtmoError('NOT_FOUND', `${JSON.stringify(text.slice(0, 80))} is not bridged; atmo bridge list shows what is`);
  }

  /** Returns the ecosystem with this agent. Throws NOT_FOUND. */
  requireEcosystem(agentId: string): Ecosystem {
    const found = this.ecosystems().find((one) => one.agentId === agentId && !one.isEnded);
    if (found) return found;
    throw new AtmoError(
      'NOT_FOUND',
      `There is no ecosystem ${JSON.stringify(agentId.slice(0, 80))}; atmo bridge ecosystems shows those that are`,
    );
  }
}

function parseEntry(id: string, value: Json): BridgeEntry | undefined {
  if (!isJsonObject(value)) return undefined;
  const { bridge, endpointNumber: stored } = value;
  const thing = parseThing(value.thing);
  const endpointNumber = typeof stored === 'number' ? stored : undefined;
  const suspended = SUSPENSIONS.find((reason) => reason === value.suspended);
  return thing && typeof bridge === 'number' ? { id, bridge, ...present({ endpointNumber, suspended }), thing } : undefined;
}

function parseEcosystem(agentId: string, value: Json): Ecosystem | undefined {
  if (!isJsonObject(value)) return undefined;
  const { identity, label } = value;
  const numbers = numbersOf(value, ['bridge', 'fabricIndex', 'vendorId', 'joinedAtMs']);
  if (typeof identity !== 'string' || typeof label !== 'string' || !numbers) return undefined;
  const { bridge = 0, fabricIndex = 0, vendorId = 0, joinedAtMs = 0 } = numbers;
  const ended = value.isEnded === true ? ({ isEnded: true } as const) : {};
  return { agentId, bridge, fabricIndex, identity, vendorId, label, joinedAtMs, ...ended, tokens: parseTokens(value.tokens) };
}

function numbersOf(value: JsonObject, names: readonly string[]): Readonly<Record<string, number>> | undefined {
  const found = names.flatMap((name) => (typeof value[name] === 'number' ? [[name, value[name]] as const] : []));
  return found.length === names.length ? Object.fromEntries(found) : undefined;
}
