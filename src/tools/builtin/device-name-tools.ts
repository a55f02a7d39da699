import type { Authorizer } from '../../core/auth/authorizer.ts';
import type { Principal } from '../../core/auth/principal.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { foldedName } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, p } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import type { NameReference, NameReferences } from '../names/name-references.ts';
import { copyJsonObject } from '../schema/plain-json.ts';
import { FOR_HUB, HUB_ACTS, HUB_READS } from './hub-tool.ts';

/** All that a device is and was called, each list beginning with what counts today. */
export interface ClaimedDeviceNames {
  readonly device: DeviceId;
  /** What people call it. */
  readonly names: readonly string[];
  /** Beginnings of its tools' names. */
  readonly prefixes: readonly string[];
  readonly tools: readonly string[];
}

/** Port: which device has which name, for ever. */
export interface DeviceNameOwnership {
  namesOf(device: DeviceId): ClaimedDeviceNames | undefined;
  all(): readonly ClaimedDeviceNames[];
  findHolder(name: string): DeviceId | undefined;
  /** The device whose tools begin with what this one's name would give; undefined where they are its own. */
  holderOfWanted(device: Device): DeviceId | undefined;
  /** Texts that the device no longer has. STORAGE_FAILED. */
  free(device: DeviceId, name: string, isHere: boolean): readonly string[];
  /** What `free` would take away. */
  wouldFree(device: DeviceId, name: string, isHere: boolean): readonly string[];
  /** Gives the names of a device to the one that it turned out to be. STORAGE_FAILED. */
  merge(from: DeviceId, to: DeviceId): void;
}

/** What tells of names. */
export interface NamingPorts {
  readonly register: DeviceNameOwnership;
  readonly directory: Pick<DeviceDirectory, 'get' | 'list'>;
  readonly uses: Pick<NameReferences, 'of'>;
  readonly authorizer: Authorizer;
  /** The room that a name means today. */
  areaToday(area: string): string;
}

/** What names a tool's answer tells of: who uses them, and how. */
export const REFERENCES = {
  type: 'array',
  items: { type: 'object', required: ['kind', 'id', 'as'] },
  description: 'What uses these names; only who administers the hub is told',
} as const;

/** What the names of a device are after it was named, for whoever named it. */
export function namingAnswer(ports: NamingPorts, device: Device, by: Principal): JsonObject {
  const kept = ports.register.namesOf(device.id);
  if (!kept) return {};
  const [prefix = '', ...former] = kept.prefixes;
  const warnings = namingWarnings(ports, device, by);
  return copyJsonObject({
    tools_begin_with: prefix,
    former_names: kept.names.slice(1),
    former_beginnings: former,
    used_by: referencesFor(ports, kept, by),
    ...(warnings.length > 0 && { warnings }),
  });
}

/** What whoever named a device has to know about its name: which other devices have it or had it. */
export function namingWarnings(ports: NamingPorts, device: Device, by: Principal): readonly string[] {
  const shown = (id: DeviceId) => (canSeeDeviceName(ports.authorizer, by, id) ? id : 'another device');
  return [...prefixWarnings(ports, device, shown), ...sameNameWarnings(ports, device, shown)];
}

/** Tools that list the names of devices and free those that nobody is called any more. */
export function deviceNameTools(ports: NamingPorts): readonly RegisteredTool[] {
  return [listNamesTool(ports), freeNameTool(ports)];
}

function listNamesTool(ports: NamingPorts): RegisteredTool {
  const { register, directory } = ports;
  return defineTool(
    {
      ...HUB_READS,
      ...FOR_HUB,
      name: 'list_device_names',
      title: 'List the names of devices',
      description:
        'Lists what each device is and was called and how the names of its tools begin, devices that were removed among them, with what uses these names.',
      tags: ['name', 'alias', 'rename', 'former'],
      parameters: {
        name: p.string({ description: 'Only the device with this id, or with this name now or before', maxLength: 128 }).optional(),
      },
      returns: { type: 'object', required: ['devices'], properties: { devices: { type: 'array', items: { type: 'object' } } } },
    },
    async ({ name: wanted }, { principal }) => {
      const all = wanted === undefined ? register.all() : [requireNames(ports, wanted)];
      const devices = all.map((kept) => ({
        device_id: kept.device,
        is_removed: directory.get(kept.device) === undefined,
        name: kept.names[0] ?? '',
        tools_begin_with: kept.prefixes[0] ?? '',
        former_names: kept.names.slice(1),
        former_beginnings: kept.prefixes.slice(1),
        used_by: referencesFor(ports, kept, principal),
      }));
      return copyJsonObject({ devices });
    },
  );
}

function freeNameTool(ports: NamingPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'free_device_name',
      title: 'Free a former name',
      description:
        'Frees a former name of a device, or any name of a removed one, so that another device can have it. What still uses it is told first, and has to be confirmed: it may mean another device from then on.',
      tags: ['name', 'alias', 'rename', 'former'],
      parameters: {
        name: p.string({ description: 'Former name, beginning of tool names, or name of a tool', minLength: 1, maxLength: 128 }),
        confirm: p.boolean({ description: 'Free it although something uses it', default: false }),
      },
      returns: {
        type: 'object',
        required: ['device_id', 'freed', 'used_by'],
        properties: { device_id: { type: 'string' }, freed: { type: 'array', items: { type: 'string' } }, used_by: REFERENCES },
      },
    },
    async ({ name, confirm }, { principal }) => {
      const kept = requireNames(ports, name);
      const bare = name.slice(name.indexOf(':') + 1);
      const isHere = ports.directory.get(kept.device) !== undefined;
      const going = ports.register.wouldFree(kept.device, bare, isHere);
      const tools = kept.tools.filter((tool) => going.includes(tool));
      const texts = [name, ...going];
      const usedBy = ports.uses.of({ texts, tools });
      if (usedBy.length > 0 && !confirm) throw nameInUse(name, usedBy);
      const freed = ports.register.free(kept.device, bare, isHere);
      if (freed.length === 0) throw currentName(name, kept.device);
      return copyJsonObject({ device_id: kept.device, freed, used_by: referencesFor(ports, { ...kept, names: texts, tools }, principal) });
    },
  );
}

/** What a device is called for whoever may know of it. */
type NameForCaller = (id: DeviceId) => string;

function canSeeDeviceName(authorizer: Authorizer, by: Principal, id: DeviceId): boolean {
  return [`device:read:${id}`, `admin:device:${id}`].some((permission) => authorizer.authorize(by, [permission]).allowed);
}

function prefixWarnings({ register }: NamingPorts, device: Device, shown: NameForCaller): readonly string[] {
  const holder = register.holderOfWanted(device);
  const [prefix] = register.namesOf(device.id)?.prefixes ?? [];
  if (holder === undefined || prefix === undefined) return [];
  return [`That name belongs to the tools of ${shown(holder)}: the tools of ${device.id} begin with ${prefix}_`];
}

/** Who writes the name alone could mean either. */
function sameNameWarnings({ register, directory }: NamingPorts, device: Device, shown: NameForCaller): readonly string[] {
  const namesakes = directory
    .list()
    .filter(({ id }) => id !== device.id)
    .filter(({ id, name }) => [name, ...(register.namesOf(id)?.names ?? [])].some((one) => foldedName(one) === foldedName(device.name)));
  if (namesakes.length === 0) return [];
  const ids = [...new Set(namesakes.map(({ id }) => shown(id)))].join(', ');
  return [
    `${ids} ${namesakes.length === 1 ? 'is or was' : 'are or were'} called ${JSON.stringify(device.name)} too: who means one of them has to write its id`,
  ];
}

function referencesFor(
  { uses, authorizer }: NamingPorts,
  { device, names, tools }: ClaimedDeviceNames,
  by: Principal,
): readonly NameReference[] {
  if (!authorizer.authorize(by, ['admin:hub']).allowed) return [];
  return uses.of({ device, texts: names, tools });
}

function requireNames({ register }: NamingPorts, name: string): ClaimedDeviceNames {
  const bare = name.slice(name.indexOf(':') + 1);
  const holder = register.findHolder(bare);
  const kept = register.namesOf(name as DeviceId) ?? (holder && register.namesOf(holder));
  if (kept) return kept;
  throw new AtmoError(
    'NOT_FOUND',
    `No device, or more than one, has or had the name ${JSON.stringify(name)}; the list of device names tells them`,
  );
}

function nameInUse(name: string, usedBy: readonly NameReference[]): AtmoError {
  const told = usedBy.map(({ kind, id }) => `${kind} ${id}`).join(', ');
  return new AtmoError('CONFLICT', `${name} is still used by ${told}. Change these first, or confirm to free it all the same`, {
    used_by: usedBy.map(({ kind, id, as }) => ({ kind, id, as: [...as] })),
  });
}

function currentName(name: string, device: DeviceId): AtmoError {
  return new AtmoError('CONFLICT', `${device} is called ${name} today; rename or remove it first`, { device });
}
