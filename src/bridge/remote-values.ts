import type { MeshPorts } from '../calls/mesh-ports.ts';
import type { ToolCaller } from '../calls/request-and-answer.ts';
import type { TokenAuthority } from '../core/auth/principal.ts';
import { type Clock, pause } from '../core/clock.ts';
import { toAtmoError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { BridgeEntry } from './bridge-entry.ts';
import type { BridgeStore } from './bridge-store.ts';
import { type HeldToken, type Needs, renewedTokens } from './bridge-tokens.ts';
import { remoteSensors } from './thing-finder.ts';

/** Agent as which this hub reads the chosen things of other hubs. */
const READER = 'bridge';
const RETRY_MS = 5_000;
/** Largest number of subjects of one subscription (docs/mesh.cddl). */
const MAX_SUBJECTS = 64;

interface RemoteValuesParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tokens: TokenAuthority;
  readonly store: BridgeStore;
  readonly pipeline: Pick<ToolCaller, 'call'>;
  readonly mesh: Pick<MeshPorts, 'view' | 'events'>;
}

/** Called with each value of a sensor of another hub. */
type OnValue = (hub: string, sensor: string, value: Json) => void;

/** Follows the sensors of the chosen things of all other hubs. */
export class FollowedHubs implements Disposable {
  readonly #parts: RemoteValuesParts;
  readonly #onValue: OnValue;
  #hubs: readonly RemoteValues[] = [];

  constructor(parts: RemoteValuesParts, onValue: OnValue) {
    this.#parts = parts;
    this.#onValue = onValue;
  }

  /** Follows what is chosen now, and nothing of what was chosen before. Replaces tokens that end soon. */
  follow(things: readonly BridgeEntry[]): void {
    this[Symbol.dispose]();
    const byHub = Map.groupBy(
      things.filter(({ thing }) => thing.hub !== undefined),
      ({ thing }) => thing.hub ?? '',
    );
    for (const hub of this.#parts.store.readerHubs()) if (!byHub.has(hub)) this.#endReader(hub);
    this.#hubs = [...byHub.keys()].map((hub) => new RemoteValues(this.#parts, hub, this.#onValue));
    for (const hub of this.#hubs) hub.follow(byHub.get(hub.id) ?? []);
  }

  [Symbol.dispose](): void {
    for (const hub of this.#hubs) hub[Symbol.dispose]();
    this.#hubs = [];
  }

  /** Ends the tokens with which this hub read things of a hub of which nothing is bridged any more. */
  #endReader(hub: string): void {
    const { store, tokens } = this.#parts;
    const held = store.readerTokens(hub);
    store.putReaderTokens(hub, []);
    for (const { id } of held) tokens.revoke(id);
  }
}

/** Follows the sensors of the chosen things of one other hub, as an agent that may only read these. */
class RemoteValues implements Disposable {
  readonly #parts: RemoteValuesParts;
  /** Id of the other hub. */
  readonly id: string;
  readonly #onValue: OnValue;
  readonly #ended = new AbortController();
  #sensors: ReadonlySet<string> = new Set();

  constructor(parts: RemoteValuesParts, hub: string, onValue: OnValue) {
    this.#parts = parts;
    this.id = hub;
    this.#onValue = onValue;
  }

  /** Reads the sensors now and at every change, until disposed. */
  follow(things: readonly BridgeEntry[]): void {
    this.#sensors = new Set(things.flatMap(({ thing }) => Object.values(thing.sensors)));
    const held = this.#tokensFor(things);
    for (const token of held) this.#repeat(token).catch((thrown: unknown) => this.#log(thrown));
  }

  [Symbol.dispose](): void {
    this.#ended.abort();
  }

  #tokensFor(things: readonly BridgeEntry[]): readonly HeldToken[] {
    const { store, tokens, clock } = this.#parts;
    const before = store.readerTokens(this.id);
    const after = renewedTokens({ tokens, clock }, READER, { held: before, needs: readNeeds(things) });
    store.putReaderTokens(this.id, after);
    for (const { id } of before) if (!after.some((token) => token.id === id)) tokens.revoke(id);
    return after;
  }

  /** Subscribes, and subscribes again after a while whenever the hub could not be reached. */
  async #repeat(token: HeldToken): Promise<void> {
    const { signal } = this.#ended;
    let problem = '';
    while (!signal.aborted) {
      if (this.#isReachable()) {
        const error = await this.#subscribe(token).catch((thrown: unknown) => toAtmoError(thrown));
        if (error && error.message !== problem) this.#parts.logger.info('bridge.not_followed', { hub: this.id, problem: error.message });
        problem = error?.message ?? '';
      }
      await pause(this.#parts.clock, RETRY_MS, signal);
    }
  }

  async #subscribe(token: HeldToken): Promise<undefined> {
    const { mesh, tokens } = this.#parts;
    const principal = tokens.principalOf(token.text);
    const devices = token.permissions.map((permission) => permission.replace(/^sensor:read:|\/\*$/g, ''));
    const sensors = [...this.#sensors].filter((sensor) => devices.some((device) => sensor.startsWith(`${device}/`)));
    const refresh = () => void this.#read(token, devices).catch((thrown: unknown) => this.#log(thrown));
    const attempt = new AbortController();
    const signal = AbortSignal.any([this.#ended.signal, attempt.signal]);
    const subscribe = (subjects: readonly string[]) =>
      mesh.events.subscribe(this.id, { principal, types: ['sensor.reading'], subjects, onGap: refresh, signal }, ({ subject, data }) =>
        this.#take(subject, data.value ?? null),
      );
    try {
      const subscribed = Promise.all(chunks(sensors, MAX_SUBJECTS).map(subscribe));
      refresh();
      await subscribed;
    } finally {
      // If one subscription has ended, all are made anew. None of them may then be there twice.
      attempt.abort();
    }
    return undefined;
  }

  async #read(token: HeldToken, devices: readonly string[]): Promise<void> {
    const { pipeline, tokens, logger } = this.#parts;
    for (const device of devices) {
      const answer = await pipeline.call({
        principal: tokens.principalOf(token.text),
        tool: 'core:list_sensors',
        params: { device, limit: 100 },
        routing: { only_nodes: [this.id] },
      });
      if (answer.status === 'error') logger.info('bridge.not_read', { hub: this.id, device, problem: answer.error.message });
      else for (const { id, value } of remoteSensors(answer.result, device)) this.#take(id, value);
    }
  }

  /** The other hub may send more than was requested. Only the values of chosen sensors are kept. */
  #take(sensor: string, value: Json): void {
    if (this.#sensors.has(sensor)) this.#onValue(this.id, sensor, value);
  }

  #log(thrown: unknown): void {
    this.#parts.logger.info('bridge.not_followed', { hub: this.id, problem: toAtmoError(thrown).message });
  }

  #isReachable(): boolean {
    return this.#parts.mesh.view.peers().some(({ id, isReachable }) => id === this.id && isReachable);
  }
}

function chunks(texts: readonly string[], size: number): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(texts.length / size) }, (_, index) => texts.slice(index * size, (index + 1) * size));
}

function readNeeds(things: readonly BridgeEntry[]): Needs {
  const devices = things.flatMap(({ thing }) => (thing.device === undefined ? [] : [thing.device]));
  return new Map([...new Set(devices)].map((device) => [device, { permissions: [`sensor:read:${device}/*`] }]));
}
