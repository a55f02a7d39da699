import { areaKey } from '../../core/devices/device-names.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { RUN_ON } from '../../tools/definition/tool-definition.ts';
import { judgeOf } from '../../tools/definition/tool-permissions.ts';
import { isInRoom } from '../../tools/names/resolve-names.ts';
import { isNamed, type Purpose, type ResolvedCall, type ValidatedCall } from '../call.ts';
import { waitForAtMost } from '../call-deadline.ts';
import type { CallPeer, StageContext } from '../pipeline-context.ts';
import { type Caller, hasDevice, NOT_FOUND_CODES, type Subject, subjectOf } from './announced-device.ts';

/** Tag of a tool that takes a room as its parameter instead of a device. */
const ROOM = 'room';

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

function ambiguous(text: string, hubs: readonly HubId[]): AtmoError {
  return new AtmoError(
    'AMBIGUOUS_DEVICE',
    `${JSON.stringify(text.slice(0, 80))} is a device of ${hubs.join(' and of ')}; name the hub that you mean`,
    { hubs },
  );
}
