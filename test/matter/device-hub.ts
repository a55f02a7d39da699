import '../../src/matter/matter-platform.ts';
import { join } from 'node:path';
import { Seconds } from '@matter/main';
import { systemClock } from '../../src/core/clock.ts';
import { DeviceAttention } from '../../src/core/devices/device-attention.ts';
import type { Device } from '../../src/core/devices/device-model.ts';
import { HubProblems } from '../../src/core/health.ts';
import { createLogger, type Logger } from '../../src/core/logger.ts';
import { MatterDevices } from '../../src/matter/devices/matter-devices.ts';
import { MatterNode, type MatterNodeOptions } from '../../src/matter/matter-node.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { NO_ANCHOR } from '../storage/storage-services.ts';
import { MemoryStore } from './memory-store.ts';

/** The parts of a hub that devices need. */
export class DeviceHub implements AsyncDisposable {
  readonly node: MatterNode;
  readonly devices: MatterDevices;
  readonly store: MemoryStore;
  readonly attention = new DeviceAttention(systemClock);

  constructor(dir: string, options: Partial<MatterNodeOptions> & { readonly store?: MemoryStore; readonly logger?: Logger } = {}) {
    const { store, logger = createLogger('error'), ...nodeOptions } = options;
    this.store = store ?? new MemoryStore();
    this.node = new MatterNode(
      { logger, clock: systemClock, problems: new HubProblems(), anchor: NO_ANCHOR },
      { stateDir: join(dir, 'hub'), interface: 'eth0', ...nodeOptions },
    );
    this.devices = new MatterDevices({
      matterNode: this.node,
      attention: this.attention,
      store: this.store,
      clock: systemClock,
      logger,
    });
  }

  async start(): Promise<void> {
    await this.node.start();
    await this.devices.start();
  }

  /** Commissions without the store and attestation of a hub; returns the new devices. */
  async commission(device: VirtualDevice): Promise<readonly Device[]> {
    const { passcode, discriminator } = device.pairing;
    const peer = await this.node.peers.commission({
      passcode,
      discriminator,
      timeout: Seconds(20),
      onAttestationFailure: () => true,
    } as never);
    const nodeId = String(peer.peerAddress?.nodeId);
    await until(() => this.devices.devicesOfNode(nodeId).length > 0);
    await until(() => this.devices.devicesOfNode(nodeId)[0]?.reachability === 'reachable');
    return this.devices.devicesOfNode(nodeId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.devices[Symbol.asyncDispose]();
    await this.node[Symbol.asyncDispose]();
  }
}

/** Resolves once the condition holds, which is checked again and again after a pause; returns the time that it took in ms. */
export async function until(condition: () => boolean | Promise<boolean>, limitMs = 20_000, pauseMs = 20): Promise<number> {
  const startedMs = performance.now();
  while (!(await condition())) {
    if (performance.now() - startedMs > limitMs) throw new RangeError(`Not within ${limitMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return performance.now() - startedMs;
}
