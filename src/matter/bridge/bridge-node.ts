import '../matter-platform.ts';
import { createHash } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { Crypto, Endpoint, Environment, ServerNode } from '@matter/main';
import { BridgedDeviceBasicInformationServer } from '@matter/main/behaviors/bridged-device-basic-information';
import { AggregatorEndpoint } from '@matter/main/endpoints/aggregator';
import { DeviceCommissioner, FabricManager, PaseClient } from '@matter/main/protocol';
import { VendorId } from '@matter/main/types';
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
import { type BridgeStorage, bridgeFolder } from './bridge-storage.ts';
import { linkEndpoint } from './bridged-request.ts';
import { BRIDGED_TYPES, changedState, type EndpointState, initialState } from './bridged-types.ts';

/** Vendor and product for tests, which no certification covers. Ecosystems warn about a bridge with them. */
const TEST_VENDOR = VendorId(0xfff1);
const PRODUCT = { id: 0x8002, name: 'atmosphere-edge bridge' };
const AGGREGATOR = 0x000e;
/** Longest NodeLabel, VendorName and SerialNumber (Matter core specification 11.1.5). */
const MAX_TEXT = 32;

/** What a bridge uses of the hub. */
export interface BridgeNodeParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly storage: BridgeStorage;
}

interface Change {
  readonly values?: BridgedValues;
  readonly isReachable?: boolean;
}

/** A thing on the bridge. */
interface Bridged {
  readonly endpoint: Endpoint;
  readonly kind: BridgedKind;
}

/** A Matter node with an aggregator and the bridged things below it (Matter core specification 9.12, device library 11). */
export class MatterBridgeNode implements BridgeNode {
  readonly #parts: BridgeNodeParts;
  readonly #options: BridgeNodeOptions;
  readonly #node: ServerNode;
  readonly #aggregator: Endpoint<AggregatorEndpoint>;
  readonly #things = new Map<string, Bridged>();
  #cancelWindow = () => {};
  /** Settles when the last change of values is shown. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(parts: BridgeNodeParts, options: BridgeNodeOptions, node: ServerNode) {
    this.#parts = parts;
    this.#options = options;
    this.#node = node;
    this.#aggregator = new Endpoint(AggregatorEndpoint, { id: 'aggregator' });
  }

  /** Creates the node from its stored state, with its things, and starts it. It is not open for commissioning. */
  static async start(parts: BridgeNodeParts, options: BridgeNodeOptions, endpoints: readonly BridgedEndpoint[]): Promise<MatterBridgeNode> {
    parts.storage.prepare();
    const bridge = new MatterBridgeNode(parts, options, await createNode(options, await freePort(options.port)));
    try {
      await bridge.#node.add(bridge.#aggregator);
      for (const endpoint of endpoints) await bridge.#putStored(endpoint);
      await bridge.#node.start();
    } catch (error) {
      await bridge[Symbol.asyncDispose]();
      throw error;
    }
    bridge.#node.events.commissioning.fabricsChanged.on(() => {
      parts.storage.snapshot();
      options.onEcosystemsChanged();
    });
    // When its last fabric leaves, the node resets itself: its things then show the values with which they were added.
    bridge.#node.lifecycle.online.on(() => options.onReset());
    return bridge;
  }

  get port(): number {
    return this.#node.state.network.operationalPort;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cancelWindow();
    await this.#node.close();
  }

  /** Adds a thing that was on the bridge before. One that cannot be shown any more does not keep the others away. */
  async #putStored(thing: BridgedEndpoint): Promise<void> {
    try {
      await this.put(thing);
    } catch (error) {
      this.#parts.logger.error('bridge.thing_left_out', { thing: thing.id, kind: thing.kind, problem: String(error) });
    }
  }

  async put(thing: BridgedEndpoint): Promise<void> {
    const known = this.#things.get(thing.id);
    if (!known) return this.#add(thing);
    await known.endpoint.setStateOf(BridgedDeviceBasicInformationServer, { nodeLabel: shown(thing.name) });
    await this.update(thing.id, thing);
  }

  async #add({ id, kind, name, isReachable, values }: BridgedEndpoint): Promise<void> {
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
    const endpoint = new Endpoint(loaded.with(BridgedDeviceBasicInformationServer), { id, bridgedDeviceBasicInformation, ...state });
    linkEndpoint(endpoint, async (fabricIndex, { action, params }) => {
      // An index may belong to another fabric later. The identity never does.
      const fabric = this.ecosystems().find((one) => one.fabricIndex === fabricIndex)?.identity ?? '';
      await this.#options.onCommand({ endpoint: id, fabric, action, params });
    });
    try {
      await this.#aggregator.add(endpoint);
    } catch (error) {
      // An endpoint that could not be initialised would stay among the parts of the aggregator.
      await endpoint.delete().catch(() => undefined);
      throw error;
    }
    this.#things.set(id, { endpoint, kind });
  }

  async remove(id: string): Promise<void> {
    const thing = this.#things.get(id);
    this.#things.delete(id);
    await thing?.endpoint.delete();
  }

  /** Shows one change after the other. Otherwise, a change would be compared with a state that an earlier one is about to replace. */
  update(id: string, change: Change): Promise<void> {
    const result = this.#last.then(() => this.#show(id, change));
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
  }

  async openWindow(seconds: number): Promise<BridgeCodes> {
    await this.closeWindow();
    const crypto = this.#node.env.get(Crypto);
    const passcode = PaseClient.generateRandomPasscode(crypto);
    const discriminator = PaseClient.generateRandomDiscriminator(crypto);
    await this.#node.set({ commissioning: { passcode, discriminator } });
    await this.#node.env.get(DeviceCommissioner).allowBasicCommissioning();
    // matter.js 0.17.9 makes a timer for the end of the window and does not start it.
    this.#cancelWindow = this.#parts.clock.after(seconds * 1000, () => this.#endWindow());
    const { qrPairingCode: qrCode, manualPairingCode: manualCode } = this.#node.state.commissioning.pairingCodes;
    return { qrCode, manualCode, expiresAtMs: this.#parts.clock.now() + seconds * 1000 };
  }

  #endWindow(): void {
    this.closeWindow().catch((error: unknown) => this.#parts.logger.error('bridge.window_not_closed', { problem: String(error) }));
  }

  async closeWindow(): Promise<void> {
    this.#cancelWindow();
    const { env } = this.#node;
    if (env.has(DeviceCommissioner)) await env.get(DeviceCommissioner).endCommissioning();
  }

  ecosystems(): readonly EcosystemFabric[] {
    return this.#node.env.get(FabricManager).map(({ fabricIndex, fabricId, rootVendorId, label, rootCert }) => ({
      fabricIndex,
      fabricId: fabricId.toString(16).padStart(16, '0'),
      identity: createHash('sha256')
        .update(String(fabricId))
        .update(Buffer.from(rootCert as Uint8Array))
        .digest('hex'),
      vendorId: rootVendorId,
      label,
    }));
  }

  async removeEcosystem(fabricIndex: number): Promise<void> {
    const fabric = this.#node.env.get(FabricManager).find((one) => one.fabricIndex === fabricIndex);
    await fabric?.leave();
  }
}

/** Returns the port if no other program has it, and 0 otherwise: the kernel then chooses one. */
async function freePort(port = 0): Promise<number> {
  const socket = createSocket('udp6');
  try {
    await new Promise<void>((resolve, reject) => socket.once('error', reject).bind(port, () => resolve()));
    return port;
  } catch {
    return 0;
  } finally {
    socket.close();
  }
}

function createNode({ number, name }: BridgeNodeOptions, port: number): Promise<ServerNode> {
  return ServerNode.create(ServerNode.RootEndpoint, {
    id: bridgeFolder(number),
    environment: Environment.default,
    // The owner opens the bridge. Otherwise, matter.js would open it at every start until somebody commissions it.
    commissioning: { enabled: false },
    network: { port, ble: false, ipv4: true },
    productDescription: { name: shown(name), deviceType: AGGREGATOR as never },
    basicInformation: {
      vendorId: TEST_VENDOR,
      vendorName: 'atmosphere-edge',
      productId: PRODUCT.id,
      productName: PRODUCT.name,
      nodeLabel: shown(name),
      hardwareVersion: 1,
      softwareVersion: 1,
    },
  });
}

/** Shortens a text to the length that Matter allows, between whole characters. */
function shown(text: string): string {
  return [...text.toWellFormed()].slice(0, MAX_TEXT).join('');
}
