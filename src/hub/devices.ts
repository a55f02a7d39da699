import { runSteps } from '../calls/composition/steps.ts';
import type { DeviceSource } from '../core/devices/device-directory.ts';
import type { Device } from '../core/devices/device-model.ts';
import type { HomeNames } from '../core/devices/device-names.ts';
import { AtmoError } from '../core/errors.ts';
import { attemptWrite } from '../core/files/file-system.ts';
import { type AcceptedText, reportStaleFolder } from '../core/files/owner-file.ts';
import type { DeviceId } from '../core/ids.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { PROFILES_DIR } from '../core/package-files.ts';
import { loadProfiles } from '../profiles/files/load-profiles.ts';
import type { DeviceNameRegistry } from '../profiles/home/device-name-registry.ts';
import { NodeBounds } from '../profiles/home/node-bounds.ts';
import { SceneStore } from '../profiles/home/scene-store.ts';
import { areaTool } from '../profiles/tools/area-tool.ts';
import { classTools } from '../profiles/tools/class-tools.ts';
import { controlMatterDevice, MATTER_COMMAND_ALIAS } from '../profiles/tools/control-matter-device.ts';
import { DeviceScenes } from '../profiles/tools/device-scenes.ts';
import { DeviceToolSync } from '../profiles/tools/device-tool-sync.ts';
import { registerSceneTools } from '../profiles/tools/scene-run.ts';
import { sceneTools } from '../profiles/tools/scene-tools.ts';
import { LiveDeviceStates } from '../profiles/undo/live-device-states.ts';
import { AuditedCalls } from '../profiles/undo/traced-calls.ts';
import { undoTool } from '../profiles/undo/undo-tool.ts';
import { DeviceReplacement } from '../tools/builtin/device-replacement.ts';
import { deviceAdminTools } from '../tools/builtin/device-tools.ts';
import { homeNameTools } from '../tools/builtin/home-name-tools.ts';
import { replaceTool } from '../tools/builtin/replace-tool.ts';
import { type DeviceNameOwnership, toolKeyText } from '../tools/names/name-references.ts';
import { deviceNames } from '../tools/names/resolve-names.ts';
import { DEVICE_CAPABILITIES } from './capabilities.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ToolServices } from './tool-services.ts';

interface DeviceOptions {
  readonly matter: DeviceSource;
  /** Folder with the owner's own profile files. */
  readonly profilesDir: string;
  /** Returns the store that holds the last valid text of an owner's file. */
  readonly takenOf: (path: string) => AcceptedText;
  readonly stack: ServiceStack;
}

/** The scenes of the home, and what is known about the values and risks of its devices. */
export interface Home {
  readonly scenes: SceneStore;
  readonly values: Pick<DeviceToolSync, 'shownBy' | 'unitOf' | 'eventsOf'>;
  readonly bounds: NodeBounds;
}

/** Makes tools and readings for the devices of the fabric, and removes them together with their device. */
export async function openDevices(
  infrastructure: Infrastructure,
  services: ToolServices,
  { matter, profilesDir, takenOf, stack }: DeviceOptions,
): Promise<Home> {
  const { directory, access, administration } = matter;
  const { registry, validator, capabilities } = services;
  const { clock, logger, readings, events, homeNames } = infrastructure;
  const own = {
    path: profilesDir,
    takenOf,
    onStale: (faults: readonly string[]) => reportStaleFolder(infrastructure, { path: profilesDir, faults }),
  };
  const profiles = loadProfiles(PROFILES_DIR, { own });
  const sync = new DeviceToolSync({
    clock,
    logger,
    directory,
    access,
    registry,
    profiles,
    readings,
    events,
    names: infrastructure.deviceNames,
  });
  const register = withToolRefresh(infrastructure.deviceNames, (id) => sync.refresh(id));
  const names = deviceNames(() => directory.list(), homeNames);
  const ports = { devices: sync, names, access, validator };
  const memberPorts = { devices: sync, names, access, validator, directory, areas: homeNames, authorizer: infrastructure.auth.authorizer };
  services.states.use(new LiveDeviceStates({ devices: sync, access, directory, clock }));
  const scenes = new SceneStore(infrastructure.store);
  services.nameUses.add(() =>
    scenes.list().map(({ name, actions }) => ({
      kind: 'scene',
      id: name,
      content: actions.map(({ device, key }) => toolKeyText(device, key)),
    })),
  );
  const scenePorts = {
    devices: sync,
    names,
    access,
    validator,
    directory,
    areas: homeNames,
    authorizer: infrastructure.auth.authorizer,
    scenes,
    events,
    deviceScenes: new DeviceScenes({ store: infrastructure.store, access }),
  };
  const bounds = new NodeBounds(directory, sync);
  const administrative = {
    administration,
    devices: names,
    bounds,
    riskOf: (cluster: string, command: string) => profiles.riskOf(cluster, command),
    naming: {
      register,
      directory,
      uses: services.nameUses,
      authorizer: infrastructure.auth.authorizer,
      areaToday: (area: string) => homeNames.areaToday(area),
    },
    replacement: new DeviceReplacement({ store: infrastructure.store, logger, directory, administration, names: register, scenes }),
  };
  const tools = [
    ...deviceAdminTools(administrative),
    replaceTool(administrative),
    ...homeNameTools({
      names: homeNames,
      devices: names,
      directory: infrastructure.directory,
      readings,
      administration,
      uses: services.nameUses,
    }),
    ...classTools(ports),
    areaTool(memberPorts),
    ...sceneTools(scenePorts),
    undoTool({
      members: memberPorts,
      devices: sync,
      access: memberPorts.access,
      audited: new AuditedCalls(infrastructure.auth.audit, () => infrastructure.auth.time.now()),
      // An undo has effects of its own beside the calls that it makes.
      isComposed: (toolId) => registry.get(toolId)?.innerCalls !== undefined && !toolId.startsWith('hub:undo@'),
      restorableOf: ({ tool, params }) => registry.get(tool)?.restorable?.(params),
      runCalls: async (calls, context) => {
        const { failed } = await runSteps(
          services.pipeline,
          calls.map(({ tool, params = {} }) => ({ tool, params })),
          { context },
        );
        if (failed) throw new AtmoError(failed.error.code, `${failed.tool}: ${failed.error.message}`, failed.error.details);
      },
    }),
    controlMatterDevice({ devices: ports.devices, names: ports.names, access: ports.access, validator: ports.validator, profiles }),
  ];
  for (const tool of tools) registry.register(tool);
  registry.alias(MATTER_COMMAND_ALIAS, 'matter:control_matter_device');
  for (const capability of DEVICE_CAPABILITIES) capabilities.add(capability);
  await stack.start(sync);
  await stack.start(matter);
  const ended = new AbortController();
  stack.own({ [Symbol.asyncDispose]: async () => ended.abort() });
  administrative.replacement.recover(ended.signal);
  sync.open();
  const stopScenes = registerSceneTools(scenePorts, { registry, logger });
  stack.own({ [Symbol.asyncDispose]: async () => stopScenes() });
  stack.own(followAreaRenames(matter, { names: homeNames, logger }));
  return { scenes, values: sync, bounds };
}

/**
 * Watches the devices. If a device appears with a former name of its area, sets the area's current name. The device may have been absent
 * during the rename. A failed write is logged and repeated at the device's next change or the hub's next start.
 */
export function followAreaRenames(
  {
    directory,
    administration,
  }: { readonly directory: Pick<DeviceSource['directory'], 'list' | 'onChange'> } & {
    readonly administration: Pick<DeviceSource['administration'], 'setArea'>;
  },
  { names, logger }: { readonly names: Pick<HomeNames, 'areaToday'>; readonly logger: Logger },
): AsyncDisposable {
  const keep = ({ id, area }: Device): void => {
    if (area === undefined || names.areaToday(area) === area) return;
    attemptWrite(
      () => administration.setArea(id, names.areaToday(area)),
      (problem) => logger.error('device.area_not_kept', { device: id, problem }),
    );
  };
  const stop = directory.onChange((change) => (change.kind === 'added' || change.kind === 'changed') && keep(change.device));
  for (const device of directory.list()) keep(device);
  return { [Symbol.asyncDispose]: async () => stop() };
}

/** Returns the registry of device names. If a device's names change, the device's tools are refreshed too. */
function withToolRefresh(claims: DeviceNameRegistry, refresh: (device: DeviceId) => void): DeviceNameOwnership {
  return {
    namesOf: (device) => claims.namesOf(device),
    all: () => claims.all(),
    findHolder: (name) => claims.findHolder(name),
    holderOfWanted: (device) => claims.holderOfWanted(device),
    wouldFree: (device, name, isHere) => claims.wouldFree(device, name, isHere),
    free: (device, name, isHere) => {
      const freed = claims.free(device, name, isHere);
      refresh(device);
      return freed;
    },
    successors: (former, present) => claims.successors(former, present),
    lacking: (from, to) => claims.lacking(from, to),
    merge: (from, to) => {
      claims.merge(from, to);
      refresh(to);
    },
  };
}
