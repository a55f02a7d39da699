import type { Effect } from '../../core/auth/principal.ts';
import type { DeviceAccess } from '../../core/devices/device-directory.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { p } from '../../tools/definition/define-tool.ts';
import type { CallerView, ToolContext } from '../../tools/definition/tool-definition.ts';
import { canSeeDevice, type DeviceNames } from '../../tools/names/resolve-names.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import type { CompiledDevice, CompiledDevices, Delegation, DeviceTool } from '../compile/compiled-device.ts';
import { propertiesOf } from '../values/converter.ts';
import { allSettled, runDeviceTool, type Settlement, toolEffects } from './run-device-tool.ts';

/** The services that class tools use. A class tool controls any device of a class, such as lights. */
export interface ClassToolPorts {
  readonly devices: CompiledDevices;
  readonly names: DeviceNames;
  readonly access: DeviceAccess;
  readonly validator: SchemaValidator;
}

/** Device id for examples. No device has this id, so nobody can run an example unchanged. */
export const EXAMPLE_DEVICE = '<device id>';

/** Parameter `device_id` of a class tool. */
export const deviceParameter = p.string({ description: 'Device id or unique name', maxLength: 64 });

/** The part of the declaration that all class tools share. */
export const CLASS_TOOL = {
  category: 'acting',
  permissions: ['device:control:{device_id}'],
  hasSideEffects: true,
  isAsyncAllowed: true,
  preferLocal: true,
  timeoutMs: 15_000,
} as const;

/** Returns whether a tool has an action, with or without the suffix for its endpoint. */
export function isAction(tool: DeviceTool, action: string): boolean {
  return tool.action === action || tool.plainAction === action;
}

/** Returns the device's tool for an action of a capability. */
export function toolFor(compiled: CompiledDevice, capability: string, action: string): DeviceTool | undefined {
  return compiled.tools.find((tool) => tool.capability === capability && isAction(tool, action));
}

/** Returns the parameters with the device's id in place of its name. */
export function withDeviceId<Params extends { readonly device_id: string }>(
  ports: ClassToolPorts,
  params: Params,
  caller: CallerView,
): JsonObject {
  return { ...params, device_id: ports.names.resolve(params.device_id, caller) } as unknown as JsonObject;
}

/** Returns the compiled device; throws DEVICE_NOT_FOUND if the device was removed in the meantime. */
export function deviceOf(ports: ClassToolPorts, params: { readonly device_id: string }): CompiledDevice {
  const compiled = ports.devices.get(parseDeviceId(params.device_id));
  if (compiled) return compiled;
  throw new AtmoError('DEVICE_NOT_FOUND', `The device ${params.device_id} is gone; list the devices to see what there is`);
}

/** Returns a call of a device's tool, with the parameters checked against the tool's schema and defaults filled in. */
export function delegate(ports: Pick<ClassToolPorts, 'validator'>, tool: DeviceTool, params: JsonObject): Delegation {
  return { tool, params: ports.validator.parameters(tool.parameters, params) };
}

/** Returns the parameter `brightness`, limited to the range of the light. */
export function dimming({ parameters }: DeviceTool, brightness: number): JsonObject {
  const { minimum = brightness, maximum = brightness }: { minimum?: number; maximum?: number } = propertiesOf(parameters).brightness ?? {};
  return { brightness: Math.min(Math.max(brightness, minimum), maximum) };
}

/** The result of a device's own tools, taken together. */
interface DelegatedAnswer {
  readonly state: JsonObject;
  readonly settlement: Settlement;
  readonly answer: JsonObject;
}

/** Returns the declaration and handlers of a class tool that calls the device's own tools. */
export function delegating<Request extends { readonly device_id: string }>(
  ports: ClassToolPorts,
  delegationsOf: (ports: ClassToolPorts, request: Request) => readonly Delegation[],
) {
  // `effects` and `run` do not know which devices the caller may see. So their error messages name no other devices.
  const discreet = visibleTo(ports, { canSee: () => false });
  const run = (params: Request, context: ToolContext): Promise<DelegatedAnswer> =>
    runDelegations(ports, { compiled: deviceOf(ports, params), delegations: delegationsOf(discreet, params) }, context);
  return {
    declared: {
      canonicalize: (params: Request, caller: CallerView): JsonObject => {
        const canonical = withDeviceId(ports, params, caller);
        delegationsOf(visibleTo(ports, caller), canonical as unknown as Request);
        return canonical;
      },
      /** Returns the effects of the delegated calls, as if the caller had used the device's own tools. */
      effects: (params: Request): readonly Effect[] => {
        const compiled = deviceOf(ports, params);
        return delegationsOf(discreet, params).flatMap((delegation) => toolEffects(compiled, delegation.tool, delegation.params));
      },
    },
    run,
    /** Returns the result of the class tool, with state and settlement. */
    answer: async (params: Request, context: ToolContext) => {
      const { state, settlement } = await run(params, context);
      return { success: true, state, ...settlement };
    },
  };
}

function visibleTo(ports: ClassToolPorts, caller: CallerView): ClassToolPorts {
  const { devices, names, access, validator } = ports;
  const list = () => devices.list().filter(({ device }) => canSeeDevice(device.id, caller));
  return { names, access, validator, devices: { get: (id) => devices.get(id), describe: (id) => devices.describe(id), list } };
}

/** Runs delegations in order and merges their states; a later result overrides an earlier one. */
export async function runDelegations(
  ports: Pick<ClassToolPorts, 'access'>,
  work: { readonly compiled: CompiledDevice; readonly delegations: readonly Delegation[] },
  context: Pick<ToolContext, 'signal' | 'clock'>,
): Promise<DelegatedAnswer> {
  let state: JsonObject = {};
  let answer: JsonObject = {};
  const actions: JsonObject[] = [];
  for (const { tool, params } of work.delegations) {
    const call = { access: ports.access, signal: context.signal, nowMs: context.clock.now() };
    answer = await runDeviceTool(work.compiled, tool, { params, call });
    state = { ...state, ...(answer.state as JsonObject) };
    if (tool.kind === 'act') actions.push(answer);
  }
  return { state, settlement: allSettled(actions), answer };
}

/** Throws NOT_SUPPORTED for a device that the class tool cannot control. The error names devices that it can control. */
export function notFitting(
  ports: ClassToolPorts,
  compiled: CompiledDevice,
  wanted: { readonly what: string; fits(device: CompiledDevice): boolean },
): never {
  const candidates = ports.devices
    .list()
    .filter((device) => wanted.fits(device))
    .map(({ device }) => device.id);
  const hint = candidates.length === 0 ? 'you see none here' : `these are: ${candidates.slice(0, 20).join(', ')}`;
  throw new AtmoError(
    'NOT_SUPPORTED',
    `${quoted(compiled.device.name)} (${compiled.device.id}, ${compiled.noun}) is not ${wanted.what}; ${hint}`,
    { candidates },
  );
}
