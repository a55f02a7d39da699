import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { p } from '../../schema/parameter-builder.ts';
import { snakeJson } from '../../schema/snake-json.ts';
import { type AdminPorts, deviceOf, deviceParameter, done, forDevice, forNode, HUB_ACTS, HUB_READS, SUCCESS } from './admin-declaration.ts';

const INTERVIEW_TIMEOUT_MS = 120_000;
const device = { device_id: deviceParameter };

/** Tools for one device as a whole. */
export function deviceTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [
    removeTool(ports),
    renameTool(ports),
    setAreaTool(ports),
    identifyTool(ports),
    pingTool(ports),
    interviewTool(ports),
    diagnosticsTool(ports),
  ];
}

function removeTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...forNode(ports),
      name: 'remove_device',
      title: 'Remove a device',
      description:
        'Removes a device, and everything that is part of the same node, from this home. It has to be commissioned again to come back, and then has another id.',
      isDangerous: true,
      parameters: {
        ...device,
        force: p.boolean({ description: 'Forget a device that does not answer; it still believes to belong here', default: false }),
      },
      returns: { type: 'object', required: ['removed'], properties: { removed: { type: 'array', items: { type: 'string' } } } },
    },
    async ({ force, ...params }, { signal }) => ({
      removed: await ports.administration.decommission(deviceOf(params), { signal, isForced: force }),
    }),
  );
}

function renameTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...forDevice(ports),
      name: 'rename_device',
      title: 'Rename a device',
      description: 'Gives a device another name, here and on the device where it can keep one. Its id stays.',
      isIdempotent: true,
      parameters: { ...device, name: p.string({ description: 'New name for people', minLength: 1, maxLength: 64 }) },
    },
    async ({ name, ...params }, { signal }) => snakeJson(await ports.administration.rename(deviceOf(params), name, { signal })),
  );
}

function setAreaTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...forDevice(ports),
      name: 'set_device_area',
      title: 'Put a device in a room',
      description: 'Says in which room a device is; without area it is in none.',
      isIdempotent: true,
      parameters: { ...device, area: p.string({ description: 'Room', minLength: 1, maxLength: 64 }).optional() },
    },
    async ({ area, ...params }) => snakeJson(ports.administration.setArea(deviceOf(params), area ?? null)),
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
      returns: done,
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
      description: 'Tells what a device says about its own health: uptime, restarts, faults, memory and network.',
      parameters: device,
    },
    (params, { signal }) => ports.administration.diagnostics(deviceOf(params), { signal }),
  );
}
