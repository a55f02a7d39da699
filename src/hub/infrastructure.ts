import type { MeshPorts } from '../calls/mesh-ports.ts';
import type { HubContext } from '../core/context.ts';
import { DeviceAttention } from '../core/devices/device-attention.ts';
import { CombinedDirectory, type DeviceDirectory, NO_DEVICES } from '../core/devices/device-directory.ts';
import type { BridgingDeviceSource } from '../core/devices/matter-bridge.ts';
import { EventBus } from '../core/events.ts';
import { type AcceptedText, acceptedTextsInStore } from '../core/files/owner-file.ts';
import type { HubProblems } from '../core/health.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import { requireInterface } from '../matter/network-interface.ts';
import { hasMatterState, OnDemandMatter } from '../matter/on-demand-matter.ts';
import { LocalDeviceGroups, RemoteDeviceGroups } from '../profiles/home/device-groups.ts';
import { DeviceNameRegistry } from '../profiles/home/device-name-registry.ts';
import { BoardDevices } from '../sensors/sensor-registry.ts';
import { HistoryStore } from '../storage/history/history-store.ts';
import type { StorageServices } from '../storage/sqlite-file.ts';
import { StateAnchors } from '../storage/state-anchors.ts';
import { prepareStateDirectory } from '../storage/state-directory.ts';
import { StateLock } from '../storage/state-lock.ts';
import { StateStore } from '../storage/state-store.ts';
import { StoredHomeNames } from '../tools/names/home-names.ts';
import { type Auth, openAuth } from './auth.ts';
import type { HubConfig } from './config/config.ts';

const DAY_MS = 86_400_000;

/** The parts that exist before all tools and devices. */
export interface Infrastructure extends Pick<HubContext, 'clock' | 'logger' | 'events'> {
  readonly problems: HubProblems;
  readonly store: StateStore;
  readonly readings: HistoryStore;
  /** The Matter devices; undefined if Matter is off. */
  readonly matter: BridgingDeviceSource | undefined;
  readonly attention: DeviceAttention;
  readonly directory: DeviceDirectory;
  /** The types and areas of the devices of this hub. */
  readonly deviceGroups: LocalDeviceGroups;
  readonly boardDevices: BoardDevices;
  readonly homeNames: StoredHomeNames;
  readonly deviceNames: DeviceNameRegistry;
  /** Whether the store lost its last changes before this start. */
  readonly hasLostState: boolean;
  readonly auth: Auth;
  readonly mesh: () => MeshPorts | undefined;
}

interface InfrastructureInputs extends Pick<HubContext, 'clock' | 'logger'> {
  readonly problems: HubProblems;
  readonly mesh: () => MeshPorts | undefined;
  /** Replaces Matter in tests. */
  readonly openMatter?: OpenMatter | undefined;
}

/** Opens the Matter devices, which are not started yet; undefined if Matter is off. */
export type OpenMatter = (
  parts: MatterCollaborators,
  config: HubConfig['matter'],
  stateDir: string,
) => Promise<BridgingDeviceSource | undefined>;

/**
 * Opens the state directory with its databases, the Matter fabric and the parts of `Auth`. Rejects with CONFLICT if another hub uses the
 * directory, and with STORAGE_FAILED if the directory cannot be opened.
 */
export async function openInfrastructure(
  { clock, logger, problems, mesh, openMatter = openMatterFabric }: InfrastructureInputs,
  config: HubConfig,
  stack: ServiceStack,
): Promise<Infrastructure> {
  const directory = prepareStateDirectory(config.stateDir, logger);
  await stack.start(new StateLock(directory.root));
  const events = new EventBus('atmosphere-edge', clock);
  const fileAnchors = new StateAnchors(directory.root, logger);
  await stack.start(fileAnchors);
  const storageServices = { clock, logger, events, problems, fileAnchors };
  const cacheKib = config.memory.databaseCacheKib;
  const places = { directory: directory.root, snapshotDirectory: directory.snapshots, cacheKib };
  const store = new StateStore(storageServices, places);
  await stack.start(store);
  const { rawDays, fiveMinuteDays, hourlyDays } = config.history;
  const retentionMs = { raw: rawDays * DAY_MS, '5min': fiveMinuteDays * DAY_MS, '1h': hourlyDays * DAY_MS };
  const readings = new HistoryStore(storageServices, { ...places, retentionMs });
  await stack.start(readings);
  const takenOf = acceptedTextsInStore(store, config.stateDir);
  const attention = new DeviceAttention(clock);
  const matter = await openMatter(
    {
      clock,
      attention,
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
  const boardDevices = new BoardDevices(storageServices);
  const devices = new CombinedDirectory([matter?.directory ?? NO_DEVICES, boardDevices]);
  const deviceNames = new DeviceNameRegistry(store);
  const homeNames = new StoredHomeNames(store, deviceNames);
  const deviceGroups = new LocalDeviceGroups(devices, homeNames);
  const shared = {
    clock,
    logger,
    events,
    problems,
    fileAnchors,
    store,
    hasLostState: store.hasLostChanges,
    snapshotDirectory: directory.snapshots,
    devices: deviceGroups,
    devicesElsewhere: new RemoteDeviceGroups(mesh),
  };
  const settings = { ...config, stateDir: directory.root };
  const auth = await openAuth(shared, settings, stack);
  return {
    clock,
    logger,
    events,
    problems,
    store,
    readings,
    matter,
    attention,
    directory: devices,
    deviceGroups,
    boardDevices,
    homeNames,
    deviceNames,
    hasLostState: store.hasLostChanges,
    auth,
    mesh,
  };
}

interface MatterCollaborators extends StorageServices {
  readonly store: StateStore;
  readonly attention: DeviceAttention;
  readonly takenOf: (path: string) => AcceptedText;
}

/**
 * Opens Matter. If Matter is off, returns undefined. If it is on and was never used, its code is loaded at its first use, which saves 60 MB
 * of memory until then.
 */
const openMatterFabric: OpenMatter = async (
  { clock, logger, store, attention, takenOf, problems, fileAnchors },
  { isEnabled, ...matter },
  stateDir,
) => {
  if (!isEnabled) return undefined;
  const anchor = fileAnchors.of('matter/hub/storage.db');
  const ownLogger = logger.child({ module: 'matter' });
  const open = async () => {
    const { openMatterController } = await import('../matter/matter-controller.ts');
    return openMatterController({ clock, logger: ownLogger, store, attention, takenOf, problems, anchor }, { stateDir, ...matter });
  };
  const { updatesDir, clusterModelsDir } = matter;
  if (hasMatterState({ stateDir, clusterModelsDir, anchor, store })) return open();
  if (matter.interface !== undefined) requireInterface(matter.interface);
  return new OnDemandMatter({ logger: ownLogger, open, updatesDir });
};
