import type { Authorizer, Principal } from '../../core/auth/principal.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { PeerDevice } from '../../core/mesh-view.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { judgeOf, placeholdersOf } from '../../tools/definition/tool-permissions.ts';
import { isDeviceNamed } from '../../tools/names/resolve-names.ts';

/** Error codes with which a tool reports that this hub does not have the device. */
export const NOT_FOUND_CODES: ReadonlySet<ErrorCode> = new Set(['DEVICE_NOT_FOUND', 'SENSOR_NOT_FOUND']);

/** The device of a call. `name` is the parameter, `text` is its value, and `template` is the permission with the placeholder `{name}`. */
export interface Subject {
  readonly text: string;
  readonly template: string;
  readonly name: string;
}

/** A tool with the parameters of a call. */
interface ToolCall {
  readonly tool: RegisteredTool;
  readonly params: JsonObject;
}

/** A hub with the devices that it announces. */
interface AnnouncingHub {
  readonly id: HubId;
  readonly devices?: readonly PeerDevice[];
}

export interface Caller {
  readonly principal: Principal;
  readonly authorizer: Authorizer;
}

/** Returns whether another hub has the tool and the device, and the caller may see the device. The hub need not be reachable. */
export function isRemoteDevice(
  call: ToolCall,
  caller: Caller,
  { tools, peers }: { readonly tools: { hubsOf(tool: RegisteredTool): readonly HubId[] }; readonly peers: readonly AnnouncingHub[] },
): boolean {
  const subject = subjectOf(call);
  if (!subject) return false;
  const capable = tools.hubsOf(call.tool);
  return peers.some((peer) => capable.includes(peer.id) && hasDevice(peer, subject, caller));
}

/** Returns the device in the parameters; undefined if the tool has several device parameters, since the devices may be on two hubs. */
export function subjectOf({ tool, params }: ToolCall): Subject | undefined {
  const templates = tool.definition.requires.permissions.filter((permission) => placeholdersOf(permission).length > 0);
  const names = new Set(templates.flatMap(placeholdersOf));
  const [[template], [name]] = [templates, [...names]];
  if (template === undefined || name === undefined || names.size > 1) return undefined;
  const text = params[name];
  return typeof text === 'string' ? { text, template, name } : undefined;
}

/** Returns whether the hub has the device and the caller may see it. */
export function hasDevice({ id, devices = [] }: AnnouncingHub, subject: Subject, { principal, authorizer }: Caller): boolean {
  const judge = judgeOf({ hubs: () => [id] }, authorizer);
  return devices.some((device) => matchesDevice(subject, device, (permission) => judge.canSee(principal, permission)));
}

/** Returns whether `text` names the device or a reading of it (`<device id>/temperature`), and the caller may see what it names. */
function matchesDevice({ text, template, name }: Subject, device: PeerDevice, canSee: (permission: string) => boolean): boolean {
  const isReading = text.startsWith(`${device.id}/`);
  if (!isReading && !isDeviceNamed(text, device)) return false;
  return canSee(template.replace(`{${name}}`, isReading ? text : device.id));
}
