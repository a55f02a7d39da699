import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, INTEGER, p, resultSchema, TEXT, TEXTS } from '../definition/define-tool.ts';
import type { CallerView, RegisteredTool } from '../definition/tool-definition.ts';
import { canSeeDevice } from '../names/resolve-names.ts';
import { copyJsonObject, snakeJson } from '../schema/plain-json.ts';
import { bindingTools } from './binding-tools.ts';
import { commissionTools } from './commission-tools.ts';
import { deviceNameTools, namingAnswer } from './device-name-tools.ts';
import { fabricTools } from './fabric-tools.ts';
import { groupTools } from './group-tools.ts';
import {
  type AdminPorts,
  actsOnDevice,
  actsOnNode,
  DONE,
  deviceOf,
  deviceParameter,
  done,
  READS_WHOLE_HUB,
  readsDevice,
} from './hub-tool.ts';
import { credentialTools, topologyTool } from './network-tools.ts';

/** Returns all tools with which an administrator manages devices, in the namespace `hub`. */
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
      ...actsOnNode(ports),
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
      returns: resultSchema({ removed: TEXTS }),
    },
    async ({ force, whole_node: _, ...params }, { signal }) => ({
      removed: await ports.administration.decommission(deviceOf(params), { signal, isForced: force }),
    }),
  );
}

/** Replaces a device's name by its id. If the device can only be removed with its bridge, throws CONFLICT unless `whole_node` is set. */
function leavingDevices(
  ports: AdminPorts,
  params: { readonly device_id: string; readonly force: boolean; readonly whole_node: boolean },
  caller: CallerView,
): JsonObject {
  const id = ports.devices.resolve(params.device_id, caller);
  const { length: count } = ports.bounds.nodeOf(id);
  const whole = ports.bounds.wholeOf(id);
  // CONFLICT would reveal the bridge's id to a caller who may not see it. The permission check comes next and refuses the call.
  const isWanted = whole === id || params.whole_node || !canSeeDevice(whole, caller);
  if (isWanted) return { ...params, device_id: id };
  const advice = `Name ${whole} to remove them all, or confirm with whole_node (--whole-node of atmo)`;
  throw new AtmoError('CONFLICT', `${id} cannot leave alone: it belongs to ${whole}, and this would remove ${count} devices. ${advice}`, {
    devices: count,
    whole,
  });
}

function renameDeviceTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...actsOnDevice(ports),
      name: 'rename_device',
      title: 'Rename a device',
      description:
        'Gives a device another name, here and on the device where it can keep one. Its id stays, and its former names go on meaning it. Answers how the names of its tools begin now, and what uses the former ones.',
      isIdempotent: true,
      parameters: { ...device, name: p.string({ description: 'New name for people', minLength: 1, maxLength: 64, isGivenName: true }) },
      restorable: ({ device_id }) => ({
        path: `name/${device_id}`,
        now: () => ports.naming.directory.get(deviceOf({ device_id }))?.name,
        restore: (name) => ({ tool: 'hub:rename_device', params: { device_id, name } }),
      }),
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
      ...actsOnDevice(ports),
      name: 'set_device_area',
      title: 'Put a device in a room',
      description: 'Says in which room a device is; without area it is in none. A former name of a room means the room.',
      isIdempotent: true,
      parameters: { ...device, area: p.string({ description: 'Room', minLength: 1, maxLength: 64, isGivenName: true }).optional() },
      restorable: ({ device_id }) => ({
        path: `area/${device_id}`,
        now: () => ports.naming.directory.get(deviceOf({ device_id }))?.area ?? null,
        restore: (area) => ({ tool: 'hub:set_device_area', params: { device_id, ...(area !== null && { area }) } }),
      }),
    },
    async ({ area, ...params }) =>
      snakeJson(ports.administration.setArea(deviceOf(params), area === undefined ? null : ports.naming.areaToday(area))),
  );
}

function identifyTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...actsOnDevice(ports),
      name: 'identify_device',
      title: 'Identify a device',
      description: 'Makes a device show which one it is, by blinking or beeping.',
      isIdempotent: true,
      parameters: { ...device, seconds: p.integer({ description: 'How long', minimum: 0, maximum: 600, default: 10, unit: 's' }) },
      returns: DONE,
    },
    async ({ seconds, ...params }, { signal }) => done(ports.administration.identify(deviceOf(params), seconds, { signal })),
  );
}

function pingTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...readsDevice(ports),
      name: 'ping_device',
      title: 'Ping a device',
      description: 'Asks a device whether it is there and tells how long the answer took.',
      parameters: device,
      returns: resultSchema({ round_trip_ms: { type: 'number' } }),
    },
    async (params, { signal }) => snakeJson(await ports.administration.ping(deviceOf(params), { signal })),
  );
}

function interviewTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...actsOnDevice(ports),
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
      ...readsDevice(ports),
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

/** The timeout is long because Thread is slow and a device may delay the start of its update. */
const UPDATE_TIMEOUT_MS = 2 * 3_600_000;
const version = resultSchema({
  number: { ...INTEGER, description: 'Greater is newer' },
  text: { ...TEXT, description: 'As the manufacturer writes it' },
});
const offer = resultSchema({ device: TEXT, name: TEXT, from: version, to: version, file: TEXT, size_bytes: INTEGER, notes_url: TEXT }, [
  'notes_url',
]);

function updateTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [listTool(ports), updateTool(ports)];
}

function listTool({ administration }: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'list_updates',
      title: 'Software updates',
      description:
        "Tells which devices have newer software among the image files in the hub's folder of updates, and why other files fit no device. " +
        'Nothing is looked up on the internet; notes_url is what the image says, not checked.',
      tags: ['matter', 'ota', 'firmware', 'update', 'version'],
      timeoutMs: 60_000,
      parameters: {},
      returns: resultSchema({
        folder: { ...TEXT, description: 'Where the owner puts *.ota files' },
        offers: { type: 'array', items: offer },
        unfit: { type: 'array', items: resultSchema({ file: TEXT, reason: TEXT }) },
      }),
    },
    async () => snakeJson(await administration.updates()),
  );
}

function updateTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...actsOnNode(ports),
      name: 'update_device',
      title: 'Update a device',
      description:
        'Installs newer software on a device, and everything that is part of the same node, from an image file of list_updates: the newest that ' +
        'fits, or `file`. The device restarts; it cannot go back. Takes minutes, over Thread much longer: call it as a job. Success means ' +
        'that the device itself tells the new version.',
      tags: ['matter', 'ota', 'firmware', 'update'],
      isDangerous: true,
      isAsyncAllowed: true,
      timeoutMs: UPDATE_TIMEOUT_MS,
      parameters: {
        device_id: deviceParameter,
        file: p.string({ description: 'Name of an image in the folder', minLength: 5, maxLength: 254 }).optional(),
      },
      returns: resultSchema({ device: TEXT, file: TEXT, from: version, to: version }),
    },
    async ({ file, ...params }, { signal, progress }) => {
      const result = await ports.administration.update(deviceOf(params), {
        ...(file !== undefined && { file }),
        signal,
        onProgress: ({ step, fraction, note }) => progress(fraction, `${step}: ${note}`),
      });
      return snakeJson(result);
    },
  );
}
