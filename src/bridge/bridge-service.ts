import { randomBytes } from 'node:crypto';
import type { MeshPorts } from '../calls/mesh-ports.ts';
import type { ToolCaller } from '../calls/request-and-answer.ts';
import type { TokenAuthority } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import {
  type BridgeCodes,
  type BridgedEndpoint,
  type BridgedValues,
  type BridgeNode,
  type BridgeNodes,
  type EcosystemCommand,
  MAX_BRIDGED_PER_NODE,
} from '../core/devices/matter-bridge.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { HubEvent } from '../core/events.ts';
import type { HubProblems } from '../core/health.ts';
import type { SensorId } from '../core/ids.ts';
import { type Json, present } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import type { BridgeEntry, BridgeStore, Ecosystem } from './bridge-store.ts';
import { requireOneToken } from './bridge-tokens.ts';
import { type BridgedThing, callFor, valuesFrom } from './bridged-things.ts';
import { Ecosystems } from './ecosystems.ts';
import { RemoteValues } from './remote-values.ts';
import type { ThingFinder, ThingQuery } from './thing-finder.ts';

/** Time limit of a command. Ecosystems give up after about ten seconds. */
const COMMAND_LIMIT_MS = 8_000;
const DAY_MS = 86_400_000;
/** How long a scene is shown as on. */
const SCENE_ON_MS = 1_000;

/** What the bridges use of the hub. */
export interface BridgeServiceParts extends Pick<HubContext, 'clock' | 'logger' | 'events'> {
  readonly problems: Pick<HubProblems, 'raise'>;
  readonly store: BridgeStore;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly tokens: TokenAuthority;
  readonly pipeline: Pick<ToolCaller, 'call'>;
  readonly mesh: Pick<MeshPorts, 'view' | 'events'>;
  readonly finder: ThingFinder;
  readonly onScenesChanged: (listener: (id: string) => void) => () => void;
  readonly nodes: BridgeNodes;
}

/** Presents the chosen things to other Matter ecosystems, and carries out the commands of these as calls of their own agents. */
export class BridgeService implements Service {
  readonly #parts: BridgeServiceParts;
  readonly #hubName: string;
  readonly #ecosystems: Ecosystems;
  readonly #nodes = new Map<number, BridgeNode>();
  readonly #remote = new Map<string, RemoteValues>();
  /** Values of things of other hubs, by hub and sensor. */
  readonly #remoteValues = new Map<string, Json>();
  #things: readonly BridgeEntry[] = [];
  #stops: readonly (() => void)[] = [];
  #cancelRenewal = () => {};
  /** Settles when the last change of the bridges has ended. The next one waits for it. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: BridgeServiceParts, hubName: string) {
    this.#parts = parts;
    this.#hubName = hubName;
    this.#ecosystems = new Ecosystems({ store: parts.store, tokens: parts.tokens, clock: parts.clock });
  }

  /** Starts the bridges that have things or ecosystems. One that cannot start is reported, and the hub runs without it. */
  async start(): Promise<void> {
    const { events, store, tokens } = this.#parts;
    this.#stops = [
      events.listen((event) => this.#onReading(event), ['sensor.reading']),
      events.listen(
        () => this.#showReachability(),
        ['device.reachability', 'device.added', 'device.removed', 'peer.changed', 'mesh.changed'],
      ),
      events.listen(() => this.#refreshThings(), ['device.changed', 'device.added']),
      this.#parts.onScenesChanged(() => this.#refreshThings()),
      tokens.onRevoked((tokenId) => this.#onRevoked(tokenId)),
    ];
    this.#things = store.things();
    const numbers = new Set([...this.#things, ...store.ecosystems()].map(({ bridge }) => bridge));
    for (const number of numbers) await this.#inTurn(() => this.#open(number)).catch((thrown) => this.#report(number, thrown));
    this.#refreshThings();
    this.#renewDaily();
  }

  /** Follows the other hubs, and replaces tokens long before they end. Begins now and repeats each day, for hubs that run for years. */
  #renewDaily(): void {
    this.#soon(1, async () => {
      this.#grantAll();
      this.#followOthers();
    });
    this.#cancelRenewal = this.#parts.clock.after(DAY_MS, () => this.#renewDaily());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelRenewal();
    for (const stop of this.#stops) stop();
    for (const remote of this.#remote.values()) remote[Symbol.dispose]();
    await this.#inTurn(async () => {
      const nodes = [...this.#nodes.values()];
      this.#nodes.clear();
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    });
  }

  things(): readonly BridgeEntry[] {
    return this.#things;
  }

  ecosystems(): readonly Ecosystem[] {
    return this.#ecosystems.list();
  }

  isReachable({ hub, device }: BridgedThing): boolean {
    if (hub === undefined) return device === undefined || this.#sensorReachable(device);
    const peer = this.#parts.mesh.view.peers().find(({ id }) => id === hub);
    return peer?.isReachable === true && peer.devices.some(({ id, isReachable }) => id === device && isReachable);
  }

  /** Puts things on the bridges. Things that are there already stay as they are. Rejects like `ThingFinder.find`. */
  add(query: ThingQuery, { mayBeDangerous }: { readonly mayBeDangerous: boolean }): Promise<readonly BridgeEntry[]> {
    return this.#inTurn(async () => {
      const found = await this.#parts.finder.find(query);
      const dangerous = found.find(({ isDangerous }) => isDangerous);
      if (dangerous && !mayBeDangerous) throw confirmationRequired(dangerous);
      for (const { name, permissions } of found) requireOneToken(name, permissions);
      const added: BridgeEntry[] = [];
      for (const thing of found) added.push(this.#entryOf(thing.key) ?? (await this.#put(thing)));
      this.#grantAll();
      this.#followOthers();
      return added;
    });
  }

  /** Takes a thing from its bridge. The ecosystems lose it. Rejects with NOT_FOUND or AMBIGUOUS_DEVICE. */
  remove(text: string): Promise<BridgeEntry> {
    return this.#inTurn(async () => {
      const entry = this.#parts.store.requireThing(text);
      this.#parts.store.deleteThing(entry.id);
      this.#things = this.#parts.store.things();
      this.#grantAll();
      const { hub, sensors } = entry.thing;
      for (const sensor of Object.values(sensors)) this.#remoteValues.delete(`${hub}/${sensor}`);
      await this.#nodes.get(entry.bridge)?.remove(entry.id);
      await this.#closeUnused(entry.bridge);
      this.#followOthers();
      return entry;
    });
  }

  /** Opens a bridge for commissioning. Rejects with NOT_FOUND if it has no things. */
  openWindow(bridge: number, seconds: number): Promise<BridgeCodes> {
    return this.#inTurn(async () => {
      const node = this.#nodes.get(bridge);
      const openedAtMs = this.#parts.clock.now();
      if (node) this.#parts.store.putWindow(bridge, { openedAtMs, untilMs: openedAtMs + seconds * 1000 });
      if (node) return node.openWindow(seconds);
      throw new AtmoError('NOT_FOUND', `There is no bridge ${bridge}; choose things for it first, with atmo bridge add`);
    });
  }

  /** Removes an ecosystem from its bridge and ends its tokens. Rejects with NOT_FOUND. */
  removeEcosystem(agentId: string): Promise<Ecosystem> {
    const ecosystem = this.#parts.store.requireEcosystem(agentId);
    this.#ecosystems.end(ecosystem);
    return this.#inTurn(async () => {
      await this.#leave(ecosystem);
      return ecosystem;
    });
  }

  async #leave({ bridge, fabricIndex }: Ecosystem): Promise<void> {
    await this.#nodes.get(bridge)?.removeEcosystem(fabricIndex);
    await this.#closeUnused(bridge);
  }

  async #put(thing: BridgedThing): Promise<BridgeEntry> {
    const bridge = this.#freeBridge();
    await this.#open(bridge);
    const entry = { id: randomBytes(16).toString('hex'), bridge, thing };
    await this.#nodes.get(bridge)?.put(this.#endpointOf(entry));
    this.#parts.store.putThing(entry);
    this.#things = this.#parts.store.things();
    return entry;
  }

  #entryOf(key: string): BridgeEntry | undefined {
    return this.#things.find(({ thing }) => thing.key === key);
  }

  /** Returns the first bridge that has room. */
  #freeBridge(): number {
    for (let number = 1; ; number++) {
      if (this.#things.filter(({ bridge }) => bridge === number).length < MAX_BRIDGED_PER_NODE) return number;
    }
  }

  async #open(number: number): Promise<void> {
    if (this.#nodes.has(number)) return;
    const endpoints = this.#things.filter(({ bridge }) => bridge === number).map((entry) => this.#endpointOf(entry));
    const options = {
      number,
      name: number === 1 ? this.#hubName : `${this.#hubName} ${number}`,
      ...present({ port: this.#parts.store.portOf(number) }),
      onCommand: (command: EcosystemCommand) => this.#carryOut(number, command),
      onEcosystemsChanged: () => this.#soon(number, async () => this.#settle(number)),
      onReset: () => this.#soon(number, () => this.#putAll(number)),
    };
    const node = await this.#parts.nodes.open(options, endpoints);
    this.#nodes.set(number, node);
    this.#parts.store.putPort(number, node.port);
    // matter.js begins with the values that it stored last, not with those that it was given.
    await this.#putAll(number);
    await this.#settle(number);
  }

  async #putAll(number: number): Promise<void> {
    const node = this.#nodes.get(number);
    for (const entry of this.#things) if (entry.bridge === number) await node?.put(this.#endpointOf(entry));
  }

  /** Closes a bridge that has neither things nor ecosystems, and deletes its storage. */
  async #closeUnused(number: number): Promise<void> {
    const node = this.#nodes.get(number);
    const isUsed = this.#things.some(({ bridge }) => bridge === number) || (node?.ecosystems().length ?? 0) > 0;
    if (!node || isUsed) return;
    this.#nodes.delete(number);
    await node[Symbol.asyncDispose]();
    await this.#parts.nodes.erase(number);
  }

  async #settle(number: number): Promise<void> {
    const node = this.#nodes.get(number);
    if (!node) return;
    const left = this.#ecosystems.settle(number, node.ecosystems());
    this.#grant(number);
    for (const fabricIndex of left) await node.removeEcosystem(fabricIndex);
  }

  #grantAll(): void {
    for (const number of this.#nodes.keys()) this.#grant(number);
  }

  #grant(number: number): void {
    const own = this.#things.filter(({ bridge }) => bridge === number);
    this.#ecosystems.grant(number, new Map(own.map(({ thing }) => [thing.key, thing.permissions])));
  }

  /** Queues work without waiting for it, and reports its failure. An unhandled rejection would end the hub. */
  #soon(bridge: number, work: () => Promise<void>): void {
    this.#inTurn(work).catch((thrown: unknown) => this.#report(bridge, thrown));
  }

  /** Ends an ecosystem whose token was revoked by somebody else. */
  #onRevoked(tokenId: string): void {
    const ecosystem = this.#ecosystems.holderOf(tokenId);
    if (!ecosystem) return;
    this.#ecosystems.end(ecosystem);
    this.#soon(ecosystem.bridge, () => this.#leave(ecosystem));
  }

  /** Calls the tool for a command, as the agent of the ecosystem. The call passes all checks that any other call passes. */
  async #carryOut(bridge: number, { endpoint, fabric, action, params }: EcosystemCommand): Promise<void> {
    const entry = this.#things.find((one) => one.id === endpoint && one.bridge === bridge);
    if (!entry) throw new AtmoError('PERMISSION_DENIED', 'The owner does not share this any more');
    const principal = this.#ecosystems.principalOf(bridge, fabric, entry.thing.permissions);
    const call = callFor(entry.thing, { action, params });
    if (!call) return;
    const answer = await this.#parts.pipeline.call({
      principal,
      tool: call.tool,
      params: call.params,
      timeoutMs: COMMAND_LIMIT_MS,
      ...(call.hub !== undefined && { routing: { only_nodes: [call.hub] } }),
    });
    if (answer.status === 'error') throw new AtmoError(answer.error.code, answer.error.message, answer.error.details);
    if (entry.thing.actor === 'scene') this.#parts.clock.after(SCENE_ON_MS, () => this.#update(entry, { values: { on: false } }));
  }

  #endpointOf({ id, thing }: BridgeEntry): BridgedEndpoint {
    return { id, kind: thing.kind, name: thing.name, isReachable: this.isReachable(thing), values: this.#valuesOf(thing) };
  }

  #valuesOf(thing: BridgedThing): BridgedValues {
    const known = Object.values(thing.sensors).map((sensor) => valuesFrom(thing, sensor, this.#readingOf(thing, sensor)));
    return Object.assign(thing.actor === 'scene' ? { on: false } : {}, ...known);
  }

  #readingOf({ hub }: BridgedThing, sensor: string): Json {
    if (hub !== undefined) return this.#remoteValues.get(`${hub}/${sensor}`) ?? null;
    return this.#parts.readings.current(sensor as SensorId)?.value ?? null;
  }

  #sensorReachable(device: string): boolean {
    const sensors = this.#things.flatMap(({ thing }) =>
      thing.device === device && thing.hub === undefined ? Object.values(thing.sensors) : [],
    );
    const readings = sensors.map((sensor) => this.#parts.readings.current(sensor as SensorId));
    return readings.every((reading) => reading !== undefined && reading.reachability !== 'unreachable');
  }

  #onReading({ subject, data }: HubEvent): void {
    for (const entry of this.#things) {
      if (entry.thing.hub === undefined) this.#show(entry, subject, data.value ?? null);
    }
  }

  #onRemoteValue(hub: string, sensor: string, value: Json): void {
    this.#remoteValues.set(`${hub}/${sensor}`, value);
    for (const entry of this.#things) if (entry.thing.hub === hub) this.#show(entry, sensor, value);
  }

  #show(entry: BridgeEntry, sensor: string, value: Json): void {
    const values = valuesFrom(entry.thing, sensor, value);
    if (Object.keys(values).length > 0) this.#update(entry, { values, isReachable: this.isReachable(entry.thing) });
  }

  #showReachability(): void {
    for (const entry of this.#things) this.#update(entry, { isReachable: this.isReachable(entry.thing) });
  }

  /** Shows the present names of things of this hub, and what their commands need now. */
  #refreshThings(): void {
    for (const entry of this.#things) {
      const now = this.#parts.finder.current(entry.thing.key);
      if (now && JSON.stringify(now) !== JSON.stringify(entry.thing)) this.#soon(entry.bridge, () => this.#replace(entry, now));
    }
  }

  async #replace({ id, bridge }: BridgeEntry, thing: BridgedThing): Promise<void> {
    if (!this.#things.some((one) => one.id === id)) return;
    requireOneToken(thing.name, thing.permissions);
    this.#parts.store.putThing({ id, bridge, thing });
    this.#things = this.#parts.store.things();
    this.#grant(bridge);
    await this.#putAll(bridge);
  }

  #update({ id, bridge }: BridgeEntry, change: Parameters<BridgeNode['update']>[1]): void {
    this.#nodes
      .get(bridge)
      ?.update(id, change)
      .catch((thrown: unknown) => this.#parts.logger.warn('bridge.not_shown', { thing: id, problem: toAtmoError(thrown).message }));
  }

  /** Follows the sensors of the chosen things of other hubs, anew after each change of the choice. */
  #followOthers(): void {
    for (const remote of this.#remote.values()) remote[Symbol.dispose]();
    this.#remote.clear();
    const byHub = Map.groupBy(
      this.#things.filter(({ thing }) => thing.hub !== undefined),
      ({ thing }) => thing.hub ?? '',
    );
    for (const hub of this.#parts.store.readerHubs()) if (!byHub.has(hub)) this.#endReader(hub);
    for (const [hub, things] of byHub) {
      const remote = new RemoteValues(this.#parts, hub, (...value) => this.#onRemoteValue(...value));
      this.#remote.set(hub, remote);
      remote.follow(things);
    }
  }

  /** Ends the tokens with which this hub read things of a hub of which nothing is bridged any more. */
  #endReader(hub: string): void {
    const { store, tokens } = this.#parts;
    const held = store.readerTokens(hub);
    store.putReaderTokens(hub, []);
    for (const { id } of held) tokens.revoke(id);
  }

  #report(bridge: number, thrown: unknown): void {
    const { message } = toAtmoError(thrown);
    this.#parts.logger.error('bridge.failed', { bridge, problem: message });
    this.#parts.problems.raise(`bridge ${bridge}`, `The Matter bridge ${bridge} does not work: ${message}`);
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

function confirmationRequired({ name, kind }: BridgedThing): AtmoError {
  const what = kind === 'lock' ? 'is a lock' : 'can be dangerous';
  const message = `${name} ${what}. Whoever has one of the ecosystems can then ask for it, guests and voice assistants too. If you want that, add --dangerous (dangerous: true). Each command still needs an approval`;
  return new AtmoError('CONFLICT', message);
}
