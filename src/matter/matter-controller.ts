import './matter-platform.ts';
import { networkInterfaces } from 'node:os';
import { Crypto } from '@matter/main';
import type { Clock } from '../core/clock.ts';
import type { AttestationPolicy, DeviceAdministration } from '../core/devices/device-administration.ts';
import type { DeviceAccess, DeviceDirectory, DeviceSource } from '../core/devices/device-directory.ts';
import { AtmoError } from '../core/errors.ts';
import { type AcceptedText, reportStaleFolder } from '../core/files/owner-file.ts';
import type { HubProblems } from '../core/health.ts';
import { lazy, ServiceStack } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { FileAnchor } from '../core/storage/file-anchor.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { DeviceBindings } from './administration/bindings.ts';
import { DeviceSharing } from './administration/fabrics.ts';
import { GroupAdministration, GroupMulticast, GroupStore } from './administration/groups.ts';
import { MatterAdministration } from './administration/matter-administration.ts';
import { NetworkSurvey } from './administration/network-topology.ts';
import { NodeMaintenance } from './administration/node-maintenance.ts';
import { openBle } from './ble/bluez-adapter.ts';
import { Commissioner, type CommissionerOptions } from './commissioning/commissioner.ts';
import { CommissioningStore } from './commissioning/commissioning-recovery.ts';
import { CredentialSetStore } from './commissioning/network-credentials.ts';
import { MatterDevices } from './devices/matter-devices.ts';
import { MatterNode, type MatterNodeOptions } from './matter-node.ts';
import { readClusterModels } from './model/manufacturer-clusters.ts';
import type { SoftwareUpdates } from './updates/software-updates.ts';

/** What the owner sets about Matter. */
export interface MatterSettings {
  readonly stateDir: string;
  readonly interface?: string;
  readonly attestation: AttestationPolicy;
  readonly isBleEnabled: boolean;
  readonly clusterModelsDir: string;
  readonly updatesDir: string;
}

/**
 * The Matter room as the owner configured it. CONFIG_INVALID names a model file with a mistake of which nothing was ever taken,
 * SERVICE_UNAVAILABLE a network interface that is not there.
 */
export async function openMatterController(
  { takenOf, ...collaborators }: MatterControllerCollaborators & { readonly takenOf: (path: string) => AcceptedText },
  settings: MatterSettings,
): Promise<MatterController> {
  const { stateDir, attestation, isBleEnabled, clusterModelsDir, updatesDir } = settings;
  if (settings.interface !== undefined) requireInterface(settings.interface);
  const ble = isBleEnabled ? await openBle(collaborators.logger) : undefined;
  const { contents, faults, keep } = readClusterModels(clusterModelsDir, takenOf);
  keep();
  reportStaleFolder(collaborators, { path: clusterModelsDir, faults });
  const node = {
    stateDir,
    clusters: contents,
    ...(settings.interface !== undefined && { interface: settings.interface }),
    ...(ble && { ble }),
  };
  return new MatterController(collaborators, { node, commissioning: { attestation }, updatesDir });
}

/** What the room needs of the hub. */
interface MatterControllerCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: KeyValueStore;
  readonly problems: Pick<HubProblems, 'raise'>;
  /** Of the file that holds the fabric. */
  readonly anchor: FileAnchor;
}

/** Settings of the parts of the room. */
export interface MatterControllerOptions {
  readonly node: MatterNodeOptions;
  readonly commissioning?: CommissionerOptions;
  /** Folder of software images for devices. */
  readonly updatesDir: string;
}

/** The Matter fabric of this hub: its node, devices, commissioning and administration, wired by hand. */
class MatterController implements DeviceSource {
  readonly directory: DeviceDirectory;
  readonly access: DeviceAccess;
  readonly administration: DeviceAdministration;
  readonly #stack = new ServiceStack();
  readonly #services: readonly [MatterNode, MatterDevices, Commissioner];

  constructor({ clock, logger, store, problems, anchor }: MatterControllerCollaborators, options: MatterControllerOptions) {
    const matter = new MatterNode({ logger, clock, problems, anchor }, options.node);
    const journal = new CommissioningStore({ store, clock });
    const wishFor = (nodeId: string) => journal.list().find((entry) => entry.nodeId === nodeId);
    const devices = new MatterDevices({ matterNode: matter, store, clock, logger, joiningDetailsOf: wishFor });
    const credentials = new CredentialSetStore({ store });
    const commissioner = new Commissioner({ matter, store, credentials, recorder: devices, logger, clock }, options.commissioning);
    const access: DeviceAccess = devices;
    const cast = () => new GroupMulticast(matter.fabric, matter.peers);
    const adminNodeId = () => String(matter.fabric.rootNodeId);
    this.directory = devices;
    this.access = access;
    this.#services = [matter, devices, commissioner];
    this.administration = new MatterAdministration({
      devices,
      commissioner,
      credentials,
      sharing: () => new DeviceSharing(matter.node.env.get(Crypto), clock),
      care: new NodeMaintenance({ devices, clock }),
      survey: new NetworkSurvey({ directory: devices, access: devices.wholeNodes }),
      updates: lazySoftwareUpdates({ devices, matter, clock, updatesDir: options.updatesDir }),
      groups: new GroupAdministration({ book: new GroupStore(store), directory: devices, access: devices.wholeNodes, cast }),
      bindings: new DeviceBindings({ directory: devices, access: devices.wholeNodes, adminNodeId }),
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

interface LazyUpdatesParts {
  readonly devices: MatterDevices;
  readonly matter: MatterNode;
  readonly clock: Clock;
  readonly updatesDir: string;
}

/** Software updates, loaded when they are first asked for; the node has to run by then. */
function lazySoftwareUpdates({ devices, matter, clock, updatesDir }: LazyUpdatesParts): () => Promise<SoftwareUpdates> {
  return lazy(async () => {
    const [{ SoftwareUpdates }, { ImageFolder }] = await Promise.all([
      import('./updates/software-updates.ts'),
      import('./updates/update-images.ts'),
    ]);
    return new SoftwareUpdates({ devices, matter, clock, folder: new ImageFolder(updatesDir, matter.node.env.get(Crypto)) });
  });
}

/**
 * SERVICE_UNAVAILABLE when the network interface of the configuration is not there or has no address: matter.js would only say that its
 * mDNS failed. No CONFIG_INVALID, after which the service stays down: an interface may come later than the hub.
 */
export function requireInterface(name: string, present: ReturnType<typeof networkInterfaces> = networkInterfaces()): void {
  if (present[name] !== undefined) return;
  const others = Object.entries(present).flatMap(([other, addresses]) => (addresses?.some(({ internal }) => !internal) ? [other] : []));
  const choice = others.length > 0 ? `there ${others.length === 1 ? 'is' : 'are'} ${others.join(', ')}` : 'there is none at all';
  throw new AtmoError(
    'SERVICE_UNAVAILABLE',
    `This machine has no network interface "${name}" with an address; ${choice}. Correct matter.interface, or ATMO_MATTER_INTERFACE where that is set`,
  );
}
