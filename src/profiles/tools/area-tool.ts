import { parseDeviceId } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import { type JsonObject, present } from '../../core/json.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { defineTool, p, TEXT } from '../../tools/definition/define-tool.ts';
import type { CallerRights, RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { canSeeDevice } from '../../tools/names/resolve-names.ts';
import { PLACE_KINDS, type Place, type PlaceKind, resolvePlace } from '../../tools/names/resolve-place.ts';
import type { CompiledDevice } from '../compile/compiled-device.ts';
import { AREA_ACTIONS, AREA_KINDS, type AreaRequest, areaWork, isOfKind, requireAreaAction } from './area-actions.ts';
import {
  callMembers,
  effectsOfMembers,
  MEMBERS_PROPERTIES,
  MEMBERS_TOOL,
  type Member,
  type MemberName,
  type MemberToolPorts,
  memberWork,
  skippedMembers,
} from './member-calls.ts';

interface AreaCall extends AreaRequest {
  readonly area: string;
  readonly scope?: PlaceKind;
  readonly devices?: readonly string[];
}

const MAX_MEMBERS = 500;
const DESCRIPTION = 'Controls all lights, covers, climate or media of an area, floor or house at once.';

/** Returns the tool `control_area`. Each member is called with its own tools, with their permission and risk. */
export function areaTool(ports: MemberToolPorts): RegisteredTool {
  return defineTool(
    {
      ...MEMBERS_TOOL,
      isIdempotent: true,
      name: 'control_area',
      title: 'Control an area',
      description: DESCRIPTION,
      tags: ['area', 'room', 'floor', 'house', 'all', 'everything', 'lights', 'covers', 'blinds', 'climate', 'heating', 'media'],
      parameters: {
        area: p.string({ description: 'Area, floor or house' }),
        what: p.enum(AREA_KINDS, { description: 'Which devices' }),
        action: p.enum(AREA_ACTIONS, {
          description: 'What they do',
        }),
        level: p.integer({ description: 'Brightness, opening, volume', minimum: 0, maximum: 100, unit: '%' }).optional(),
        mode: p.string({ description: 'heat, cool, auto; play, pause, mute' }).optional(),
        temperature: p.number({ description: 'Wanted temperature' }).optional(),
        unit: p.enum(['celsius', 'fahrenheit'], { description: 'Unit of temperature', default: 'celsius', isRare: true }),
        scope: p.enum(PLACE_KINDS, { description: 'Only where an area and a floor have the same name', isRare: true }).optional(),
        devices: p
          .array(p.string({ description: 'Device id or name', maxLength: 64 }), {
            description: 'Only these of the devices there; default: all that you may control',
            maxItems: MAX_MEMBERS,
            isRare: true,
          })
          .optional(),
      },
      returns: {
        type: 'object',
        required: ['success', 'summary', 'counts', 'members'],
        properties: { ...MEMBERS_PROPERTIES, area: TEXT, what: TEXT },
      },
      canonicalize: (params, caller) => canonicalRequest(ports, params, caller),
      effects: (params) => effectsOfMembers(membersOf(ports, params)),
      skips: (params, caller) =>
        skippedMembers(ports, { members: membersOf(ports, params), others: (by) => notNamed(ports, params, by) }, caller),
    },
    async (params, context) => {
      const { area, what } = params;
      const others = (caller: CallerRights) => notNamed(ports, params, caller);
      const subject = `${capitalized(what)} ${placeText(area)}`;
      return { ...(await callMembers(ports, { members: membersOf(ports, params), others, subject }, context)), area, what };
    },
  );
}

/**
 * Returns the request with the devices that it is about: those that the caller sees and may control, sorted. Rules, approvals and the audit
 * log then name every device, and a device that joins the place later is not touched. Refuses a request that nothing could follow.
 */
function canonicalRequest(ports: MemberToolPorts, given: AreaCall, caller: CallerRights): JsonObject {
  const request = { ...given, action: given.action === 'on' && given.level !== undefined ? ('level' as const) : given.action };
  requireAreaAction(request);
  const place = placeOf(ports, request, caller);
  const there = candidates(ports, { place, what: request.what }, caller);
  const named = request.devices?.map((text) => ports.names.resolve(text, caller));
  const wanted = named === undefined ? there : named.map((id) => oneOf(there, id, { place, what: request.what }));
  if (wanted.length === 0) throw nothingThere(place, request.what);
  const own = wanted.filter(({ device }) => caller.may(`device:control:${device.id}`));
  if (own.length === 0) throw noneAllowed(wanted, place, request.what);
  const devices = [...new Set(own.map(({ device }) => device.id))].sort();
  requireSomeWork(membersOf(ports, { ...request, devices }), request.what);
  return { ...present(request), area: place.name, scope: place.kind, devices } as unknown as JsonObject;
}

function placeOf(ports: MemberToolPorts, { area, scope }: Pick<AreaCall, 'area' | 'scope'>, caller: CallerRights): Place {
  const visible = ports.devices.list().filter(({ device }) => canSeeDevice(device.id, caller));
  return resolvePlace(
    { text: area, kind: scope },
    visible.map(({ device }) => device.area),
    ports.areas,
  );
}

type Sought = { readonly place: Place; readonly what: AreaRequest['what'] };

/** Returns the devices of the kind in the place that the caller sees. */
function candidates(ports: MemberToolPorts, { place, what }: Sought, caller: CallerRights): readonly CompiledDevice[] {
  return ports.devices
    .list()
    .filter((compiled) => place.has(compiled.device.area) && isOfKind(compiled, what) && canSeeDevice(compiled.device.id, caller));
}

function oneOf(there: readonly CompiledDevice[], id: string, { place, what }: Sought): CompiledDevice {
  const found = there.find(({ device }) => device.id === id);
  if (found) return found;
  const known = there.map(({ device }) => device.id);
  throw new AtmoError('NOT_SUPPORTED', `${id} is none of the ${what} ${placeText(place.name)}; these are: ${known.join(', ') || 'none'}`, {
    candidates: known,
  });
}

/** Returns the members of a request whose devices are known. A device that was removed meanwhile is skipped. */
function membersOf({ devices, validator }: MemberToolPorts, request: AreaCall): readonly Member[] {
  return (request.devices ?? []).map((id) => {
    const device = parseDeviceId(id);
    const compiled = devices.get(device);
    if (!compiled) return { device, name: id, work: { skipped: 'The device was removed' } };
    return { device, name: compiled.device.name, work: memberWork(compiled, () => areaWork(validator, compiled, request)) };
  });
}

/** Returns the devices there that the caller sees and that the request does not name. */
function notNamed(ports: MemberToolPorts, request: AreaCall, caller: CallerRights): readonly MemberName[] {
  const place = placeOf(ports, request, caller);
  return candidates(ports, { place, what: request.what }, caller)
    .filter(({ device }) => !request.devices?.includes(device.id))
    .map(({ device }) => device);
}

/** Throws NOT_SUPPORTED if no member can do what is wanted. */
function requireSomeWork(members: readonly Member[], what: string): void {
  const reasons = members.flatMap(({ work }) => ('skipped' in work ? [work.skipped] : []));
  if (reasons.length < members.length) return;
  const devices = members.map(({ device }) => device);
  throw new AtmoError('NOT_SUPPORTED', `None of the ${members.length} ${what} can do that: ${[...new Set(reasons)].join('; ')}`, {
    devices,
  });
}

function nothingThere(place: Place, what: string): AtmoError {
  return new AtmoError('NOT_SUPPORTED', `There are no ${what} ${placeText(place.name)} that you may know of`);
}

function noneAllowed(devices: readonly CompiledDevice[], place: Place, what: string): AtmoError {
  const required = devices.map(({ device }) => `device:control:${device.id}`);
  return new AtmoError('PERMISSION_DENIED', `You may control none of the ${what} ${placeText(place.name)}`, { required });
}

function placeText(name: string): string {
  return name === 'house' ? 'in the house' : `in ${quoted(name)}`;
}

function capitalized(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
