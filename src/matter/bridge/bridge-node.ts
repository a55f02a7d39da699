import '../matter-platform.ts';
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Crypto, Endpoint, type ServerNode } from '@matter/main';
import { BridgedDeviceBasicInformationServer } from '@matter/main/behaviors/bridged-device-basic-information';
import { AggregatorEndpoint } from '@matter/main/endpoints/aggregator';
import { DeviceCommissioner, type Fabric, FabricManager, hasRemoteActor, PaseClient } from '@matter/main/protocol';
import type { Clock } from '../../core/clock.ts';
import {
  BRIDGED_SERIAL_PREFIX,
  type BridgeCodes,
  type BridgedEndpoint,
  type BridgedKind,
  type BridgedValues,
  type BridgeNode,
  type BridgeNodeOptions,
  type EcosystemFabric,
} from '../../core/devices/matter-bridge.ts';
import type { Logger } from '../../core/logger.ts';
import { createRoot, MAX_TEXT, portOf, shown } from './bridge-root.ts';
import type { BridgeStorage } from './bridge-storage.ts';
import { linkEndpoint } from './bridged-request.ts';
import { BRIDGED_TYPES, changedState, type EndpointState, initialState, restedState } from './bridged-types.ts';

/** What a bridge uses of the hub. */
export interface BridgeNodeParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly storage: BridgeStorage;
  /** Passcodes with which bridges are open. This hub itself must not commission them. */
  readonly passcodes: Set<number>;
}

interface Change {
  readonly values?: BridgedValues;
  readonly isReachable?: boolean;
}

/** A thing on the bridge. `label` is its name as the hub shows it. */
interface Bridged {
  readonly endpoint: Endpoint;
  label: string;
  readonly kind: BridgedKind;
  /** Cancels the timer of a cover that moves. */
  cancelRest: () => void;
}

/** The node, and until when the owner has it open for ecosystems. */
interface Started {
  readonly root: ServerNode;
  readonly window: { untilMs: number };
}

/** How long changes of the storage are gathered before it is copied. */
const SNAPSHOT_DELAY_MS = 10_000;

/** A cover that reports nothing for this long has stopped, also before its target. */
const REST_MS = 30_000;

/** A Matter node with an aggregator and the bridged things below it (Matter core specification 9.12, device library 11). */
export class MatterBridgeNode implements BridgeNode {
  readonly #parts: BridgeNodeParts;
  readonly #options: BridgeNodeOptions;
  readonly #node: ServerNode;
  readonly #aggregator: Endpoint<AggregatorEndpoint>;
  readonly #things = new Map<string, Bridged>();
  readonly #window: { untilMs: number };
  #cancelWindow = () => {};
  #cancelSnapshot: (() => void) | undefined;
  #fabrics = '';
  /** Settles when the last change of values is shown. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(parts: BridgeNodeParts, options: BridgeNodeOptions, { root, window }: Started) {
    this.#parts = parts;
    this.#options = options;
    this.#node = root;
    this.#window = window;
    this.#aggregator = new Endpoint(AggregatorEndpoint, { id: 'aggregator' });
  }

  /** Creates the node from its stored state, with its things, and starts it. It is not open for commissioning. */
  static async start(parts: BridgeNodeParts, options: BridgeNodeOptions, endpoints: readonly BridgedEndpoint[]): Promise<MatterBridgeNode> {
    parts.storage.prepare();
    const window = { untilMs: 0 };
    const { number, name } = options;
    const isOpen = () => parts.clock.now() < window.untilMs;
    const root = await createRoot({ number, name, port: await portOf(options), isOpen });
    const bridge = new MatterBridgeNode(parts, options, { root, window });
    try {
      await bridge.#node.add(bridge.#aggregator);
      for (const endpoint of endpoints) await bridge.#putStored(endpoint);
      await bridge.#node.start();
    } catch (error) {
      await bridge[Symbol.asyncDispose]();
      throw error;
    }
    bridge.#fabrics = bridge.#fabricText();
    bridge.#node.events.commissioning.fabricsChanged.on(() => bridge.#onFabricsChanged());
    // When its last fabric leaves, the node resets itself: its things then show the values with which they were added.
    bridge.#node.lifecycle.online.on(() => options.onReset());
    return bridge;
  }

  get port(): number {
    return this.#node.state.network.operationalPort;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelWindow();
    for (const { cancelRest } of this.#things.values()) cancelRest();
    const isChanged = this.#cancelSnapshot !== undefined;
    this.#cancelSnapshot?.();
    await this.#node.close();
    if (isChanged) this.#parts.storage.snapshot();
  }

  /** A fabric may write its label as often as it likes. So only a fabric that joins or leaves makes a copy necessary. */
  #onFabricsChanged(): void {
    const before = this.#fabrics;
    this.#fabrics = this.#fabricText();
    if (before !== this.#fabrics) this.#snapshotSoon();
    this.#options.onEcosystemsChanged();
  }

  #fabricText(): string {
    return this.ecosystems()
      .map(({ fabricIndex, identity }) => `${fabricIndex} ${identity}`)
      .join();
  }

  /** Copies the storage soon. It has the keys of the fabrics and the numbers of the endpoints, both of which ecosystems remember. */
  #snapshotSoon(): void {
    this.#cancelSnapshot ??= this.#parts.clock.after(SNAPSHOT_DELAY_MS, () => {
      this.#cancelSnapshot = undefined;
      this.#parts.storage.snapshot();
    });
  }

  /** Adds a thing that was on the bridge before. One that cannot be shown any more does not keep the others away. */
  async #putStored(thing: BridgedEndpoint): Promise<void> {
    try {
      await this.#add(thing);
    } catch (error) {
      this.#parts.logger.error('bridge.thing_left_out', { thing: thing.id, kind: thing.kind, problem: String(error) });
    }
  }

  async put(thing: BridgedEndpoint): Promise<number> {
    const known = this.#things.get(thing.id);
    if (!known) {
      const { endpoint } = await this.#add(thing);
      this.#snapshotSoon();
      return endpoint.number;
    }
    known.label = shown(thing.name);
    await this.#showLabel(known);
    await this.update(thing.id, thing);
    return known.endpoint.number;
  }

  async #add({ id, number, kind, name, isReachable, values }: BridgedEndpoint): Promise<Bridged> {
    const type = BRIDGED_TYPES[kind];
    const state = initialState(type, values);
    const bridgedDeviceBasicInformation = {
      uniqueId: id,
      nodeLabel: shown(name),
      reachable: isReachable,
      vendorName: 'atmosphere-edge',
      productName: kind.replaceAll('_', ' '),
      // The rest of the id keeps the serial number different from the unique id, as the specification demands.
      serialNumber: `${BRIDGED_SERIAL_PREFIX}${id}`.slice(0, MAX_TEXT),
    };
    const loaded = (await type.load()) as typeof AggregatorEndpoint;
    const endpoint = new Endpoint(loaded.with(BridgedDeviceBasicInformationServer), {
      id,
      ...(number !== undefined && { number }),
      bridgedDeviceBasicInformation,
      ...state,
    });
    const thing: Bridged = { endpoint, kind, label: shown(name), cancelRest: () => {} };
    linkEndpoint(endpoint, async (fabricIndex, { action, params }) => {
      // An index may belong to another fabric later. The identity never does.
      const fabric = this.#fabric(fabricIndex);
      await this.#options.onCommand({ endpoint: id, fabric: fabric ? identityOf(fabric) : '', action, params });
      this.#restLater(thing);
    });
    try {
      await this.#aggregator.add(endpoint);
    } catch (error) {
      // An endpoint that could not be initialised would stay among the parts of the aggregator.
      await endpoint.delete().catch(() => undefined);
      throw error;
    }
    this.#things.set(id, thing);
    endpoint.eventsOf(BridgedDeviceBasicInformationServer).nodeLabel$Changed?.on((_label, _before, context) => {
      if (hasRemoteActor(context)) this.#keepLabel(thing);
    });
    return thing;
  }

  async #showLabel({ endpoint, label }: Bridged): Promise<void> {
    if (endpoint.stateOf(BridgedDeviceBasicInformationServer).nodeLabel === label) return;
    await endpoint.setStateOf(BridgedDeviceBasicInformationServer, { nodeLabel: label });
  }

  /** Names come from the hub. One that an ecosystem writes would be shown to all others too. */
  #keepLabel(thing: Bridged): void {
    this.#showLabel(thing).catch((error: unknown) => this.#parts.logger.warn('bridge.label_not_kept', { problem: String(error) }));
  }

  async remove(id: string): Promise<void> {
    const thing = this.#things.get(id);
    this.#things.delete(id);
    thing?.cancelRest();
    await thing?.endpoint.delete();
    this.#snapshotSoon();
  }

  /**
   * Shows one change after the other. Otherwise, a change would be compared with a state that an earlier one is about to replace. Each waits
   * for the next turn: what a thing reports about a command is then shown by the answer to the command, which it would otherwise delay.
   */
  update(id: string, change: Change): Promise<void> {
    const result = this.#last.then(() => nextTurn()).then(() => this.#show(id, change));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #show(id: string, { values, isReachable }: Change): Promise<void> {
    const thing = this.#things.get(id);
    if (!thing) return;
    const { endpoint, kind } = thing;
    const information = endpoint.stateOf(BridgedDeviceBasicInformationServer);
    const reachable = isReachable !== undefined && isReachable !== information.reachable;
    const state = {
      ...(values && changedState(BRIDGED_TYPES[kind], values, endpoint.state as EndpointState)),
      ...(reachable && { bridgedDeviceBasicInformation: { reachable: isReachable } }),
    };
    if (Object.keys(state).length > 0) await endpoint.set(state);
    if (values) this.#restLater(thing);
  }

  /** Ends the movement of a cover that reports nothing more. Somebody has stopped it by hand, or it cannot go on. */
  #restLater(thing: Bridged): void {
    if (thing.kind !== 'cover') return;
    thing.cancelRest();
    thing.cancelRest = this.#parts.clock.after(REST_MS, () => {
      const rest = this.#last.then(() => thing.endpoint.set(restedState(thing.endpoint.state as EndpointState)));
      this.#last = rest.catch((error: unknown) => this.#parts.logger.warn('bridge.rest_not_shown', { problem: String(error) }));
    });
  }

  async openWindow(seconds: number): Promise<BridgeCodes> {
    await this.closeWindow();
    const crypto = this.#node.env.get(Crypto);
    const passcode = PaseClient.generateRandomPasscode(crypto);
    const discriminator = PaseClient.generateRandomDiscriminator(crypto);
    await this.#node.set({ commissioning: { passcode, discriminator } });
    this.#parts.passcodes.add(passcode);
    await this.#node.env.get(DeviceCommissioner).allowBasicCommissioning();
    // matter.js 0.17.9 makes a timer for the end of the window and does not start it.
    this.#cancelWindow = this.#parts.clock.after(seconds * 1000, () => this.#endWindow());
    const { qrPairingCode: qrCode, manualPairingCode: manualCode } = this.#node.state.commissioning.pairingCodes;
    this.#window.untilMs = this.#parts.clock.now() + seconds * 1000;
    return { qrCode, manualCode, expiresAtMs: this.#window.untilMs };
  }

  #endWindow(): void {
    this.closeWindow().catch((error: unknown) => this.#parts.logger.error('bridge.window_not_closed', { problem: String(error) }));
  }

  async closeWindow(): Promise<void> {
    this.#cancelWindow();
    this.#window.untilMs = 0;
    const { env, state } = this.#node;
    this.#parts.passcodes.delete(state.commissioning.passcode);
    if (env.has(DeviceCommissioner)) await env.get(DeviceCommissioner).endCommissioning();
  }

  ecosystems(): readonly EcosystemFabric[] {
    return this.#node.env.get(FabricManager).map((fabric) => ({
      fabricIndex: fabric.fabricIndex,
      fabricId: fabric.fabricId.toString(16).padStart(16, '0'),
      identity: identityOf(fabric),
      vendorId: fabric.rootVendorId,
      label: fabric.label,
    }));
  }

  #fabric(index: number): Fabric | undefined {
    return this.#node.env.get(FabricManager).find(({ fabricIndex }) => fabricIndex === index);
  }

  async removeEcosystem(fabricIndex: number): Promise<void> {
    await this.#fabric(fabricIndex)?.leave();
  }
}

// An identity is needed for each command, and does not change.
const identities = new WeakMap<Fabric, string>();

/** Returns the hash of a fabric's id and root certificate. No other fabric has the same, unlike its index. */
function identityOf(fabric: Fabric): string {
  const known = identities.get(fabric);
  if (known !== undefined) return known;
  const hash = createHash('sha256').update(String(fabric.fabricId));
  const identity = hash.update(Buffer.from(fabric.rootCert as Uint8Array)).digest('hex');
  identities.set(fabric, identity);
  return identity;
}
