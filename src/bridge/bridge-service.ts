import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { MeshPorts } from '../calls/mesh-ports.ts';
import type { ToolCaller } from '../calls/request-and-answer.ts';
import type { TokenAuthority } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import {
  type BridgeCodes,
  type BridgeNode,
  type BridgeNodeOptions,
  type BridgeNodes,
  type EcosystemCommand,
  MAX_BRIDGED_PER_NODE,
} from '../core/devices/matter-bridge.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { HubEvent } from '../core/events.ts';
import type { HubProblems } from '../core/health.ts';
import { type Json, present } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import { type BridgeEntry, confirmationRequired, refreshedEntry } from './bridge-entry.ts';
import type { BridgeStore, Ecosystem } from './bridge-store.ts';
import { requireOneToken } from './bridge-tokens.ts';
import { type BridgedThing, callFor, valuesFrom } from './bridged-things.ts';
import { Ecosystems } from './ecosystems.ts';
import { OpenBridges } from './open-bridges.ts';
import { FollowedHubs } from './remote-values.ts';
import { ShownValues } from './shown-values.ts';
import type { ThingFinder, ThingQuery } from './thing-finder.ts';

/** Time limit of a command. Ecosystems give up after about ten seconds. */
const COMMAND_LIMIT_MS = 8_000;
const DAY_MS = 86_400_000;
/** How long a scene is shown as on. */
const SCENE_ON_MS = 1_000;

/** Subject of HubProblems while a chosen thing is suspended. Everybody may read the text, so it names no thing. */
const SUSPENDED = 'bridge suspended';
const SUSPENDED_TEXT =
  'Something that you chose for other ecosystems has changed since, and they may not use it: sudo atmo bridge list says what, and what to do';

/** The same while one cannot be shown. */
const HIDDEN = 'bridge hidden';
const HIDDEN_TEXT =
  'Something that you chose for other ecosystems cannot be shown to them: the log of the hub says why (bridge.not_shown); try again with sudo atmo bridge add';

/** What the bridges use of the hub. */
export interface BridgeServiceParts extends Pick<HubContext, 'clock' | 'logger' | 'events'> {
  readonly problems: Pick<HubProblems, 'raise' | 'clear'>;
  readonly store: BridgeStore;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly tokens: TokenAuthority;
  readonly pipeline: Pick<ToolCaller, 'call'>;
  readonly mesh: Pick<MeshPorts, 'view' | 'events'>;
  readonly finder: ThingFinder;
  readonly onScenesChanged: (listener: (id: string) => void) => () => void;
  readonly nodes: BridgeNodes;
}

/** A bridge, and why it is not open. */
interface BridgeState {
  readonly bridge: number;
  readonly problem?: string;
}

/** Options of the bridges. */
export interface BridgeServiceOptions {
  readonly hubName: string;
  /** UDP port of the first bridge; each further one has the next. If undefined, the kernel chooses them. */
  readonly firstPort: number | undefined;
}

/** Presents the chosen things to other Matter ecosystems, and carries out the commands of these as calls of their own agents. */
export class BridgeService implements Service {
  readonly #parts: BridgeServiceParts;
  readonly #hubName: string;
  readonly #ecosystems: Ecosystems;
  readonly #open: OpenBridges;
  readonly #shown: ShownValues;
  readonly #remote: FollowedHubs;
  #things: readonly BridgeEntry[] = [];
  /** Ids of the things that could not be shown. */
  readonly #hidden = new Set<string>();
  #stops: readonly (() => void)[] = [];
  #cancelRenewal = () => {};
  /** The bridges whose ecosystems will be compared with their fabrics soon. */
  readonly #waiting = new Set<number>();
  /** Settles when the last change of the bridges has ended. The next one waits for it. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: BridgeServiceParts, { hubName, firstPort }: BridgeServiceOptions) {
    const { clock, logger, problems, store, nodes, readings, mesh, tokens, pipeline } = parts;
    this.#parts = parts;
    this.#hubName = hubName;
    this.#ecosystems = new Ecosystems({ store, tokens, clock });
    this.#shown = new ShownValues({ readings, mesh });
    this.#remote = new FollowedHubs({ clock, logger, tokens, store, pipeline, mesh }, (...value) => this.#onRemoteValue(...value));
    this.#open = new OpenBridges(
      { clock, logger, problems, store, nodes, firstPort },
      {
        optionsOf: (bridge) => this.#optionsOf(bridge),
        endpointsOf: (bridge) => this.#on(bridge).map((entry) => this.#shown.endpointOf(entry)),
        onRetry: (bridge) => this.#soon(bridge, () => this.#retry(bridge)),
      },
    );
  }

  /** Starts the bridges that have things or ecosystems. One that cannot start is reported, and the hub runs without it. */
  async start(): Promise<void> {
    const { events, tokens } = this.#parts;
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
    this.#load();
    this.#refreshThings();
    for (const number of this.#needed()) await this.#inTurn(() => this.#start(number)).catch((thrown) => this.#open.report(number, thrown));
    this.#renewDaily();
  }

  /** Follows the other hubs, and replaces tokens long before they end. Begins now and repeats each day, for hubs that run for years. */
  #renewDaily(): void {
    this.#soon(1, async () => {
      this.#grantAll();
      this.#remote.follow(this.#things);
    });
    this.#cancelRenewal = this.#parts.clock.after(DAY_MS, () => this.#renewDaily());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelRenewal();
    for (const stop of this.#stops) stop();
    this.#remote[Symbol.dispose]();
    await this.#inTurn(() => this.#open[Symbol.asyncDispose]());
  }

  things(): readonly BridgeEntry[] {
    return this.#things;
  }

  ecosystems(): readonly Ecosystem[] {
    return this.#ecosystems.list();
  }

  isReachable(entry: BridgeEntry): boolean {
    return this.#shown.isReachable(entry);
  }

  /** Returns the bridges that are needed, sorted by number. One that could not open has a problem, in words for its owner. */
  bridges(): readonly BridgeState[] {
    return this.#needed().map((bridge) => ({ bridge, ...present({ problem: this.#open.problemOf(bridge) }) }));
  }

  #needed(): readonly number[] {
    const numbers = [...this.#things, ...this.#parts.store.ecosystems()].map(({ bridge }) => bridge);
    return [...new Set(numbers)].sort((a, b) => a - b);
  }

  /**
   * Puts things on the bridges. A thing that is there already keeps its identity; it is suspended no longer. Rejects like `ThingFinder.find`,
   * and with CONFLICT for a dangerous thing unless `mayBeDangerous`.
   */
  add(query: ThingQuery, { mayBeDangerous }: { readonly mayBeDangerous: boolean }): Promise<readonly BridgeEntry[]> {
    return this.#inTurn(async () => {
      const found = await this.#parts.finder.find(query);
      const dangerous = found.find(({ isDangerous }) => isDangerous);
      if (dangerous && !mayBeDangerous) throw confirmationRequired(dangerous);
      for (const { name, permissions } of found) requireOneToken(name, permissions);
      const added: BridgeEntry[] = [];
      try {
        for (const thing of found) added.push(await this.#choose(thing));
      } finally {
        this.#grantAll();
        this.#remote.follow(this.#things);
      }
      return added;
    });
  }

  /** Takes a thing from its bridge. The ecosystems lose it. Rejects with NOT_FOUND or AMBIGUOUS_DEVICE. */
  remove(text: string): Promise<BridgeEntry> {
    return this.#inTurn(async () => {
      const entry = this.#parts.store.requireThing(text);
      this.#delete(entry);
      this.#grantAll();
      this.#remote.follow(this.#things);
      await this.#open.get(entry.bridge)?.remove(entry.id);
      await this.#closeUnused(entry.bridge);
      return entry;
    });
  }

  /** Opens a bridge for commissioning. Rejects with NOT_FOUND if it has no things, and with the reason if it cannot open. */
  openWindow(bridge: number, seconds: number): Promise<BridgeCodes> {
    return this.#inTurn(async () => {
      if (this.#on(bridge).length === 0)
        throw new AtmoError('NOT_FOUND', `There is no bridge ${bridge}; choose things for it first, with atmo bridge add`);
      const node = await this.#start(bridge);
      const codes = await node.openWindow(seconds);
      this.#ecosystems.expect(bridge, seconds * 1000);
      return codes;
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
    await this.#open.get(bridge)?.removeEcosystem(fabricIndex);
    await this.#closeUnused(bridge);
  }

  /**
   * Puts a thing on its bridge, or accepts what one that is there has become. It is stored before it is shown: an ecosystem never sees a
   * thing that the hub does not know. If it cannot be shown, a new one is not chosen at all.
   */
  async #choose(thing: BridgedThing): Promise<BridgeEntry> {
    const before = await this.#sameKind(thing);
    const { id, bridge, endpointNumber } = before ?? { id: randomBytes(16).toString('hex'), bridge: this.#freeBridge() };
    const node = await this.#start(bridge);
    const entry = { id, bridge, thing, ...present({ endpointNumber }) };
    this.#store(entry);
    try {
      return await this.#show(node, entry);
    } catch (thrown) {
      if (!before) this.#delete(entry);
      throw thrown;
    }
  }

  /** Returns the entry of a thing. One that is of another kind now is removed: its endpoint cannot become another device type. */
  async #sameKind({ key, kind }: BridgedThing): Promise<BridgeEntry | undefined> {
    const before = this.#things.find((entry) => entry.thing.key === key);
    if (!before || before.thing.kind === kind) return before;
    this.#delete(before);
    await this.#open.get(before.bridge)?.remove(before.id);
    return undefined;
  }

  /** Shows a thing with all its values, and keeps the number of its endpoint, which ecosystems remember. */
  async #show(node: BridgeNode, entry: BridgeEntry): Promise<BridgeEntry> {
    const endpointNumber = await node.put(this.#shown.endpointOf(entry));
    if (this.#hidden.delete(entry.id)) this.#reportThings();
    const numbered = { ...entry, endpointNumber };
    if (entry.endpointNumber !== endpointNumber) this.#store(numbered);
    return numbered;
  }

  #store(entry: BridgeEntry): void {
    this.#parts.store.putThing(entry);
    this.#load();
  }

  #delete({ id, thing }: BridgeEntry): void {
    this.#parts.store.deleteThing(id);
    this.#hidden.delete(id);
    this.#load();
    this.#shown.forget(thing);
  }

  #load(): void {
    this.#things = this.#parts.store.things();
    this.#reportThings();
  }

  #reportThings(): void {
    const { problems } = this.#parts;
    if (this.#things.some(({ suspended }) => suspended)) problems.raise(SUSPENDED, SUSPENDED_TEXT);
    else problems.clear(SUSPENDED);
    if (this.#hidden.size > 0) problems.raise(HIDDEN, HIDDEN_TEXT);
    else problems.clear(HIDDEN);
  }

  #on(bridge: number): readonly BridgeEntry[] {
    return this.#things.filter((entry) => entry.bridge === bridge);
  }

  /** Returns the first bridge that has room. */
  #freeBridge(): number {
    for (let number = 1; ; number++) if (this.#on(number).length < MAX_BRIDGED_PER_NODE) return number;
  }

  /** Opens a bridge if it is not open. Rejects with the reason if it cannot open; it is then tried again later. */
  async #start(bridge: number): Promise<BridgeNode> {
    const open = this.#open.get(bridge);
    if (open) return open;
    const node = await this.#open.open(bridge);
    try {
      // Who may call comes first: nothing that cannot be shown may keep an ecosystem that was removed.
      await this.#settle(bridge);
    } finally {
      // matter.js begins with the values that it stored last, not with those that it was given.
      await this.#putAll(bridge);
    }
    return node;
  }

  async #retry(bridge: number): Promise<void> {
    await (this.#isUsed(bridge) ? this.#start(bridge) : this.#open.erase(bridge));
  }

  #optionsOf(bridge: number): Omit<BridgeNodeOptions, 'number' | 'port' | 'fixedPort'> {
    return {
      name: bridge === 1 ? this.#hubName : `${this.#hubName} ${bridge}`,
      onCommand: (command) => this.#carryOut(bridge, command),
      onEcosystemsChanged: () => this.#settleSoon(bridge),
      onReset: () => this.#soon(bridge, () => this.#putAll(bridge)),
    };
  }

  /** Shows all things of a bridge. One that cannot be shown is reported and does not keep the others away. */
  async #putAll(bridge: number): Promise<void> {
    const node = this.#open.get(bridge);
    if (!node) return;
    for (const entry of this.#on(bridge)) await this.#show(node, entry).catch((thrown: unknown) => this.#onHidden(entry.id, thrown));
  }

  #onHidden(id: string, thrown: unknown): void {
    this.#hidden.add(id);
    this.#reportThings();
    this.#parts.logger.warn('bridge.not_shown', { thing: id, problem: toAtmoError(thrown).message });
  }

  /** Closes a bridge that has neither things nor ecosystems, and deletes its storage. */
  async #closeUnused(bridge: number): Promise<void> {
    if (!this.#isUsed(bridge)) await this.#open.erase(bridge);
  }

  #isUsed(bridge: number): boolean {
    const ecosystems = this.#open.get(bridge)?.ecosystems() ?? this.#parts.store.ecosystems().filter((one) => one.bridge === bridge);
    return this.#on(bridge).length > 0 || ecosystems.length > 0;
  }

  /** Ecosystems can change their fabrics as often as they like. One waiting comparison is enough for all changes. */
  #settleSoon(bridge: number): void {
    if (this.#waiting.has(bridge)) return;
    this.#waiting.add(bridge);
    this.#soon(bridge, () => {
      this.#waiting.delete(bridge);
      return this.#settle(bridge);
    });
  }

  async #settle(bridge: number): Promise<void> {
    const node = this.#open.get(bridge);
    if (!node) return;
    const left = this.#ecosystems.settle(bridge, node.ecosystems());
    this.#grant(bridge);
    for (const fabricIndex of left) await node.removeEcosystem(fabricIndex);
  }

  #grantAll(): void {
    for (const bridge of this.#open.numbers()) this.#grant(bridge);
  }

  /** Gives the ecosystems of a bridge what its things need, and takes what they need no longer. */
  #grant(bridge: number): void {
    const usable = this.#on(bridge).filter(({ suspended }) => !suspended);
    this.#ecosystems.grant(bridge, new Map(usable.map(({ thing }) => [thing.key, thing])));
  }

  /** Queues work without waiting for it, and reports its failure. An unhandled rejection would end the hub. */
  #soon(bridge: number, work: () => Promise<unknown>): void {
    this.#inTurn(work).then(
      () => this.#open.recover(bridge),
      (thrown: unknown) => this.#open.report(bridge, thrown),
    );
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
    const chosen = this.#things.find((one) => one.id === endpoint && one.bridge === bridge);
    if (!chosen) throw new AtmoError('PERMISSION_DENIED', 'The owner does not share this any more');
    const entry = this.#refreshed(chosen);
    if (entry.suspended)
      throw new AtmoError('PERMISSION_DENIED', 'It has changed since the owner chose it, and is not shared until they choose it again');
    const principal = this.#ecosystems.principalOf(bridge, fabric, entry.thing);
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

  #onReading({ subject, data }: HubEvent): void {
    for (const entry of this.#things) {
      if (entry.thing.hub === undefined) this.#showValue(entry, subject, data.value ?? null);
    }
  }

  #onRemoteValue(hub: string, sensor: string, value: Json): void {
    this.#shown.keep(hub, sensor, value);
    for (const entry of this.#things) if (entry.thing.hub === hub) this.#showValue(entry, sensor, value);
  }

  #showValue(entry: BridgeEntry, sensor: string, value: Json): void {
    const values = valuesFrom(entry.thing, sensor, value);
    if (Object.keys(values).length > 0) this.#update(entry, { values, isReachable: this.isReachable(entry) });
  }

  #showReachability(): void {
    for (const entry of this.#things) this.#update(entry, { isReachable: this.isReachable(entry) });
  }

  /** Shows the present names of things of this hub, and suspends those that can do more than the owner chose. */
  #refreshThings(): void {
    for (const entry of this.#things)
      if (!isDeepStrictEqual(this.#refreshed(entry), entry)) this.#soon(entry.bridge, () => this.#refresh(entry.id));
  }

  #refreshed(entry: BridgeEntry): BridgeEntry {
    return refreshedEntry(entry, this.#parts.finder.current(entry.thing));
  }

  async #refresh(id: string): Promise<void> {
    const before = this.#things.find((one) => one.id === id);
    if (!before) return;
    const entry = this.#refreshed(before);
    if (entry.suspended && !before.suspended)
      this.#parts.logger.warn('bridge.thing_suspended', { thing: entry.thing.key, reason: entry.suspended });
    this.#store(entry);
    this.#grant(entry.bridge);
    const node = this.#open.get(entry.bridge);
    if (node) await this.#show(node, entry);
  }

  #update({ id, bridge }: BridgeEntry, change: Parameters<BridgeNode['update']>[1]): void {
    this.#open
      .get(bridge)
      ?.update(id, change)
      .catch((thrown: unknown) => this.#parts.logger.warn('bridge.not_shown', { thing: id, problem: toAtmoError(thrown).message }));
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
