import type { Effect } from '../../core/auth/principal.ts';
import type { ReplacedDevice } from '../../core/devices/device-administration.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { defineTool, p, resultSchema, TEXT, TEXTS } from '../definition/define-tool.ts';
import type { CallerView, RegisteredTool } from '../definition/tool-definition.ts';
import { type LackingNames, type NameReference, toolKeyText } from '../names/name-references.ts';
import { describeReferences, REFERENCES, referenceView } from './device-name-tools.ts';
import type { DeviceReplacement, ReplacedPair, Replacement } from './device-replacement.ts';
import { type AdminPorts, actsOnDevice, deviceOf, deviceParameter } from './hub-tool.ts';

interface ReplacePorts extends AdminPorts {
  readonly replacement: Pick<DeviceReplacement, 'run'>;
}

/** The parameters after `canonicalize`: ids in place of names. */
interface ReplaceParams {
  readonly device_id: string;
  readonly new_device_id: string;
  readonly confirm: boolean;
}

/** What the new device does not do that the old one did, and what relies on it. */
interface Losses extends LackingNames {
  /** Parts of the old device to which no part of the new one corresponds. */
  readonly parts: readonly DeviceId[];
  readonly usedBy: readonly NameReference[];
}

const REPLACE_TIMEOUT_MS = 60_000;

/** Returns the tool that puts a device into the place of another one. */
export function replaceTool(ports: ReplacePorts): RegisteredTool {
  return defineTool(
    {
      ...actsOnDevice(ports),
      name: 'replace_device',
      title: 'Replace a device',
      description:
        'Puts a newly added device into the place of a broken or removed one: it gets the id, name, room, grants, rules, automations, scenes, groups and history of that. The old one leaves the home, and is forgotten if it does not answer. If something uses what the new one lacks, the call is refused and names both, unless confirm is set.',
      tags: ['broken', 'swap', 'exchange', 'new device'],
      permissions: ['admin:device:{device_id}', 'admin:device:{new_device_id}', 'admin:hub'],
      isDangerous: true,
      timeoutMs: REPLACE_TIMEOUT_MS,
      parameters: {
        device_id: p.string({ description: 'The old device: id or name; id only if it was removed', maxLength: 64 }),
        new_device_id: deviceParameter,
        confirm: p.boolean({ description: 'Although something uses what the new device lacks', default: false }),
      },
      canonicalize: (params, caller) => replacingDevices(ports, params, caller),
      effects: (params) => effectsOf(ports, params),
      returns: resultSchema({
        device_id: TEXT,
        former_device_id: { ...TEXT, description: 'Id that the new device had until now' },
        old_device: {
          enum: ['left', 'forgotten', 'gone_before'],
          description: 'Forgotten: it did not answer, so reset it before using it',
        },
        lacking_tools: TEXTS,
        lacking_readings: TEXTS,
        used_by: REFERENCES,
        groups_left: { type: 'array', items: { type: 'integer' }, description: 'Groups that the new device could not join' },
      }),
    },
    async (params, { signal }) => {
      const [old, by] = idsOf(params);
      const losses = lossesOf(ports, old, by);
      const { outcome, groupsLeft } = await ports.replacement.run(replacementOf(ports, old, by), signal);
      return {
        device_id: old,
        former_device_id: by,
        old_device: outcome,
        lacking_tools: [...losses.tools],
        lacking_readings: [...losses.readings],
        used_by: losses.usedBy.map(referenceView),
        groups_left: [...groupsLeft],
      };
    },
  );
}

function idsOf({ device_id: old, new_device_id: by }: ReplaceParams): readonly [old: DeviceId, by: DeviceId] {
  return [deviceOf({ device_id: old }), deviceOf({ device_id: by })];
}

/** Replaces names by ids. Refuses what cannot be a replacement before anybody is asked to approve it. */
function replacingDevices(ports: ReplacePorts, params: ReplaceParams, caller: CallerView) {
  const by = ports.devices.resolve(params.new_device_id, caller);
  const old = oldDevice(ports, params.device_id, caller);
  const wanted = { ...params, device_id: old, new_device_id: by };
  // Errors would reveal facts about the devices to a caller who may not administer them. The permission check comes next.
  if (!caller.canSee('admin:hub')) return wanted;
  requireReplaceable(ports, old, by);
  const losses = lossesOf(ports, old, by);
  if (!params.confirm && losses.usedBy.length + losses.parts.length > 0) throw lossError(by, losses);
  return wanted;
}

/** Returns the id of the old device. One that was removed is known by its id alone, since its names may be those of other devices now. */
function oldDevice({ naming, devices }: ReplacePorts, text: string, caller: CallerView): DeviceId {
  const isFormer = naming.register.namesOf(text as DeviceId) !== undefined && naming.directory.get(text as DeviceId) === undefined;
  return isFormer && caller.canSee('admin:hub') ? (text as DeviceId) : devices.resolve(text, caller);
}

function requireReplaceable(ports: ReplacePorts, old: DeviceId, by: DeviceId): void {
  const { bounds, naming } = ports;
  const here = naming.directory.get(old);
  if (old === by) throw new AtmoError('VALIDATION_ERROR', `${old} cannot replace itself; name the new device beside the old one`);
  if (naming.directory.get(by)?.kind === 'board') throw new AtmoError('CONFLICT', `${by} is of the board itself; name a Matter device`);
  if (!here) {
    requireUnguarded(ports, by);
    return;
  }
  if (bounds.wholeOf(old) !== old) {
    throw new AtmoError(
      'CONFLICT',
      `${old} is part of ${bounds.wholeOf(old)} and cannot leave alone; remove it there, or replace the whole`,
      { whole: bounds.wholeOf(old) },
    );
  }
  if (partsOf(ports, old).some(({ kind }) => kind === 'bridged')) {
    throw new AtmoError(
      'CONFLICT',
      `${old} is a bridge, and which new device is which old one behind it is not known: remove it, then replace each device behind it by its id`,
    );
  }
  if (bounds.nodeOf(old).includes(by)) throw new AtmoError('CONFLICT', `${by} is part of ${old}; name a device that was added anew`);
  if (!bounds.isOfKind(old, by)) {
    throw new AtmoError('CONFLICT', `${by} is of another kind than ${old}, so what was meant for that would not fit it`, {
      kinds: [here, naming.directory.get(by)].map((device) => [...(device?.deviceTypes ?? [])].join(', ')),
    });
  }
  if (!bounds.isGuarded(old)) requireUnguarded(ports, by);
}

/** Grants for a lamp, or for a device of which nobody knows any more what it was, never become grants for a lock. */
function requireUnguarded({ bounds, naming }: ReplacePorts, by: DeviceId): void {
  if (!bounds.isGuarded(by)) return;
  const name = quoted(naming.directory.get(by)?.name ?? by);
  throw new AtmoError(
    'CONFLICT',
    `${name} can do dangerous things, such as a lock does, and would get the rights to the old device; give rights to it by hand`,
  );
}

function lossError(by: DeviceId, { tools, readings, parts, usedBy }: Losses): AtmoError {
  const lacks = [...tools, ...readings, ...parts].join(', ');
  const users = usedBy.length > 0 ? `, which is used by ${describeReferences(usedBy)}` : '';
  const details = {
    lacking_tools: [...tools],
    lacking_readings: [...readings],
    lacking_parts: [...parts],
    used_by: usedBy.map(referenceView),
  };
  return new AtmoError('CONFLICT', `${by} lacks ${lacks}${users}. Choose another device, or set confirm (--confirm of atmo)`, details);
}

function lossesOf(ports: ReplacePorts, old: DeviceId, by: DeviceId): Losses {
  const { register, uses } = ports.naming;
  const lacking = register.lacking(old, by);
  const { tools } = lacking;
  const texts = [...lacking.readings.map((path) => `${old}/${path}`), ...lacking.toolKeys.map((key) => toolKeyText(old, key))];
  const paired = new Set(partPairs(ports, old, by).map((pair) => pair.old.id));
  const parts = partsOf(ports, old).flatMap(({ id }) => (paired.has(id) ? [] : [id]));
  return { ...lacking, parts, usedBy: texts.length === 0 ? [] : uses.of({ texts, tools }) };
}

function replacementOf(ports: ReplacePorts, old: DeviceId, by: DeviceId): Replacement {
  const here = ports.naming.directory.get(old);
  const whole = { old: replacedDevice(ports, old), by };
  return { whole, parts: partPairs(ports, old, by), ...(here && { nodeId: here.nodeId }) };
}

function replacedDevice({ naming }: ReplacePorts, id: DeviceId): ReplacedDevice {
  const here = naming.directory.get(id);
  if (here) return { id, name: here.name, ...(here.area !== undefined && { area: here.area }) };
  return { id, name: naming.register.namesOf(id)?.names[0] ?? id };
}

/** Pairs the parts of two devices of one build: those of one kind, in their order, if both have as many of it. */
function partPairs(ports: ReplacePorts, old: DeviceId, by: DeviceId): readonly ReplacedPair[] {
  const ours = partsOf(ports, old);
  const theirs = partsOf(ports, by);
  return ours.flatMap(({ id }) => {
    const alike = (device: Device) => ports.bounds.isOfKind(id, device.id);
    const [former, present] = [ours.filter(alike), theirs.filter(alike)];
    const match = former.length === present.length ? present[former.findIndex((device) => device.id === id)] : undefined;
    return match ? [{ old: replacedDevice(ports, id), by: match.id }] : [];
  });
}

function partsOf({ bounds, naming }: ReplacePorts, device: DeviceId): readonly Device[] {
  if (!naming.directory.get(device)) return [];
  return bounds.nodeOf(device).flatMap((id) => (id === device ? [] : (naming.directory.get(id) ?? [])));
}

/** All devices of both nodes are concerned: the old ones leave, the new ones get what the old ones had. */
function effectsOf({ bounds, naming }: ReplacePorts, params: ReplaceParams): readonly Effect[] {
  const devices = idsOf(params).flatMap((id) => (naming.directory.get(id) ? bounds.nodeOf(id) : [id]));
  return devices.map((device) => ({ permission: `admin:device:${device}`, risk: 'low', target: device, device }));
}
