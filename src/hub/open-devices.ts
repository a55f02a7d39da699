import { join } from 'node:path';
import type { DeviceRoom } from '../core/devices/device-room.ts';
import type { ServiceStack } from '../core/service.ts';
import { classTools } from '../profiles/class-tools/class-tools.ts';
import { NodeBounds } from '../profiles/clusters/node-bounds.ts';
import { controlMatterDevice, MATTER_COMMAND_ALIAS } from '../profiles/device-tools/control-matter-device.ts';
import { DeviceToolSync } from '../profiles/device-tools/device-tool-sync.ts';
import { loadProfiles } from '../profiles/files/load-profiles.ts';
import { deviceAdminTools } from '../tools/builtin/devices/device-admin-tools.ts';
import { homeNameTools } from '../tools/builtin/devices/home-name-tools.ts';
import { deviceNames } from '../tools/places/resolve-device.ts';
import { DEVICE_CAPABILITIES } from './hub-capabilities.ts';
import type { Ground } from './open-ground.ts';
import type { Workshop } from './open-workshop.ts';

const PROFILES = join(import.meta.dirname, '../../device-profiles');

interface DeviceOptions {
  readonly room: DeviceRoom;
  /** The owner's own profile files. */
  readonly profilesDir: string;
  readonly stack: ServiceStack;
}

/** Turns the devices of the fabric into tools and readings, for as long as they are there. */
export async function openDevices(ground: Ground, workshop: Workshop, { room, profilesDir, stack }: DeviceOptions): Promise<void> {
  const { directory, access, administration } = room;
  const { registry, validator, capabilities } = workshop;
  const profiles = loadProfiles(PROFILES, { own: profilesDir });
  const { clock, logger, readings, events, homeNames } = ground;
  const sync = new DeviceToolSync({ clock, logger, directory, access, registry, profiles, readings, events });
  const names = deviceNames(() => directory.list(), homeNames);
  const ports = { devices: sync, names, access, validator };
  const tools = [
    ...deviceAdminTools({
      administration,
      devices: names,
      bounds: new NodeBounds(directory, sync),
      riskOf: (cluster, command) => profiles.riskOf(cluster, command),
    }),
    ...homeNameTools({ names: homeNames, devices: names, directory }),
    ...classTools(ports),
    controlMatterDevice({ ...ports, profiles }),
  ];
  for (const tool of tools) registry.register(tool);
  registry.alias(MATTER_COMMAND_ALIAS, 'matter:control_matter_device');
  for (const capability of DEVICE_CAPABILITIES) capabilities.add(capability);
  await stack.start(sync);
  await stack.start(room);
}
