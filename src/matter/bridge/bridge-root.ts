import '../matter-platform.ts';
import { createSocket } from 'node:dgram';
import { Environment, ServerNode } from '@matter/main';
import { AdministratorCommissioningServer } from '@matter/main/behaviors/administrator-commissioning';
import type { AdministratorCommissioning } from '@matter/main/clusters/administrator-commissioning';
import { SessionsBehavior, SubscriptionsServer } from '@matter/main/node';
import { SessionManager } from '@matter/main/protocol';
import { VendorId } from '@matter/main/types';
import type { BridgeNodeOptions } from '../../core/devices/matter-bridge.ts';
import { AtmoError } from '../../core/errors.ts';
import { bridgeFolder } from './bridge-storage.ts';
import { refuse } from './bridged-request.ts';

/** Vendor and product for tests, which no certification covers. Ecosystems warn about a bridge with them. */
const TEST_VENDOR = VendorId(0xfff1);
const PRODUCT = { id: 0x8002, name: 'atmosphere-edge bridge' };
const AGGREGATOR = 0x000e;
/** Longest NodeLabel, VendorName and SerialNumber (Matter core specification 11.1.5). */
export const MAX_TEXT = 32;

/**
 * Returns the cluster with which an ecosystem opens the bridge for another one. It may do so only while the owner has the bridge open:
 * apps on iPhones join as two ecosystems, one of which lets the other in.
 */
function administratorCommissioning(isOpen: () => boolean) {
  return class extends AdministratorCommissioningServer {
    override async openCommissioningWindow(fields: AdministratorCommissioning.OpenCommissioningWindowRequest): Promise<void> {
      if (!isOpen()) refuse('OpenCommissioningWindow: the owner opens the bridge on the hub');
      await super.openCommissioningWindow(fields);
    }
  };
}

/**
 * Stores the subscriptions of ecosystems, so that the bridge serves them again after a restart of the hub. matter.js 0.17.9 does so only in a
 * bridge that has a fabric when it starts. Without `early`, an ecosystem that joined since would get no reports after the next start, until
 * it finds out by itself that its subscription has ended.
 */
class EarlySubscriptions extends SubscriptionsServer {
  static override readonly early = true;
  /** matter.js would infer another schema for a subclass, with which it stores nothing. */
  static override readonly schema = SubscriptionsServer.schema;

  override initialize(): void {
    super.initialize();
    this.reactTo(this.agent.get(SessionsBehavior).events.subscriptionAdded, this.#forgetEnded, { lock: true });
  }

  /** matter.js keeps those of sessions that the ecosystem has closed. Their number would grow as long as the hub runs. */
  #forgetEnded(): void {
    const live = [...this.env.get(SessionManager).sessions].flatMap(({ subscriptions }) => [...subscriptions]);
    const ids = new Set(live.map(({ subscriptionId }) => subscriptionId));
    this.state.subscriptions = this.state.subscriptions.filter(({ subscriptionId }) => ids.has(subscriptionId));
  }
}

interface RootOptions extends Pick<BridgeNodeOptions, 'number' | 'name'> {
  readonly port: number;
  readonly isOpen: () => boolean;
}

/**
 * Returns the port for a bridge: its fixed one, the one that it had before, or 0 with which the kernel chooses one. Rejects with
 * SERVICE_UNAVAILABLE if another program has the fixed one.
 */
export async function portOf({ number, port = 0, fixedPort }: Pick<BridgeNodeOptions, 'number' | 'port' | 'fixedPort'>): Promise<number> {
  if (fixedPort === undefined) return (await isFree(port)) ? port : 0;
  if (await isFree(fixedPort)) return fixedPort;
  throw new AtmoError(
    'SERVICE_UNAVAILABLE',
    `Another program has the UDP port ${fixedPort} of bridge ${number}: sudo ss -ulnp shows which. End it, or change matter.bridge_port`,
  );
}

async function isFree(port: number): Promise<boolean> {
  const socket = createSocket('udp6');
  try {
    await new Promise<void>((resolve, reject) => socket.once('error', reject).bind(port, () => resolve()));
    return true;
  } catch {
    return false;
  } finally {
    socket.close();
  }
}

/** Creates the node of a bridge from its stored state. It has no sockets before its start. `isOpen` returns whether the owner opened it. */
export function createRoot({ number, name, port, isOpen }: RootOptions): Promise<ServerNode> {
  return ServerNode.create(ServerNode.RootEndpoint.with(administratorCommissioning(isOpen), EarlySubscriptions), {
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
export function shown(text: string): string {
  return [...text.toWellFormed()].slice(0, MAX_TEXT).join('');
}
