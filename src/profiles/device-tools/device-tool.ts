import type { Effect } from '../../core/access/authorizer.ts';
import type { DeviceAccess } from '../../core/devices/device-directory.ts';
import type { AttributePath, AttributeReading, Device } from '../../core/devices/device-model.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { CompiledValue } from '../compile/compile-value.ts';
import type { CompiledDevice, DeviceTool } from '../compile/compiled-device.ts';
import { type DevicePlan, type DeviceStep, elementOf } from '../compile/device-plan.ts';
import { inCallerUnit, type TemperatureUnit, unitOf } from '../convert/temperature-unit.ts';
import { requireAcceptance } from './response-refusal.ts';

/** What a tool's run needs from outside. */
export interface DeviceCall {
  readonly access: DeviceAccess;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** What a call of a device's tool really does, one entry for each command, write or read. */
export function toolEffects(compiled: CompiledDevice, tool: DeviceTool, params: JsonObject): readonly Effect[] {
  const { device } = compiled;
  const area = tool.isAdministrative ? 'admin:device' : tool.kind === 'read' ? 'device:read' : 'device:control';
  return tool.plan(params).steps.map((step) => ({
    permission: `${area}:${device.id}`,
    risk: tool.risk,
    target: `${device.id}/${step.endpoint}/${step.cluster}/${elementOf(step)}`,
    device: device.id,
    ...compiled.outcomeOf(step),
  }));
}

/**
 * Runs a tool: its commands and writes in order, then one read of what its state shows. Answers
 * `{state, target, settled}` in human units, for reading tools `{state, age_seconds, reachability}`.
 * Errors are those of DeviceAccess; a response that says no is CLUSTER_STATUS too.
 */
export async function runDeviceTool(
  device: Device,
  tool: DeviceTool,
  given: { params: JsonObject; call: DeviceCall },
): Promise<JsonObject> {
  const { params, call } = given;
  if (tool.kind === 'read') return readState(device, tool, call);
  const plan = tool.plan(params);
  const response = await carryOut(device, plan, call);
  const unit = unitOf(params);
  const answer = await stateAfter(device, { tool, plan, unit }, call);
  return { ...answer, ...('unit' in params && { unit }), ...(response && tool.response && { response }) };
}

/** Carries out a plan's steps in order and answers the last response. */
export async function carryOut(device: Device, plan: DevicePlan, call: DeviceCall): Promise<JsonObject | null> {
  let response: JsonObject | null = null;
  for (const step of plan.steps) response = (await carryOutStep(device, step, call)) ?? response;
  return response;
}

async function carryOutStep(device: Device, step: DeviceStep, { access, signal }: DeviceCall): Promise<JsonObject | null> {
  const at = { device: device.id, endpoint: step.endpoint, cluster: step.cluster };
  if (step.kind === 'invoke') {
    const response = await access.invoke({ ...at, command: step.command }, step.fields, { signal });
    requireAcceptance(`${step.cluster}.${step.command}`, response);
    return response;
  }
  if (step.kind === 'write') await access.write({ ...at, attribute: step.attribute }, step.value, { signal });
  return null;
}

async function stateAfter(
  device: Device,
  run: { readonly tool: DeviceTool; readonly plan: DevicePlan; readonly unit: TemperatureUnit },
  { access, signal }: DeviceCall,
): Promise<JsonObject> {
  const { tool, plan, unit } = run;
  const target = Object.fromEntries(Object.entries(plan.target).map(([name, value]) => [name, shown(tool, name, { value, unit })]));
  if (tool.values.length === 0) return { state: {}, target, settled: true };
  try {
    const readings = await access.read(pathsOf(device, tool.values), { signal });
    const state = stateOf(tool.values, readings, unit);
    return { state, target, settled: isSettled(tool.values, readings, plan.target) };
  } catch (error) {
    // The device has already acknowledged the command: that much is certain, and an error would say otherwise.
    return { state: {}, target, settled: false, state_error: toAtmoError(error).code };
  }
}

async function readState(device: Device, tool: DeviceTool, call: DeviceCall): Promise<JsonObject> {
  const paths = pathsOf(device, tool.values);
  const readings = cachedAll(tool, paths, call.access) ?? (await call.access.read(paths, { signal: call.signal }));
  const oldestMs = Math.min(...readings.map((reading) => reading.atMs));
  return {
    state: stateOf(tool.values, readings, 'celsius'),
    age_seconds: Math.max(0, Math.round((call.nowMs - oldestMs) / 1000)),
    reachability: readings.find((reading) => reading.reachability !== 'reachable')?.reachability ?? 'reachable',
  };
}

/** What the subscription keeps fresh; undefined when something has to be asked. */
function cachedAll(tool: DeviceTool, paths: readonly AttributePath[], access: DeviceAccess): readonly AttributeReading[] | undefined {
  if (tool.capability === undefined || tool.values.some((value) => value.hasToBeAsked)) return undefined;
  const readings = paths.flatMap((path) => access.cached(path) ?? []);
  return readings.length === paths.length ? readings : undefined;
}

function pathsOf(device: Device, values: readonly CompiledValue[]): readonly AttributePath[] {
  return values.map(({ endpoint, cluster, attribute }) => ({ device: device.id, endpoint, cluster, attribute }));
}

function stateOf(values: readonly CompiledValue[], readings: readonly AttributeReading[], unit: TemperatureUnit): JsonObject {
  return Object.fromEntries(
    values.map((value, index) => [value.name, inCallerUnit(value.toHuman(readings[index]?.value ?? null), value.unit, unit)]),
  );
}

function isSettled(values: readonly CompiledValue[], readings: readonly AttributeReading[], target: JsonObject): boolean {
  return Object.entries(target).every(([name, wanted]) => {
    const index = values.findIndex((value) => value.name === name);
    return values[index]?.shows(readings[index]?.value ?? null, wanted) ?? true;
  });
}

function shown(tool: DeviceTool, name: string, target: { readonly value: Json; readonly unit: TemperatureUnit }): Json {
  const unit = tool.values.find((value) => value.name === name)?.unit ?? '';
  return inCallerUnit(target.value, unit, target.unit);
}
