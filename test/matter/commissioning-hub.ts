import { systemClock } from '../../src/core/clock.ts';
import type { CommissionProgress, CommissionRequest, CommissionResult } from '../../src/core/devices/device-administration.ts';
import type { Device } from '../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../src/core/devices/device-names.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { HubProblems } from '../../src/core/health.ts';
import { createLogger } from '../../src/core/logger.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import type { AdapterBle } from '../../src/matter/ble/ble-central.ts';
import { Commissioner, type CommissionerOptions } from '../../src/matter/commissioning/commissioner.ts';
import type { DeviceRecorder } from '../../src/matter/commissioning/commissioning-recovery.ts';
import { CredentialSetStore } from '../../src/matter/commissioning/network-credentials.ts';
import { MatterNode } from '../../src/matter/matter-node.ts';
import { NO_ANCHOR } from '../storage/storage-services.ts';

/** The result of a commissioning, or its error. */
export type Outcome = { readonly result: CommissionResult } | { readonly error: AtmoError };

/** The parts of a hub that commissioning needs; its recorder stores the recorded devices. */
export class CommissioningHub implements AsyncDisposable {
  readonly node: MatterNode;
  readonly commissioner: Commissioner;
  readonly credentials: CredentialSetStore;
  readonly recorded = new Map<string, { readonly name?: string }>();
  readonly logLines: string[] = [];
  readonly bridgePasscodes = new Set<number>();

  constructor(options: { readonly stateDir: string; readonly store: KeyValueStore; readonly ble?: AdapterBle } & CommissionerOptions) {
    const logger = createLogger('warn', (line) => this.logLines.push(line));
    this.node = new MatterNode(
      { logger, clock: systemClock, problems: new HubProblems(), anchor: NO_ANCHOR },
      { stateDir: options.stateDir, interface: 'eth0', ...(options.ble && { ble: options.ble }) },
    );
    this.credentials = new CredentialSetStore(options);
    const recorder: DeviceRecorder = {
      recognised: () => [],
      record: async (nodeId, wish) => {
        this.recorded.set(nodeId, wish.name === undefined ? {} : { name: wish.name });
        return [deviceOf(nodeId, wish.name)];
      },
    };
    this.commissioner = new Commissioner(
      {
        matter: this.node,
        store: options.store,
        credentials: this.credentials,
        recorder,
        logger,
        clock: systemClock,
        bridgePasscodes: this.bridgePasscodes,
      },
      options,
    );
  }

  async start(): Promise<void> {
    await this.node.start();
    await this.commissioner.start();
  }

  async commission(
    request: CommissionRequest,
    onProgress: (progress: CommissionProgress) => void = () => {},
    signal = new AbortController().signal,
  ): Promise<Outcome> {
    try {
      return { result: await this.commissioner.commission(request, { signal, onProgress }) };
    } catch (error) {
      if (error instanceof AtmoError) return { error };
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.commissioner[Symbol.asyncDispose]();
    await this.node[Symbol.asyncDispose]();
  }
}

function deviceOf(nodeId: string, name = nodeId): Device {
  return {
    id: parseDeviceId(`node-${nodeId}`),
    name,
    kind: 'node',
    nodeId,
    vendor: { id: 0, name: '' },
    product: { id: 0, name: '' },
    deviceTypes: [],
    reachability: 'unknown',
    lastSeenMs: 0,
    isSleepy: false,
  };
}
