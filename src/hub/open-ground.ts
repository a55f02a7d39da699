import type { HubConfig } from '../config/config.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { DeviceRoom } from '../core/devices/device-room.ts';
import { JoinedDirectory } from '../core/devices/joined-directory.ts';
import { NO_DEVICES } from '../core/devices/no-devices.ts';
import { EventBus } from '../core/events.ts';
import type { HubProblems } from '../core/hub-problems.ts';
import type { Logger } from '../core/logger.ts';
import type { ServiceStack } from '../core/service.ts';
import { type TakenText, takenInStore } from '../core/storage/owner-file.ts';
import type { Clock } from '../core/time/clock.ts';
import type { JournalCollaborators } from '../journal/database-opening.ts';
import { HistoryStore } from '../journal/history/history-store.ts';
import { StateAnchors } from '../journal/state-anchors.ts';
import { prepareStateDirectory } from '../journal/state-directory.ts';
import { StateLock } from '../journal/state-lock.ts';
import { StateStore } from '../journal/state-store.ts';
import type { Membership } from '../mesh/membership/open-membership.ts';
import { DeviceGroups } from '../profiles/home/device-groups.ts';
import { DeviceNameClaims } from '../profiles/home/device-name-claims.ts';
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
  readonly problems: HubProblems;
  readonly store: StateStore;
  readonly readings: HistoryStore;
  /** Absent without Matter. */
  readonly room: DeviceRoom | undefined;
  /** Those of Matter and of the board. */
  readonly directory: DeviceDirectory;
  readonly boardDevices: BoardDevices;
  readonly homeNames: KeptHomeNames;
  /** Which device has which name. */
  readonly deviceNames: DeviceNameClaims;
  readonly membership: Membership;
  readonly access: Access;
  /** The mesh, while the hub is in one. */
  readonly mesh: () => MeshPorts | undefined;
}

interface GroundParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly problems: HubProblems;
  readonly mesh: () => MeshPorts | undefined;
}

/** Opens the state directory with all that is kept there, the fabric, and what decides about calls. CONFLICT, STORAGE_FAILED. */
export async function openGround({ clock, logger, problems, mesh }: GroundParts, config: HubConfig, stack: ServiceStack): Promise<Ground> {
  const directory = prepareStateDirectory(config.stateDir, logger);
  await stack.start(new StateLock(directory.root));
  const events = new EventBus('atmosphere-edge', clock);
  const fileAnchors = new StateAnchors(directory.root, logger);
  await stack.start(fileAnchors);
  const journal = { clock, logger, events, problems, fileAnchors };
  const places = { directory: directory.root, snapshotDirectory: directory.snapshots };
  const store = new StateStore(journal, places);
  await stack.start(store);
  const { rawDays, fiveMinuteDays, hourlyDays } = config.history;
  const retentionMs = { raw: rawDays * DAY_MS, '5min': fiveMinuteDays * DAY_MS, '1h': hourlyDays * DAY_MS };
  const readings = new HistoryStore(journal, { ...places, retentionMs });
  await stack.start(readings);
  const takenOf = takenInStore(store, config.stateDir);
  const room = await openMatter(
    {
      clock,
      logger,
      events,
      problems,
      fileAnchors,
      store,
      takenOf,
    },
    config.matter,
    directory.matter,
  );
  const boardDevices = new BoardDevices(journal);
  const devices = new JoinedDirectory([room?.directory ?? NO_DEVICES, boardDevices]);
  const deviceNames = new DeviceNameClaims(store);
  const homeNames = new KeptHomeNames(store, deviceNames);
  const shared = {
    clock,
    logger,
    events,
    problems,
    fileAnchors,
    store,
    snapshotDirectory: directory.snapshots,
    devices: new DeviceGroups(devices, homeNames),
    devicesElsewhere: new DevicesElsewhere(mesh),
  };
  const settings = { ...config, stateDir: directory.root };
  const { membership, access } = await openTrust(shared, settings, stack);
  return {
    clock,
    logger,
    events,
    problems,
    store,
    readings,
    room,
    directory: devices,
    boardDevices,
    homeNames,
    deviceNames,
    membership,
    access,
    mesh,
  };
}

interface MatterGround extends JournalCollaborators {
  readonly store: StateStore;
  readonly takenOf: (path: string) => TakenText;
}

/** Loaded on demand: a hub without devices is 100 MB smaller. */
async function openMatter(
  { clock, logger, store, takenOf, problems, fileAnchors }: MatterGround,
  { isEnabled, ...matter }: HubConfig['matter'],
  stateDir: string,
): Promise<DeviceRoom | undefined> {
  if (!isEnabled) return undefined;
  const { openMatterRoom } = await import('../matter/open-matter-room.ts');
  const anchor = fileAnchors.of('matter/hub/storage.db');
  return openMatterRoom({ clock, logger: logger.child({ room: 'matter' }), store, takenOf, problems, anchor }, { stateDir, ...matter });
}
