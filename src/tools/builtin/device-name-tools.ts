import type { Authorizer, Principal } from '../../core/auth/principal.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { foldedName } from '../../core/devices/device-names.ts';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, p, resultSchema, TEXT, TEXTS } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import type { ClaimedDeviceNames, NameReference, NamingPorts } from '../names/name-references.ts';
import { copyJsonObject } from '../schema/plain-json.ts';
import { ACTS_ON_HUB, READS_WHOLE_HUB } from './hub-tool.ts';

/** Result schema of `used_by`: the automations, tokens, rules, tools and settings that use a name. */
export const REFERENCES = {
  type: 'array',
  items: { type: 'object', required: ['kind', 'id', 'as'] },
  description: 'What uses these names; only who administers the hub is told',
} as const;

/** Returns the part of a rename's result that describes the device's names. Omits details that the caller may not see. */
export function namingAnswer(ports: NamingPorts, device: Device, by: Principal): JsonObject {
  const claimed = ports.register.namesOf(device.id);
  if (!claimed) return {};
  const warnings = namingWarnings(ports, device, by);
  return copyJsonObject({ ...nameView(ports, claimed, by), ...(warnings.length > 0 && { warnings }) });
}

function nameView(ports: NamingPorts, claimed: ClaimedDeviceNames, by: Principal) {
  const [prefix = '', ...formerPrefixes] = claimed.prefixes;
  return {
    tools_begin_with: prefix,
    former_names: claimed.names.slice(1),
    former_beginnings: formerPrefixes,
    used_by: referencesFor(ports, claimed, by),
  };
}

/** Returns warnings if other devices have or had the device's name. Hides the ids of devices that the caller may not see. */
export function namingWarnings(ports: NamingPorts, device: Device, by: Principal): readonly string[] {
  const shown = (id: DeviceId) => (canSeeDeviceName(ports.authorizer, by, id) ? id : 'another device');
  return [...prefixWarnings(ports, device, shown), ...sameNameWarnings(ports, device, shown)];
}

/** Returns the tools that list the names of devices and free former names. */
export function deviceNameTools(ports: NamingPorts): readonly RegisteredTool[] {
  return [listNamesTool(ports), freeNameTool(ports)];
}

function listNamesTool(ports: NamingPorts): RegisteredTool {
  const { register, directory } = ports;
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'list_device_names',
      title: 'List the names of devices',
      description:
        'Lists what each device is and was called and how the names of its tools begin, devices that were removed among them, with what uses these names.',
      tags: ['name', 'alias', 'rename', 'former'],
      parameters: {
        name: p.string({ description: 'Only the device with this id, or with this name now or before', maxLength: 128 }).optional(),
      },
      returns: resultSchema({ devices: { type: 'array', items: { type: 'object' } } }),
    },
    async ({ name: wanted }, { principal }) => {
      const all = wanted === undefined ? register.all() : [requireNames(ports, wanted)];
      const devices = all.map((claimed) => ({
        device_id: claimed.device,
        is_removed: directory.get(claimed.device) === undefined,
        name: claimed.names[0] ?? '',
        ...nameView(ports, claimed, principal),
      }));
      return copyJsonObject({ devices });
    },
  );
}

function freeNameTool(ports: NamingPorts): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'free_device_name',
      title: 'Free a former name',
      description:
        'Frees a former name of a device, or any name of a removed one, so that another device can have it. ' +
        'What still uses it is told first, and has to be confirmed: it may mean another device from then on. ' +
        'What a rule, token or setting uses, only the owner can free.',
      tags: ['name', 'alias', 'rename', 'former'],
      parameters: {
        name: p.string({ description: 'Former name, beginning of tool names, or name of a tool', minLength: 1, maxLength: 128 }),
        confirm: p.boolean({ description: 'Free it although something uses it', default: false }),
      },
      returns: resultSchema({ device_id: TEXT, freed: TEXTS, used_by: REFERENCES }),
    },
    async ({ name, confirm }, { principal }) => {
      const claimed = requireNames(ports, name);
      const bare = name.slice(name.indexOf(':') + 1);
      const isHere = ports.directory.get(claimed.device) !== undefined;
      const goingTexts = ports.register.wouldFree(claimed.device, bare, isHere);
      const tools = claimed.tools.filter((tool) => goingTexts.includes(tool));
      const texts = [name, ...goingTexts];
      const usedBy = ports.uses.of({ texts, tools });
      requireMayFree(name, usedBy, principal);
      if (usedBy.length > 0 && !confirm) {
        const advice = 'Change these first, or set confirm (--confirm of atmo)';
        throw nameInUse('CONFLICT', `${name} is still used by ${describeReferences(usedBy)}. ${advice}`, usedBy);
      }
      const freed = ports.register.free(claimed.device, bare, isHere);
      if (freed.length === 0) throw currentName(name, claimed.device);
      return copyJsonObject({
        device_id: claimed.device,
        freed,
        used_by: referencesFor(ports, { ...claimed, names: texts, tools }, principal),
      });
    },
  );
}

/** Function that returns a device's id, or `another device` if the caller may not see the device. */
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

/** Returns a warning if other devices have or had the same name, because the name is ambiguous then. */
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
  const claimed = register.namesOf(name as DeviceId) ?? (holder && register.namesOf(holder));
  if (claimed) return claimed;
  throw new AtmoError(
    'NOT_FOUND',
    `No device, or more than one, has or had the name ${JSON.stringify(name)}; the list of device names tells them`,
  );
}

/** Kinds of references that only the owner makes. They grant or deny, and would mean nothing, or another device, without the name. */
const OF_OWNER: readonly NameReference['kind'][] = ['rule', 'token', 'setting'];

/** Throws PERMISSION_DENIED if the owner's rules, tokens or settings use the name and the caller is not the owner. */
export function requireMayFree(name: string, usedBy: readonly NameReference[], by: Principal): void {
  const ofOwner = usedBy.filter(({ kind }) => OF_OWNER.includes(kind));
  if (by.kind === 'owner' || ofOwner.length === 0) return;
  const message = `${name} is used by ${describeReferences(ofOwner)}; only the owner can free it, since that changes what these allow`;
  throw nameInUse('PERMISSION_DENIED', message, ofOwner);
}

/** Returns an error whose details list what uses the name. */
export function nameInUse(code: ErrorCode, message: string, uses: readonly NameReference[]): AtmoError {
  return new AtmoError(code, message, { used_by: uses.map(referenceView) });
}

export const describeReferences = (uses: readonly NameReference[]) => uses.map(({ kind, id }) => `${kind} ${id}`).join(', ');
export const referenceView = ({ kind, id, as }: NameReference) => ({ kind, id, as: [...as] });

function currentName(name: string, device: DeviceId): AtmoError {
  return new AtmoError('CONFLICT', `${device} is called ${name} today; rename or remove it first`, { device });
}
