import type { Authorizer, Principal } from '../../core/auth/principal.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { PeerDevice } from '../../core/mesh-view.ts';
import { RUN_ON } from '../../tools/definition/tool-definition.ts';
import { judgeOf, placeholdersOf } from '../../tools/definition/tool-permissions.ts';
import { isDeviceNamed, isInRoom } from '../../tools/names/resolve-names.ts';
import { isNamed, type Purpose, type ResolvedCall, type ValidatedCall } from '../call.ts';
import { waitForAtMost } from '../call-deadline.ts';
import type { CallableTools, CallPeer, StageContext } from '../pipeline-context.ts';

/** Error codes with which a tool reports that this hub does not have the device. */
export const NOT_FOUND_CODES: ReadonlySet<ErrorCode> = new Set(['DEVICE_NOT_FOUND', 'SENSOR_NOT_FOUND']);

/** Tag of a tool that takes a room as its parameter instead of a device. */
const ROOM = 'room';

/** The device of a call. `name` is the parameter, `text` is its value, and `template` is the permission with the placeholder `{name}`. */
interface Subject {
  readonly text: string;
  readonly template: string;
  readonly name: string;
}

/**
 * Redirects a call to the hub that has the device, or that the error names: returns the call with that hub's tool of the same id. Throws AMBIGUOUS_DEVICE if several
 * reachable hubs have the tool and the device. Throws `error`, the local error, if none has both or if `error` is about something else.
 */
export async function redirectToDeviceHub<P extends Purpose>(
  call: ValidatedCall<P>,
  context: StageContext,
  error: unknown,
): Promise<ResolvedCall<P>> {
  const hubs = hubsFor(call, context, toAtmoError(error));
  const [hub] = hubs;
  if (hub === undefined) throw error;
  if (hubs.length > 1) throw ambiguous(subjectOf(call)?.text ?? '', hubs);
  const known = context.tools.awaitComplete(call.tool.id, { onlyNodes: [hub] });
  if (known) await waitForAtMost(call.request, context.clock, known);
  // `hubs` contains only the hub with the device, because other hubs may have the tool without the device.
  return { ...call, tool: { ...context.tools.resolve(call.tool.id, { onlyNodes: [hub] }), hubs: () => [hub] } };
}

/** Returns the hubs that the local error of a call leads to: those that have the device, or the hub that the error names. */
function hubsFor(call: ValidatedCall, context: StageContext, { code, details }: AtmoError): readonly HubId[] {
  const known = context.mesh.peers().find(({ id }) => id === details[RUN_ON]);
  if (known) return isAllowedHub(known, call) ? [known.id] : [];
  const subject = NOT_FOUND_CODES.has(code) ? subjectOf(call) : undefined;
  return subject ? hubsWith(subject, call, context) : [];
}

/** Returns the device in the parameters; undefined if the tool has several device parameters, since the devices may be on two hubs. */
function subjectOf({ tool, params }: Pick<ValidatedCall, 'tool' | 'params'>): Subject | undefined {
  const templates = tool.definition.requires.permissions.filter((permission) => placeholdersOf(permission).length > 0);
  const names = new Set(templates.flatMap(placeholdersOf));
  const [[template], [name]] = [templates, [...names]];
  if (template === undefined || name === undefined || names.size > 1) return undefined;
  const text = params[name];
  return typeof text === 'string' ? { text, template, name } : undefined;
}

function hubsWith(subject: Subject, call: ValidatedCall, context: StageContext): readonly HubId[] {
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

/** Returns whether another hub has the tool and the device, and the caller may see the device. The hub need not be reachable. */
export function isRemoteDevice(
  call: Pick<ValidatedCall, 'tool' | 'params'>,
  caller: Caller,
  { tools, peers }: { readonly tools: Pick<CallableTools, 'hubsOf'>; readonly peers: readonly CallPeer[] },
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

/** Returns whether the hub has a device in the wanted room that the caller may see and that has a tool with a tag of the called tool. */
function measuresIn(
  { id, devices = [] }: CallPeer,
  { text, template, name }: Subject,
  { principal, authorizer, call, context }: Caller & { readonly call: ValidatedCall; readonly context: StageContext },
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

function isAllowedHub(peer: CallPeer, { request: { routing, principal } }: ValidatedCall): boolean {
  if (isNamed(peer, routing?.exclude_nodes ?? [])) return false;
  if (routing?.only_nodes && !isNamed(peer, routing.only_nodes)) return false;
  return principal.token?.allowedNodes?.includes(peer.id) ?? true;
}

/** Returns whether `text` names the device or a reading of it (`<device id>/temperature`), and the caller may see what it names. */
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
