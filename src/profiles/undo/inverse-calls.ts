import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import type { CompiledValue } from '../compile/cluster-view.ts';
import type { Delegation, DeviceTool } from '../compile/compiled-device.ts';
import { propertiesOf } from '../values/converter.ts';
import type { PredictedState } from './predicted-state.ts';

/** A value of a device and the raw value that it has to have again. */
export interface WantedValue {
  readonly value: CompiledValue;
  readonly raw: Json;
}

/** The present state, all values that are wanted, and those of them that the state does not have. */
export interface InverseGoal {
  readonly state: PredictedState;
  readonly wanted: readonly WantedValue[];
  readonly missing: readonly WantedValue[];
}

/** Units of durations. A duration of a call, such as that of a change, is no value of the device. */
const TIME_UNITS: ReadonlySet<string> = new Set(['s', 'min', 'h']);
/** Most combinations of parameters that are tried for one tool. */
const MAX_COMBINATIONS = 64;
/** Most names of an enum that are tried for a parameter which no wanted value has the name of. */
const MAX_TRIED_NAMES = 8;
/** Steps of the search for the parameter that gives exactly a raw value. */
const EXACT_STEPS = 4;

/**
 * Returns the calls of a tool that bring at least one of the missing values back, in the given state. A tool that is not idempotent is
 * among them only if it runs for a time: a second delivery of its command would have a second effect, but here only begins the time again.
 */
export function inverseCalls(
  tool: DeviceTool,
  goal: InverseGoal,
): readonly { readonly call: Delegation; readonly state: PredictedState }[] {
  const { state, missing } = goal;
  if (tool.kind !== 'act' || !isRepeatable(tool) || needsPin(tool, state)) return [];
  return parametersFor(tool, goal).flatMap((params) => {
    const exact = exactly(tool, params, goal);
    const after = stateAfter(tool, exact, state);
    if (!after || !missing.some(({ value, raw }) => after.has(value, raw))) return [];
    return [{ call: { tool, params: exact }, state: after }];
  });
}

function isRepeatable({ isIdempotent, undo, parameters }: DeviceTool): boolean {
  return (
    isIdempotent || (undo !== 'never' && Object.entries(propertiesOf(parameters)).some(([name, schema]) => isRunningTime(name, schema)))
  );
}

/** Returns whether a parameter is a time for which something runs, rather than that of a change. */
function isRunningTime(name: string, schema: JsonSchema): boolean {
  return name !== 'transition_seconds' && schema['x-unit'] === 's';
}

/** Returns whether a lock wants its PIN for the tool. The hub does not keep PINs, so it cannot give one (Application Clusters §5.2.9). */
function needsPin({ endpoint, cluster, parameters }: DeviceTool, state: PredictedState): boolean {
  if (cluster !== 'DoorLock' || !('pin' in propertiesOf(parameters))) return false;
  return state.raw({ endpoint, cluster, attribute: 'RequirePinForRemoteOperation' }) === true;
}

/** Returns the state after a call; undefined if the tool refuses the parameters. */
function stateAfter(tool: DeviceTool, params: JsonObject, state: PredictedState): PredictedState | undefined {
  try {
    return state.after(tool.plan(params).steps);
  } catch {
    return undefined;
  }
}

function parametersFor({ parameters }: DeviceTool, goal: InverseGoal): readonly JsonObject[] {
  const required = Array.isArray(parameters.required) ? parameters.required : [];
  let all: readonly JsonObject[] = [{}];
  for (const [name, schema] of Object.entries(propertiesOf(parameters))) {
    const values = valuesFor(name, schema, goal);
    const isOptional = schema.default === undefined && !required.includes(name);
    const choices: readonly JsonObject[] = [...values.map((value) => ({ [name]: value })), ...(isOptional ? [{}] : [])];
    all = all.flatMap((params) => choices.map((choice) => ({ ...params, ...choice }))).slice(0, MAX_COMBINATIONS);
  }
  return all;
}

/**
 * Returns the values that a parameter may need: that of the wanted value with its name, all missing ones that fit it, and its default. A value
 * that is there already may be needed too: to bring back the mode of a colour, a tool needs the hue.
 */
function valuesFor(name: string, schema: JsonSchema, { wanted, missing }: InverseGoal): readonly Json[] {
  // No value of a device is a PIN, and a wrong one counts against the lock.
  if (schema['x-secret'] === true) return [];
  const same = humanValues(wanted.filter(({ value }) => value.name === name)).filter((one) => fits(schema, one));
  const names = same.length === 0 && Array.isArray(schema.enum) ? (schema.enum as readonly Json[]) : [];
  const fitting = humanValues(missing).filter((one) => fits(schema, one));
  const usual = schema.default === undefined ? [] : [schema.default as Json];
  if (name === 'unit') return usual;
  // Of all times only the one that was left before can be needed again.
  if (isRunningTime(name, schema)) {
    return [...humanValues(wanted.filter(({ value }) => value.unit === 's')).filter((one) => fits(schema, one)), ...usual];
  }
  if (TIME_UNITS.has(String(schema['x-unit']))) return usual;
  const all = [...same, ...usual, ...fitting, ...names.slice(0, MAX_TRIED_NAMES)];
  return [...new Map(all.map((value) => [JSON.stringify(value), value])).values()];
}

function humanValues(values: readonly WantedValue[]): readonly Json[] {
  return values.flatMap(({ value, raw }) => (raw === null ? [] : [value.toHuman(raw)]));
}

function fits({ type, enum: names, anyOf, minimum, maximum }: JsonSchema, value: Json): boolean {
  if (Array.isArray(names)) return names.includes(value);
  if (Array.isArray(anyOf)) return anyOf.some((one: unknown) => isJsonObject(one) && fits(one, value));
  const types = [type].flat();
  if (typeof value === 'number') return (types.includes('number') || types.includes('integer')) && isWithin(value, { minimum, maximum });
  if (Array.isArray(value)) return types.includes('array');
  return types.includes(typeof value) && value !== null;
}

function isWithin(value: number, { minimum, maximum }: Pick<JsonSchema, 'minimum' | 'maximum'>): boolean {
  return value >= Number(minimum ?? Number.NEGATIVE_INFINITY) && value <= Number(maximum ?? Number.POSITIVE_INFINITY);
}

/**
 * Returns the parameters, with each number changed so that the tool sends exactly the wanted raw value. A number in human units is rounded:
 * 40 % are the level 102, and 39.76 % are 101. The number is found from what the tool sends, as converters may be curved (kelvin).
 */
function exactly(tool: DeviceTool, params: JsonObject, { state, wanted }: InverseGoal): JsonObject {
  let exact = params;
  for (const { value, raw } of wanted) {
    if (typeof raw !== 'number') continue;
    const human = value.toHuman(raw);
    const name = Object.keys(exact).find((one) => exact[one] === human);
    if (name === undefined || typeof human !== 'number') continue;
    const sent = (given: number): number | undefined => {
      const after = stateAfter(tool, { ...exact, [name]: given }, state)?.raw(value);
      return typeof after === 'number' ? after : undefined;
    };
    exact = { ...exact, [name]: numberFor(raw, human, sent) };
  }
  return exact;
}

/** Returns a number near `start` for which `sent` returns `wanted`, by the secant method; `start` if it finds none. */
function numberFor(wanted: number, start: number, sent: (given: number) => number | undefined): number {
  const span = Math.max(1, Math.abs(start) / 20);
  let given = start;
  for (let step = 0; step < EXACT_STEPS; step++) {
    const [here, beside] = [sent(given), sent(given + span)];
    if (here === wanted) return Number(given.toFixed(4));
    if (here === undefined || beside === undefined || beside === here) return start;
    given += ((wanted - here) * span) / (beside - here);
  }
  const rounded = Number(given.toFixed(4));
  return sent(rounded) === wanted ? rounded : start;
}
