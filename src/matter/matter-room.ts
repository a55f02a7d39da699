import './matter-platform.ts';
import { Crypto } from '@matter/main';
import type { DeviceAdministration } from '../core/devices/device-administration.ts';
import type { DeviceAccess, DeviceDirectory } from '../core/devices/device-directory.ts';
import type { DeviceRoom } from '../core/devices/device-room.ts';
import type { HubProblems } from '../core/hub-problems.ts';
import type { Logger } from '../core/logger.ts';
import { ServiceStack } from '../core/service.ts';
import type { FileAnchor } from '../core/storage/file-anchor.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { Clock } from '../core/time/clock.ts';
import { DeviceBindings } from './administration/device-bindings.ts';
import { DeviceGroups } from './administration/device-groups.ts';
import { DeviceSharing } from './administration/device-sharing.ts';
import { GroupBook } from './administration/group-book.ts';
import { GroupCast } from './administration/group-cast.ts';
import { MatterAdministration } from './administration/matter-administration.ts';
import { NetworkSurvey } from './administration/network-survey.ts';
import { NodeCare } from './administration/node-care.ts';
import { Commissioner, type CommissionerOptions } from './commissioning/commissioner.ts';
import { CommissioningJournal } from './commissioning/commissioning-journal.ts';
import { CredentialSets } from './commissioning/credential-sets.ts';
import { MatterDevices } from './devices/matter-devices.ts';
import { MatterNode, type MatterNodeOptions } from './matter-node.ts';
import { lazyUpdates } from './updates/lazy-updates.ts';

/** What the room needs of the hub. */
export interface MatterRoomCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: KeyValueStore;
  readonly problems: Pick<HubProblems, 'raise'>;
  /** Of the file that holds the fabric. */
  readonly anchor: FileAnchor;
}

/** Settings of the parts of the room. */
export interface MatterRoomOptions {
  readonly node: MatterNodeOptions;
  readonly commissioning?: CommissionerOptions;
  /** Folder of software images for devices. */
  readonly updatesDir: string;
}

/** The Matter fabric of this hub: its node, devices, commissioning and administration, wired by hand. */
export class MatterRoom implements DeviceRoom {
  readonly directory: DeviceDirectory;
  readonly access: DeviceAccess;
  readonly administration: DeviceAdministration;
  readonly #stack = new ServiceStack();
  readonly #services: readonly [MatterNode, MatterDevices, Commissioner];

  constructor({ clock, logger, store, problems, anchor }: MatterRoomCollaborators, options: MatterRoomOptions) {
    const matter = new MatterNode({ logger, clock, problems, anchor }, options.node);
    const journal = new CommissioningJournal({ store, clock });
    const wishFor = (nodeId: string) => journal.list().find((entry) => entry.nodeId === nodeId);
    const devices = new MatterDevices({ matterNode: matter, store, clock, logger, wishFor });
    const credentials = new CredentialSets({ store });
    const commissioner = new Commissioner({ matter, store, credentials, recorder: devices, logger, clock }, options.commissioning);
    const access: DeviceAccess = devices;
    const cast = () => new GroupCast(matter.fabric, matter.peers);
    const adminNodeId = () => String(matter.fabric.rootNodeId);
    this.directory = devices;
    this.access = access;
    this.#services = [matter, devices, commissioner];
    this.administration = new MatterAdministration({
      devices,
      commissioner,
      credentials,
      sharing: () => new DeviceSharing(matter.node.env.get(Crypto), clock),
      care: new NodeCare({ devices, clock }),
      survey: new NetworkSurvey({ directory: devices, access: devices.wholeNodes }),
      updates: lazyUpdates({ devices, matter, clock, updatesDir: options.updatesDir }),
      groups: new DeviceGroups({ book: new GroupBook(store), directory: devices, access: devices.wholeNodes, cast }),
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
