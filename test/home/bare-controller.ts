import { Environment, LogFormat, Logger, LogLevel, Seconds } from '@matter/main';
import { Matter } from '@matter/main/model';
import { type ClientNode, ControllerBehavior, ServerNode } from '@matter/main/node';
import { ManualPairingCodeCodec } from '@matter/main/types';
import type { Pairing } from './device-node.ts';
import { SPARKLE_CLUSTER } from './types/manufacturer.ts';

/** matter.js as a controller with nothing of ours around it: the yardstick for tests of the home and for benchmarks. */
export class BareController implements AsyncDisposable {
  readonly #node: ServerNode;

  private constructor(node: ServerNode) {
    this.#node = node;
  }

  /** `dir` keeps its fabric. One per process, since matter.js shares its environment. */
  static async start(dir: string): Promise<BareController> {
    Logger.level = LogLevel('fatal');
    Logger.format = LogFormat.PLAIN;
    const { vars } = Environment.default;
    vars.set('storage.path', dir);
    vars.set('mdns.networkInterface', 'eth0');
    const node = await ServerNode.create(ServerNode.RootEndpoint.with(ControllerBehavior), {
      id: 'bare-controller',
      commissioning: { enabled: false },
      controller: { adminFabricLabel: 'Bare', ble: false, matter: Matter.withClusters(SPARKLE_CLUSTER) },
      network: { port: 0 },
      subscriptions: { persistenceEnabled: false },
    });
    await node.start();
    return new BareController(node);
  }

  /** Commissions by the manual code that stands on the device. */
  commission({ manualCode }: Pick<Pairing, 'manualCode'>): Promise<ClientNode> {
    const { passcode, shortDiscriminator = 0 } = ManualPairingCodeCodec.decode(manualCode);
    return this.#node.peers.commission({ passcode, shortDiscriminator, timeout: Seconds(30) });
  }

  /** Waits until every one of these long discriminators was announced as commissionable; answers those that were not within `seconds`. */
  async awaitAnnounced(discriminators: readonly number[], seconds: number): Promise<readonly number[]> {
    const missing = new Set(discriminators);
    const search = this.#node.peers.discover({ timeout: Seconds(seconds) });
    search.discovered.on(({ state }) => {
      missing.delete(state.commissioning.discriminator ?? -1);
      if (missing.size === 0) search.cancel();
    });
    await search.catch(() => undefined);
    return [...missing];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node.close();
  }
}
