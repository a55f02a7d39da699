import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, p } from '../definition/define-tool.ts';
import type { CallerView, RegisteredTool } from '../definition/tool-definition.ts';
import { canSeeDevice } from '../names/resolve-names.ts';
import { copyJsonObject, snakeJson } from '../schema/plain-json.ts';
import { bindingTools } from './binding-tools.ts';
import { commissionTools } from './commission-tools.ts';
import { deviceNameTools, namingAnswer } from './device-name-tools.ts';
import { fabricTools } from './fabric-tools.ts';
import { groupTools } from './group-tools.ts';
import { type AdminPorts, DONE, deviceOf, deviceParameter, forDevice, forNode, HUB_ACTS, HUB_READS, SUCCESS } from './hub-tool.ts';
import { credentialTools, topologyTool } from './network-tools.ts';
import { updateTools } from './software-update-tools.ts';

/** All tools of the namespace `hub`: what an administrator does with devices. */
export function deviceAdminTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [
    ...commissionTools(ports),
    ...deviceTools(ports),
    ...deviceNameTools(ports.naming),
    ...fabricTools(ports),
    ...groupTools(ports),
    ...bindingTools(ports),
    ...credentialTools(ports),
    topologyTool(ports.administration),
    ...updateTools(ports),
  ];
}

const INTERVIEW_TIMEOUT_MS = 120_000;
const device = { device_id: deviceParameter };

/** Tools for one device as a whole. */
function deviceTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [
    removeDeviceTool(ports),
    renameDeviceTool(ports),
    setAreaTool(ports),
    identifyTool(ports),
    pingTool(ports),
    interviewTool(ports),
    diagnosticsTool(ports),
  ];
}

function removeDeviceTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...forNode(ports),
      name: 'remove_device',
      title: 'Remove a device',
      description:
        'Removes a device from this home. What is behind a bridge, or part of a larger device, can only leave together with all the rest: name the bridge, or confirm with whole_node.',
      isDangerous: true,
      parameters: {
        ...device,
        force: p.boolean({ description: 'Forget a device that does not answer; it still believes to belong here', default: false }),
        whole_node: p.boolean({ description: 'Remove the others behind the same bridge or in the same device as well', default: false }),
      },
      canonicalize: (params, caller) => leavingDevices(ports, params, caller),
      returns: { type: 'object', required: ['removed'], properties: { removed: { type: 'array', items: { type: 'string' } } } },
    },
    async ({ force, whole_node: _, ...params }, { signal }) => ({
      removed: await ports.administration.decommission(deviceOf(params), { signal, isForced: force }),
    }),
  );
}

/** Nobody takes a hundred devices away who named one. CONFLICT says how many would go, and what to name instead. */
function leavingDevices(
  ports: AdminPorts,
  params: { readonly device_id: string; readonly force: boolean; readonly whole_node: boolean },
  caller: CallerView,
): JsonObject {
  const id = ports.devices.resolve(params.device_id, caller);
  const { length: count } = ports.bounds.nodeOf(id);
  const whole = ports.bounds.wholeOf(id);
  // Whoever may not see the whole lacks the permission to remove it, which the next stage says.
  const isMeant = whole === id || params.whole_node || !canSeeDevice(whole, caller);
  if (isMeant) return { ...params, device_id: id };
  const advice = `Name ${whole} to remove them all, or confirm with whole_node (--whole-node of atmo)`;
  throw new AtmoError('CONFLICT', `${id} cannot leave alone: it belongs to ${whole}, and this would remove ${count} devices. ${advice}`, {
    devices: count,
    whole,
  });
}

function renameDeviceTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...forDevice(ports),
      name: 'rename_device',
      title: 'Rename a device',
      description:
        'Gives a device another name, here and on the device where it can keep one. Its id stays, and its former names go on meaning it. Answers how the names of its tools begin now, and what uses the former ones.',
      isIdempotent: true,
      parameters: { ...device, name: p.string({ description: 'New name for people', minLength: 1, maxLength: 64, isGivenName: true }) },
    },
    async ({ name, ...params }, { signal, principal }) => {
      const renamed = await ports.administration.rename(deviceOf(params), name, { signal });
      return { ...copyJsonObject(snakeJson(renamed)), ...namingAnswer(ports.naming, renamed, principal) };
    },
  );
}

function setAreaTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...forDevice(ports),
      name: 'set_device_area',
      title: 'Put a device in a room',
      description: 'Says in which room a device is; without area it is in none. A former name of a room means the room.',
      isIdempotent: true,
      parameters: { ...device, area: p.string({ description: 'Room', minLength: 1, maxLength: 64, isGivenName: true }).optional() },
    },
    async ({ area, ...params }) =>
      snakeJson(ports.administration.setArea(deviceOf(params), area === undefined ? null : ports.naming.areaToday(area))),
  );
}

function identifyTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...forDevice(ports),
      name: 'identify_device',
      title: 'Identify a device',
      description: 'Makes a device show which one it is, by blinking or beeping.',
      isIdempotent: true,
      parameters: { ...device, seconds: p.integer({ description: 'How long', minimum: 0, maximum: 600, default: 10, unit: 's' }) },
      returns: DONE,
    },
    async ({ seconds, ...params }, { signal }) => {
      await ports.administration.identify(deviceOf(params), seconds, { signal });
      return SUCCESS;
    },
  );
}

function pingTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...forDevice(ports),
      name: 'ping_device',
      title: 'Ping a device',
      description: 'Asks a device whether it is there and tells how long the answer took.',
      parameters: device,
      returns: { type: 'object', required: ['round_trip_ms'], properties: { round_trip_ms: { type: 'number' } } },
    },
    async (params, { signal }) => snakeJson(await ports.administration.ping(deviceOf(params), { signal })),
  );
}

function interviewTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...forDevice(ports),
      name: 'interview_device',
      title: 'Interview a device',
      description: 'Reads everything of a device again: what it is made of, its values and its software version.',
      isIdempotent: true,
      isAsyncAllowed: true,
      timeoutMs: INTERVIEW_TIMEOUT_MS,
      parameters: device,
    },
    async (params, { signal }) => snakeJson(await ports.administration.interview(deviceOf(params), { signal })),
  );
}

function diagnosticsTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...forDevice(ports),
      name: 'device_diagnostics',
      title: 'Device diagnostics',
      description:
        'Tells what a device says about its own health (uptime, restarts, faults, memory and network), and which of its clusters have friendly tools.',
      parameters: device,
    },
    async (params, { signal }) => {
      const id = deviceOf(params);
      const diagnostics = await ports.administration.diagnostics(id, { signal });
      return { ...diagnostics, clusters: ports.bounds.servedClusters(id).map((cluster) => ({ ...cluster })) };
    },
  );
}
