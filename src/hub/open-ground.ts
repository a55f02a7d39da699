import type { HubConfig } from '../config/config.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { DeviceRoom } from '../core/devices/device-room.ts';
import { JoinedDirectory } from '../core/devices/joined-directory.ts';
import { NO_DEVICES } from '../core/devices/no-devices.ts';
import { EventBus } from '../core/events.ts';
import type { Logger } from '../core/logger.ts';
import type { ServiceStack } from '../core/service.ts';
import type { Clock } from '../core/time/clock.ts';
import { HistoryStore } from '../journal/history/history-store.ts';
import { prepareStateDirectory } from '../journal/state-directory.ts';
import { StateLock } from '../journal/state-lock.ts';
import { StateStore } from '../journal/state-store.ts';
import type { Membership } from '../mesh/membership/open-membership.ts';
import { DeviceGroups } from '../profiles/home/device-groups.ts';
import { DevicesElsewhere } from '../profiles/home/devices-elsewhere.ts';
import { BoardDevices } from '../sensors/board-devices.ts';
import type { MeshPorts } from '../tools/elsewhere/mesh-outlook.ts';
import { KeptHomeNames } from '../tools/search/kept-home-names.ts';
import type { Access } from './open-access.ts';
import { openTrust } from './open-mesh.ts';

const DAY_MS = 86_400_000;

/** What stands before any tool or device does. */
export interface Ground {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly store: StateStore;
  readonly readings: HistoryStore;
  /** Absent without Matter. */
  readonly room: DeviceRoom | undefined;
  /** Those of Matter and of the board. */
  readonly directory: DeviceDirectory;
  readonly boardDevices: BoardDevices;
  readonly homeNames: KeptHomeNames;
  readonly membership: Membership;
  readonly access: Access;
  /** The mesh, while the hub is in one. */
  readonly mesh: () => MeshPorts | undefined;
}

interface GroundParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mesh: () => MeshPorts | undefined;
}

/** Opens the state directory with all that is kept there, the fabric, and what decides about calls. CONFLICT, STORAGE_FAILED. */
export async function openGround({ clock, logger, mesh }: GroundParts, config: HubConfig, stack: ServiceStack): Promise<Ground> {
  const directory = prepareStateDirectory(config.stateDir, logger);
  await stack.start(new StateLock(directory.root));
  const events = new EventBus('atmosphere-edge', clock);
  const journal = { clock, logger, events };
  const places = { directory: directory.root, snapshotDirectory: directory.snapshots };
  const store = new StateStore(journal, places);
  await stack.start(store);
  const { rawDays, fiveMinuteDays, hourlyDays } = config.history;
  const retentionMs = { raw: rawDays * DAY_MS, '5min': fiveMinuteDays * DAY_MS, '1h': hourlyDays * DAY_MS };
  const readings = new HistoryStore(journal, { ...places, retentionMs });
  await stack.start(readings);
  const room = await openMatter({ clock, logger, store }, config.matter, directory.matter);
  const boardDevices = new BoardDevices(journal);
  const devices = new JoinedDirectory([room?.directory ?? NO_DEVICES, boardDevices]);
  const shared = {
    ...journal,
    store,
    snapshotDirectory: directory.snapshots,
    devices: new DeviceGroups(devices),
    devicesElsewhere: new DevicesElsewhere(mesh),
  };
  const { membership, access } = await openTrust(shared, { ...config, stateDir: directory.root }, stack);
  const homeNames = new KeptHomeNames(store);
  return { ...journal, store, readings, room, directory: devices, boardDevices, homeNames, membership, access, mesh };
}

/** Loaded on demand: a hub without devices is 100 MB smaller. */
async function openMatter(
  { clock, logger, store }: { readonly clock: Clock; readonly logger: Logger; readonly store: StateStore },
  { isEnabled, ...matter }: HubConfig['matter'],
  stateDir: string,
): Promise<DeviceRoom | undefined> {
  if (!isEnabled) return undefined;
  const { openMatterRoom } = await import('../matter/open-matter-room.ts');
  return openMatterRoom({ clock, logger: logger.child({ room: 'matter' }), store }, { stateDir, ...matter });
}
