import type { Authorizer } from '../../core/auth/authorizer.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { PeerDevice } from '../../core/mesh-view.ts';
import { judgeOf, placeholdersOf } from '../../tools/definition/tool-permissions.ts';
import { isDeviceNamed, isInRoom } from '../../tools/names/resolve-names.ts';
import type { ToolDirectory } from '../../tools/registry/tool-directory.ts';
import type { Call } from '../call.ts';
import { waitForAtMost } from '../call-time-limit.ts';
import type { CallPeer, StageContext } from '../pipeline-context.ts';
import { isNamed } from './route-ranking.ts';

/** What a tool says of a device that this hub does not have. */
export const NOT_FOUND_CODES: ReadonlySet<ErrorCode> = new Set(['DEVICE_NOT_FOUND', 'SENSOR_NOT_FOUND']);

/** Tag of a tool whose place may be a room. */
const ROOM = 'room';

/** What a call is about: the text that the caller wrote, and the permission that it is filled into. */
interface Subject {
  readonly text: string;
  readonly template: string;
  readonly name: string;
}

/**
 * A device that this hub does not have may be another's: then the call is one of that hub's tool of the same id. Throws
 * `error`, for which the device was not found, when no reachable hub has both; AMBIGUOUS_DEVICE when several have.
 */
export async function redirectToDeviceHub(call: Call, context: StageContext, error: unknown): Promise<void> {
  const subject = NOT_FOUND_CODES.has(toAtmoError(error).code) ? subjectOf(call) : undefined;
  if (!subject) throw error;
  const hubs = hubsWith(subject, call, context);
  const [hub] = hubs;
  if (hub === undefined) throw error;
  if (hubs.length > 1) throw ambiguous(subject.text, hubs);
  const known = context.tools.awaitComplete(call.tool.id, { onlyNodes: [hub] });
  if (known) await waitForAtMost(call, context, known);
  // Others may have the same tool; the device is that one's.
  call.setTool({ ...context.tools.resolve(call.tool.id, { onlyNodes: [hub] }), hubs: () => [hub] });
}

/** Tools of two devices are not followed: these may be on two hubs. */
function subjectOf({ tool, params }: Pick<Call, 'tool' | 'params'>): Subject | undefined {
  const templates = tool.definition.requires.permissions.filter((permission) => placeholdersOf(permission).length > 0);
  const names = new Set(templates.flatMap(placeholdersOf));
  const [[template], [name]] = [templates, [...names]];
  if (template === undefined || name === undefined || names.size > 1) return undefined;
  const text = params[name];
  return typeof text === 'string' ? { text, template, name } : undefined;
}

function hubsWith(subject: Subject, call: Call, context: StageContext): readonly HubId[] {
  const { principal } = call.request;
  const capable = context.tools.hubsOf(call.tool);
  const peers = context.mesh.peers();
  const possible = peers.filter((peer) => peer.isReachable && capable.includes(peer.id) && isAllowedHub(peer, call));
  const caller = { principal, authorizer: context.authorizer };
  const named = possible.filter((peer) => hasDevice(peer, subject, caller));
  return (named.length > 0 ? named : possible.filter((peer) => measuresIn(peer, subject, { ...caller, call, context }))).map(
    ({ id }) => id,
  );
}

/** Whether a hub that is known, reachable or not, has the tool and the device that its parameters name, as far as the caller may know. */
export function isRemoteDevice(
  call: Pick<Call, 'tool' | 'params'>,
  caller: Caller,
  { tools, peers }: { readonly tools: Pick<ToolDirectory, 'hubsOf'>; readonly peers: readonly CallPeer[] },
): boolean {
  const subject = subjectOf(call);
  if (!subject) return false;
  const capable = tools.hubsOf(call.tool);
  return peers.some((peer) => capable.includes(peer.id) && hasDevice(peer, subject, caller));
}

interface Caller {
  readonly principal: Principal;
  readonly authorizer: Authorizer;
}

function hasDevice({ id, devices = [] }: CallPeer, subject: Subject, { principal, authorizer }: Caller): boolean {
  const judge = judgeOf({ hubs: () => [id] }, authorizer);
  return devices.some((device) => matchesDevice(subject, device, (permission) => judge.canSee(principal, permission)));
}

/** A room that is named may be one of another hub: that has a device there with a tool about the same thing, which the caller may read. */
function measuresIn(
  { id, devices = [] }: CallPeer,
  { text, template, name }: Subject,
  { principal, authorizer, call, context }: Caller & { readonly call: Call; readonly context: StageContext },
): boolean {
  const wanted = call.tool.definition.metadata.tags;
  if (!wanted.includes(ROOM)) return false;
  const judge = judgeOf({ hubs: () => [id] }, authorizer);
  return context.tools.all().some(({ definition: { metadata }, hubs }) => {
    const { device, area, tags } = metadata;
    if (device === undefined || area === undefined || areaKey(area) !== areaKey(text) || !hubs?.().includes(id)) return false;
    const types = devices.filter((known) => known.id === device).map(({ type }) => type);
    return tags.some((tag) => wanted.includes(tag)) && isInRoom(types) && judge.canSee(principal, template.replace(`{${name}}`, device));
  });
}

function isAllowedHub(peer: CallPeer, { request: { routing, principal } }: Call): boolean {
  if (isNamed(peer, routing?.exclude_nodes ?? [])) return false;
  if (routing?.only_nodes && !isNamed(peer, routing.only_nodes)) return false;
  return principal.token?.allowedNodes?.includes(peer.id) ?? true;
}

/** Devices that the caller may not see do not exist for it; a reading is named by its device's id, a slash and more. */
function matchesDevice({ text, template, name }: Subject, device: PeerDevice, canSee: (permission: string) => boolean): boolean {
  const isReading = text.startsWith(`${device.id}/`);
  if (!isReading && !isDeviceNamed(text, device)) return false;
  return canSee(template.replace(`{${name}}`, isReading ? text : device.id));
}

function ambiguous(text: string, hubs: readonly HubId[]): AtmoError {
  return new AtmoError(
    'AMBIGUOUS_DEVICE',
    `${JSON.stringify(text.slice(0, 80))} is a device of ${hubs.join(' and of ')}; name the hub that you mean`,
    { hubs },
  );
}
