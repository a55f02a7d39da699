import './matter-platform.ts';
import { Crypto } from '@matter/main';
import type { AttestationPolicy, DeviceAdministration } from '../core/devices/device-administration.ts';
import type { DeviceAttention } from '../core/devices/device-attention.ts';
import type { DeviceAccess, DeviceDirectory } from '../core/devices/device-directory.ts';
import type { BridgeNodes, BridgingDeviceSource } from '../core/devices/matter-bridge.ts';
import { type AcceptedText, reportStaleFolder } from '../core/files/owner-file.ts';
import { present } from '../core/json.ts';
import { lazy, ServiceStack } from '../core/lifecycle.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { DeviceBindings } from './administration/bindings.ts';
import { DeviceSharing } from './administration/fabrics.ts';
import { GroupAdministration, GroupMulticast, GroupStore } from './administration/groups.ts';
import { matterAdministration, NodeMaintenance } from './administration/matter-administration.ts';
import { NetworkSurvey } from './administration/network-topology.ts';
import { openBle } from './ble/bluez-adapter.ts';
import { Commissioner } from './commissioning/commissioner.ts';
import { CommissioningStore } from './commissioning/commissioning-recovery.ts';
import { CredentialSetStore } from './commissioning/network-credentials.ts';
import { MatterDevices } from './devices/matter-devices.ts';
import { MatterNode, type MatterNodeCollaborators, type MatterNodeOptions } from './matter-node.ts';
import { readClusterModels } from './model/manufacturer-clusters.ts';
import { requireInterface } from './network-interface.ts';

/** The owner's settings for Matter. */
export interface MatterSettings {
  readonly stateDir: string;
  readonly interface?: string;
  readonly attestation: AttestationPolicy;
  readonly isBleEnabled: boolean;
  readonly clusterModelsDir: string;
  readonly updatesDir: string;
}

/**
 * Opens the Matter module with the owner's settings. Throws CONFIG_INVALID, with the file name, if a cluster model file has a mistake and
 * was never valid before. Throws SERVICE_UNAVAILABLE if the network interface is missing.
 */
export async function openMatterController(
  {
    takenOf,
    clock,
    logger,
    problems,
    anchor,
    store,
    attention,
  }: MatterControllerCollaborators & { readonly takenOf: (path: string) => AcceptedText },
  settings: MatterSettings,
): Promise<MatterController> {
  const { stateDir, isBleEnabled, clusterModelsDir } = settings;
  if (settings.interface !== undefined) requireInterface(settings.interface);
  const ble = isBleEnabled ? await openBle(logger) : undefined;
  const { contents, faults, keep } = readClusterModels(clusterModelsDir, takenOf);
  keep();
  reportStaleFolder({ logger, problems }, { path: clusterModelsDir, faults });
  const node = present({ stateDir, clusters: contents, interface: settings.interface, ble });
  return new MatterController({ clock, logger, problems, anchor, store, attention }, node, settings);
}

interface MatterControllerCollaborators extends MatterNodeCollaborators {
  readonly attention: DeviceAttention;
  readonly store: KeyValueStore;
}

/** The Matter fabric of this hub: its node, devices, commissioning and administration. */
class MatterController implements BridgingDeviceSource {
  readonly directory: DeviceDirectory;
  readonly access: DeviceAccess;
  readonly administration: DeviceAdministration;
  readonly bridges: BridgeNodes;
  readonly #stack = new ServiceStack();
  readonly #services: readonly [MatterNode, MatterDevices, Commissioner];

  constructor(
    collaborators: MatterControllerCollaborators,
    node: MatterNodeOptions,
    { attestation, updatesDir, stateDir }: MatterSettings,
  ) {
    const { clock, logger, store, problems, anchor, attention } = collaborators;
    const matter = new MatterNode({ logger, clock, problems, anchor }, node);
    const commissionings = new CommissioningStore({ store, clock });
    const joiningDetailsOf = (nodeId: string) => commissionings.list().find((entry) => entry.nodeId === nodeId);
    const devices = new MatterDevices({ matterNode: matter, attention, store, clock, logger, joiningDetailsOf });
    const credentials = new CredentialSetStore({ store });
    const passcodes = new Set<number>();
    const commissioner = new Commissioner(
      { matter, store, credentials, recorder: devices, logger, clock, bridgePasscodes: passcodes },
      { attestation },
    );
    const access = devices.wholeNodes;
    const adminNodeId = () => String(matter.fabric.rootNodeId);
    this.directory = devices;
    this.access = devices;
    this.bridges = bridgeNodes({ clock, logger, problems, passcodes }, stateDir);
    this.#services = [matter, devices, commissioner];
    this.administration = matterAdministration({
      devices,
      commissioner,
      credentials,
      sharing: () => new DeviceSharing(matter.node.env.get(Crypto), clock),
      maintenance: new NodeMaintenance(devices, clock),
      survey: new NetworkSurvey({ directory: devices, access }),
      updates: lazy(async () => {
        const [{ SoftwareUpdates }, { ImageFolder }] = await Promise.all([
          import('./updates/software-updates.ts'),
          import('./updates/update-images.ts'),
        ]);
        return new SoftwareUpdates({ devices, matter, clock, folder: new ImageFolder(updatesDir, matter.node.env.get(Crypto)) });
      }),
      groups: new GroupAdministration({
        store: new GroupStore(store),
        directory: devices,
        access,
        multicast: () => new GroupMulticast(matter.fabric, matter.peers),
      }),
      bindings: new DeviceBindings({ directory: devices, access, adminNodeId }),
      adminNodeId,
    });
  }

  async start(): Promise<void> {
    for (const service of this.#services) await this.#stack.start(service);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack[Symbol.asyncDispose]();
  }
}

/** Returns the port that opens bridges. A hub without bridged things does not load their code. */
function bridgeNodes(
  {
    clock,
    logger,
    problems,
    passcodes,
  }: Pick<MatterNodeCollaborators, 'clock' | 'logger' | 'problems'> & { readonly passcodes: Set<number> },
  stateDir: string,
): BridgeNodes {
  const storageOf = async (number: number) => {
    const { BridgeStorage } = await import('./bridge/bridge-storage.ts');
    return new BridgeStorage({ logger, problems }, stateDir, number);
  };
  return {
    open: async (options, endpoints) => {
      const { MatterBridgeNode } = await import('./bridge/bridge-node.ts');
      return MatterBridgeNode.start({ clock, logger, passcodes, storage: await storageOf(options.number) }, options, endpoints);
    },
    erase: async (number) => (await storageOf(number)).erase(),
  };
}
