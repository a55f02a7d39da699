import type { Effect } from '../../core/auth/principal.ts';
import type { DeviceAccess, ReadBack } from '../../core/devices/device-directory.ts';
import type { AttributePath, AttributeReading, Device } from '../../core/devices/device-model.ts';
import { readableWords } from '../../core/devices/matter-names.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { plain } from '../../core/untrusted-text.ts';
import type { CompiledValue, LiveValues } from '../compile/cluster-view.ts';
import type { CompiledDevice, DevicePlan, DeviceStep, DeviceTool } from '../compile/compiled-device.ts';
import { changesOfStep, elementOf, outcomeOf, outcomeOfChanges } from '../compile/step-outcome.ts';
import { propertiesOf } from '../values/converter.ts';
import { inCallerUnit, type TemperatureUnit, unitOf } from '../values/temperature-unit.ts';

// Status of the Interaction Model (Core §8.10.1).
const CONSTRAINT_ERROR = 0x87;

/** Access to devices for one call. */
export interface DeviceCall {
  readonly access: DeviceAccess;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** Returns the effects of calling a device's tool: one effect for each command, write or read, each in the state that those before leave. */
export function toolEffects(compiled: CompiledDevice, tool: DeviceTool, params: JsonObject): readonly Effect[] {
  const { device } = compiled;
  const area = tool.isAdministrative ? 'admin:device' : tool.kind === 'read' ? 'device:read' : 'device:control';
  const left = new Map<string, Json | undefined>();
  const fresh: LiveValues = (...path) => left.get(path.join('/'));
  return tool.plan(params).steps.map((step) => ({
    permission: `${area}:${device.id}`,
    risk: tool.risk,
    target: `${device.id}/${step.endpoint}/${step.cluster}/${elementOf(step)}`,
    device: device.id,
    ...outcomeAfter(step, compiled, { left, fresh }),
  }));
}

/** Returns the outcome of a step after those that left these raw values, and adds what it leaves. */
function outcomeAfter(
  step: DeviceStep,
  compiled: CompiledDevice,
  { left, fresh }: { readonly left: Map<string, Json | undefined>; readonly fresh: LiveValues },
) {
  const changes = changesOfStep(step, compiled, fresh);
  for (const { value, raw } of changes) left.set(`${value.endpoint}/${value.cluster}/${value.attribute}`, raw);
  return outcomeOfChanges(step, changes);
}

/** Maximum number of values that an error message names. The error's details contain all of them. */
const MAX_NAMED_VALUES = 6;

type ActResult = JsonObject & Settlement & { readonly state: JsonObject; readonly target: JsonObject };

/**
 * Runs a tool: sends its commands and writes in order, then reads the tool's values back once. Returns `{state, target, settled}` in human
 * units. `settled` tells whether `state` shows `target`. If nothing could be compared, `settled_reason` says why. A read tool returns
 * `{state, age_seconds, reachability}` instead. If the target depends on the current state (as for toggle), it is computed from a read just
 * before the command. Throws the errors of DeviceAccess, and CLUSTER_STATUS if the response to a command is a rejection.
 */
export async function runDeviceTool(
  compiled: CompiledDevice,
  tool: DeviceTool,
  given: { readonly params: JsonObject; readonly call: DeviceCall },
): Promise<JsonObject> {
  return tool.kind === 'read' ? readState(compiled.device, tool, given.call) : act(compiled, tool, given);
}

async function act(
  compiled: CompiledDevice,
  tool: DeviceTool,
  { params, call }: { readonly params: JsonObject; readonly call: DeviceCall },
): Promise<ActResult> {
  const { device } = compiled;
  const plan = await withRelativeTarget(compiled, { tool, plan: tool.plan(params) }, call);
  using readBack = expected(device, { tool, plan }, call.access);
  const response = await carryOut(device, plan, call).catch((error: unknown) =>
    refusedInState(device, { tool, call }, withStatedRange(error, tool, params)),
  );
  const unit = unitOf(params);
  if (tool.values.length === 0) await readUnforeseen(compiled, plan, call);
  const answer = await stateAfter(device, { tool, plan, unit, readBack }, call);
  return { ...answer, ...('unit' in params && { unit }), ...(response && tool.response && { response }) };
}

/** If the error is CONSTRAINT_ERROR, adds the allowed ranges of the given parameters to its message. Returns any other error unchanged. */
function withStatedRange(error: unknown, tool: DeviceTool, params: JsonObject): unknown {
  if (!(error instanceof AtmoError) || error.code !== 'CLUSTER_STATUS' || error.details.status !== CONSTRAINT_ERROR) return error;
  const known = propertiesOf(tool.parameters);
  const ranges = Object.entries(params).flatMap(([name, value]) =>
    typeof value === 'number' && typeof known[name]?.description === 'string' ? [`${name}: ${known[name].description}`] : [],
  );
  if (ranges.length === 0) return error;
  return new AtmoError(error.code, `${error.message}. As far as it tells: ${ranges.join(' ')}`, error.details, { cause: error });
}

/** Returns the plan. If it has no target, but the device's current state determines one (as for toggle), adds that target. */
async function withRelativeTarget(
  compiled: CompiledDevice,
  { tool, plan }: { readonly tool: DeviceTool; readonly plan: DevicePlan },
  { access, signal }: DeviceCall,
): Promise<DevicePlan> {
  if (Object.keys(plan.target).length > 0) return plan;
  const shown = new Set(tool.values.map((value) => value.name));
  const expected = (live?: LiveValues): JsonObject => {
    const outcomes = plan.steps.flatMap((step) =>
      step.kind === 'invoke' ? Object.entries(outcomeOf(step, compiled, live).values ?? {}) : [],
    );
    return Object.fromEntries(outcomes.filter(([name]) => shown.has(name)));
  };
  if (Object.keys(expected()).length === 0) return plan;
  const readings = await access.read(pathsOf(compiled.device, tool.values), { signal });
  const now = new Map(readings.map(({ path, value }) => [`${path.endpoint}/${path.cluster}/${path.attribute}`, value]));
  return { ...plan, target: expected((endpoint, cluster, attribute) => now.get(`${endpoint}/${cluster}/${attribute}`)) };
}

/** Carries out the steps of a plan in order and returns the last response. */
async function carryOut(device: Device, plan: DevicePlan, call: DeviceCall): Promise<JsonObject | null> {
  let response: JsonObject | null = null;
  for (const step of plan.steps) response = (await carryOutStep(device, step, call)) ?? response;
  return response;
}

/** The status InvalidInState of the Interaction Model (Core §8.10), and its names in command responses. */
const INVALID_IN_STATE: ReadonlySet<unknown> = new Set([0xcb, 'CommandInvalidInState', 'InvalidInMode']);

/** Throws the error of a rejected command. If the device's state forbids the command, the error also shows that state. */
async function refusedInState(
  device: Device,
  { tool, call }: { readonly tool: DeviceTool; readonly call: DeviceCall },
  thrown: unknown,
): Promise<never> {
  const error = toAtmoError(thrown);
  if (error.code !== 'CLUSTER_STATUS' || !INVALID_IN_STATE.has(error.details.status) || tool.values.length === 0) throw thrown;
  const readings = await call.access.read(pathsOf(device, tool.values), { signal: call.signal }).catch(() => undefined);
  if (!readings) throw thrown;
  const state = stateOf(tool.values, readings, 'celsius');
  const shown = Object.entries(state).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const message = `${error.message}: ${shown.slice(0, MAX_NAMED_VALUES).join(', ')}. Change that first, then try again`;
  throw new AtmoError('CLUSTER_STATUS', message, { ...error.details, state }, { cause: error });
}

async function carryOutStep(device: Device, step: DeviceStep, { access, signal }: DeviceCall): Promise<JsonObject | null> {
  const at = { device: device.id, endpoint: step.endpoint, cluster: step.cluster };
  if (step.kind === 'invoke') {
    const response = await access.invoke({ ...at, command: step.command }, step.fields, { signal });
    requireAcceptance(`${step.cluster}.${step.command}`, response);
    return response;
  }
  if (step.kind === 'write') {
    await access.write({ ...at, attribute: step.attribute }, step.value, { signal }).catch((error: unknown) => {
      if (!step.isOptional || toAtmoError(error).code !== 'CLUSTER_STATUS') throw error;
    });
  }
  return null;
}

/**
 * Reads the values that a call may have changed in ways that are not known before, such as the recall of a scene. Otherwise the audit log would
 * have them as they were before, where the device reports them later than the call ends. A failed read changes nothing.
 */
async function readUnforeseen(compiled: CompiledDevice, { steps }: DevicePlan, { access, signal }: DeviceCall): Promise<void> {
  const changes = steps.flatMap((step) => changesOfStep(step, compiled));
  const unforeseen = changes.filter(({ raw, human }) => raw === undefined && human === undefined).map(({ value }) => value);
  if (unforeseen.length > 0) await access.read(pathsOf(compiled.device, unforeseen), { signal }).catch(() => []);
}

/** Values of these clusters are read after a command whatever the device reports: of a door or a valve, the device itself is asked. */
const ALWAYS_READ: ReadonlySet<string> = new Set(['DoorLock', 'ValveConfigurationAndControl']);

/** Prepares the read-back of a call. Undefined if the values have to be read, or the plan does not say what becomes of each of them. */
function expected(
  device: Device,
  { tool, plan }: { readonly tool: DeviceTool; readonly plan: DevicePlan },
  access: DeviceAccess,
): ReadBack | undefined {
  const { values, risk } = tool;
  if (values.length === 0 || risk === 'dangerous' || values.some(({ cluster }) => ALWAYS_READ.has(cluster))) return undefined;
  const paths = pathsOf(device, values);
  const wanted = values.flatMap((value, index) => {
    const [path, human] = [paths[index], plan.target[value.name]];
    return path === undefined || human === undefined ? [] : [{ path, isReached: (raw: Json) => value.shows(raw, human) }];
  });
  return wanted.length === values.length ? access.awaitReports(wanted) : undefined;
}

async function stateAfter(
  device: Device,
  run: {
    readonly tool: DeviceTool;
    readonly plan: DevicePlan;
    readonly unit: TemperatureUnit;
    readonly readBack: ReadBack | undefined;
  },
  { access, signal }: DeviceCall,
): Promise<ActResult> {
  const { tool, plan, unit, readBack } = run;
  const { values } = tool;
  const unitOfValue = (name: string) => values.find((value) => value.name === name)?.unit ?? '';
  const target = Object.fromEntries(
    Object.entries(plan.target).map(([name, value]) => [name, inCallerUnit(value, unitOfValue(name), unit)]),
  );
  if (values.length === 0) return { state: {}, target, ...settlementOf({}, { values, readings: [] }) };
  try {
    const readings = await (readBack?.read({ signal }) ?? access.read(pathsOf(device, values), { signal }));
    return { state: stateOf(values, readings, unit), target, ...settlementOf(plan.target, { values, readings }) };
  } catch (error) {
    // The error is only part of the result. Throwing it would hide that the device has acknowledged the command.
    return { state: {}, target, ...UNREAD, state_error: toAtmoError(error).code };
  }
}

async function readState(device: Device, tool: DeviceTool, call: DeviceCall): Promise<JsonObject> {
  const paths = pathsOf(device, tool.values);
  call.access.noteRead([device.id]);
  const readings = cachedAll(tool, paths, call.access) ?? (await call.access.read(paths, { signal: call.signal }));
  const oldestMs = Math.min(...readings.map((reading) => reading.atMs));
  return {
    state: stateOf(tool.values, readings, 'celsius'),
    // If the age of one value is unknown (0), the age of the whole result is unknown.
    age_seconds: oldestMs === 0 ? null : Math.max(0, Math.round((call.nowMs - oldestMs) / 1000)),
    reachability: readings.find((reading) => reading.reachability !== 'reachable')?.reachability ?? 'reachable',
  };
}

/** Returns the cached readings. Undefined for a generic tool, and if a value is not cached or the device does not report its changes. */
function cachedAll(tool: DeviceTool, paths: readonly AttributePath[], access: DeviceAccess): readonly AttributeReading[] | undefined {
  if (tool.capability === undefined || tool.values.some((value) => value.hasToBeAsked)) return undefined;
  const readings = paths.flatMap((path) => access.cached(path) ?? []);
  return readings.length === paths.length ? readings : undefined;
}

/** Returns the paths at which the values of a device are read. */
export function pathsOf(device: Device, values: readonly CompiledValue[]): readonly AttributePath[] {
  return values.map(({ endpoint, cluster, attribute }) => ({ device: device.id, endpoint, cluster, attribute }));
}

function stateOf(values: readonly CompiledValue[], readings: readonly AttributeReading[], unit: TemperatureUnit): JsonObject {
  return Object.fromEntries(
    values.map((value, index) => [value.name, inCallerUnit(value.toHuman(readings[index]?.value ?? null), value.unit, unit)]),
  );
}

/**
 * States whether the device reports the target values. True or false is the result of comparing the device's state with the target. Null
 * means that nothing was compared; `settled_reason` says why.
 */
export type Settlement = { readonly settled: boolean } | { readonly settled: null; readonly settled_reason: string };

/** Schemas of `settled` and `settled_reason` in a result. */
export const SETTLEMENT_PROPERTIES = {
  settled: {
    type: ['boolean', 'null'],
    description:
      'True: the device shows the target. False: it does not show it yet. null: nothing could be compared; settled_reason says why',
  },
  settled_reason: { type: 'string', description: 'Why settled is null' },
} as const satisfies Readonly<Record<string, JsonSchema>>;

/** Result if the device acknowledged the command, but its state could not be read afterwards. */
const UNREAD: Settlement = notCompared('the device acknowledged the action, and its state could not be read afterwards');

const NOTHING_NAMED = notCompared('this action names no state in which the device has to be afterwards');

/** Compares the readings with the target values; `readings` has the same order as `values`. */
function settlementOf(
  target: JsonObject,
  { values, readings }: { readonly values: readonly CompiledValue[]; readonly readings: readonly AttributeReading[] },
): Settlement {
  const wanted = Object.entries(target);
  if (wanted.length === 0) return NOTHING_NAMED;
  const unknown: string[] = [];
  for (const [name, human] of wanted) {
    const index = values.findIndex((value) => value.name === name);
    const raw = readings[index]?.value ?? null;
    const isShown = values[index]?.shows(raw, human);
    if (isShown === true) continue;
    if (isShown === false && raw !== null) return { settled: false };
    unknown.push(name);
  }
  return unknown.length === 0 ? { settled: true } : notCompared(`the device does not say what its ${unknown.join(' and ')} is`);
}

/** Combines the settlements of several actions: false if any is false, true if all are true, null otherwise or without actions. */
export function allSettled(answers: readonly JsonObject[]): Settlement {
  const answer = answers.find(({ settled }) => settled === false) ?? answers.find(({ settled }) => settled === null) ?? answers[0];
  if (typeof answer?.settled === 'boolean') return { settled: answer.settled };
  return answer ? { settled: null, settled_reason: String(answer.settled_reason) } : NOTHING_NAMED;
}

/** Returns the settlement of a call for which nothing could be compared; `why` is the reason. */
export function notCompared(why: string): Settlement {
  return { settled: null, settled_reason: `Nothing was compared: ${why}` };
}

/** Status values that mean success. `Exhausted` is the status of a complete log (Core §11.11.4.2). */
const ACCEPTED: ReadonlySet<Json | undefined> = new Set([undefined, null, 0, 'Success', 'NoError', 'Exhausted']);

/**
 * Throws CLUSTER_STATUS if the interaction succeeded, but the response rejects the command. ChangeToModeResponse, SelectAreasResponse and
 * similar have a `status`; OperationalCommandResponse has a `commandResponseState` (Application Clusters §1.14.7.5).
 */
export function requireAcceptance(what: string, response: JsonObject | null): void {
  const refusal = response && refusalOf(response);
  if (!refusal) return;
  const { status, text } = refusal;
  const name = typeof status === 'number' ? `status ${status}` : readableWords(String(status));
  throw new AtmoError('CLUSTER_STATUS', `${what}: the device refused it: ${name}${text === '' ? '' : ` (${JSON.stringify(text)})`}`, {
    status,
    response,
  });
}

function refusalOf(response: JsonObject): { readonly status: Json; readonly text: string } | undefined {
  const state = response.commandResponseState;
  const [status, text] = isJsonObject(state)
    ? [state.errorStateId, state.errorStateDetails ?? state.errorStateLabel]
    : [response.status, response.statusText];
  if (status === undefined || ACCEPTED.has(status)) return undefined;
  return { status, text: typeof text === 'string' ? plain(text) : '' };
}
