import { type Effect, maxRisk } from '../../core/auth/principal.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, p, type ValuesOf } from '../definition/define-tool.ts';
import type { CallerView, RegisteredTool } from '../definition/tool-definition.ts';
import { copyJson } from '../schema/plain-json.ts';
import {
  type AdminPorts,
  DONE,
  deviceOf,
  deviceParameter,
  done,
  endpointParameter,
  HUB_ACTS,
  readsDevice,
  requireOwnEndpoint,
} from './hub-tool.ts';

const bindingParameters = {
  device_id: deviceParameter,
  endpoint: endpointParameter,
  target_device_id: p.string({ description: 'Device that is to be controlled, id or name', maxLength: 64 }),
  target_endpoint: endpointParameter,
  cluster: p.string({ description: 'Only this cluster, such as OnOff', maxLength: 64 }).optional(),
};

/** Returns the tools for bindings. A binding lets a switch control a light without the hub. */
export function bindingTools(ports: AdminPorts): readonly RegisteredTool[] {
  return [getBindingsTool(ports), bindTool(ports), unbindTool(ports)];
}

function getBindingsTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...readsDevice(ports),
      canonicalize: (params, caller) => {
        const device = ports.devices.resolve(params.device_id, caller);
        requireOwnEndpoint(ports, device, params.endpoint);
        return { ...params, device_id: device };
      },
      name: 'get_bindings',
      title: 'Read bindings',
      description: 'Tells which devices an endpoint controls directly.',
      parameters: { device_id: deviceParameter, endpoint: endpointParameter },
    },
    async ({ endpoint, ...params }, { signal }) => copyJson(await ports.administration.bindings(deviceOf(params), endpoint, { signal })),
  );
}

function bindTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...forBoth(ports),
      name: 'bind_devices',
      title: 'Bind a device to another',
      description: 'Lets a device, such as a switch, control another one directly, also while this hub is off.',
      effects: (params) => bindEffects(ports, params),
    },
    async (params, { signal }) => done(ports.administration.bind(sourceOf(params), targetOf(params), { signal })),
  );
}

function unbindTool(ports: AdminPorts): RegisteredTool {
  return defineTool(
    {
      ...forBoth(ports),
      name: 'unbind_devices',
      title: 'Unbind a device from another',
      description: 'Ends that a device controls another one directly.',
    },
    async (params, { signal }) => done(ports.administration.unbind(sourceOf(params), targetOf(params), { signal })),
  );
}

/** Returns the common fields of the tools that change a binding. They require permissions for both the source and the target. */
function forBoth(ports: AdminPorts) {
  return {
    ...HUB_ACTS,
    isIdempotent: true,
    parameters: bindingParameters,
    returns: DONE,
    permissions: ['admin:device:{device_id}', 'admin:device:{target_device_id}'],
    canonicalize: (params: ValuesOf<typeof bindingParameters>, caller: CallerView): JsonObject => {
      const source = ports.devices.resolve(params.device_id, caller);
      const target = ports.devices.resolve(params.target_device_id, caller);
      requireOwnEndpoint(ports, source, params.endpoint);
      requireOwnEndpoint(ports, target, params.target_endpoint);
      return { ...params, device_id: source, target_device_id: target };
    },
  };
}

/** Returns the effects of a binding: it allows the source to send any command to the target's endpoint without the hub. */
function bindEffects({ bounds }: AdminPorts, params: ValuesOf<typeof bindingParameters>): readonly Effect[] {
  const source = sourceOf(params);
  const target = targetOf(params);
  return [
    {
      permission: `admin:device:${source.device}`,
      risk: 'low',
      target: `${source.device}/${source.endpoint}/Binding`,
      device: source.device,
    },
    {
      permission: `admin:device:${target.device}`,
      risk: maxRisk('low', bounds.riskOn(target.device, target.endpoint)),
      target: `${target.device}/${target.endpoint}/${params.cluster ?? 'all'}`,
      device: target.device,
      unforeseen: bounds.valuesOn(target.device, target.endpoint, params.cluster),
    },
  ];
}

function sourceOf(params: ValuesOf<typeof bindingParameters>): { readonly device: DeviceId; readonly endpoint: number } {
  return { device: deviceOf(params), endpoint: params.endpoint };
}

function targetOf({ target_device_id: device, target_endpoint: endpoint, cluster }: ValuesOf<typeof bindingParameters>) {
  return { device: parseDeviceId(device), endpoint, ...(cluster !== undefined && { cluster }) };
}
