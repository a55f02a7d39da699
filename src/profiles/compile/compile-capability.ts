import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { Capability, ParamEntry, ToolEntry } from '../files/profile-format.ts';
import type { Recipe } from '../recipes/recipe.ts';
import { RECIPES } from '../recipes/recipes.ts';
import { completeFields, valueAt, withSecretsMarked, withValueAt } from '../values/human-schema.ts';
import { inCelsius, takesTemperature, withUnitChoice } from '../values/temperature-unit.ts';
import { type ClusterView, fieldAt } from './cluster-view.ts';
import { type CompiledParam, compileParam, exampleOf, parametersOf } from './compile-parameter.ts';
import { type CompiledValue, compileValue } from './compile-value.ts';
import { DEFAULT_TIMEOUT_MS, type DevicePlan, type DeviceStep, type ToolBlueprint, write } from './compiled-device.ts';

const TIME_UNITS = new Set(['s', 'min', 'h']);

/** What a capability file makes of one cluster. */
export interface CompiledCapability {
  readonly tools: readonly ToolBlueprint[];
  readonly values: readonly CompiledValue[];
}

type Behaviour = Pick<ToolBlueprint, 'kind' | 'elements' | 'parameters' | 'plan' | 'outcome' | 'limits'> & {
  readonly example: JsonObject | undefined;
  readonly response?: JsonSchema;
};

interface CompileContext {
  readonly capability: Capability;
  readonly view: ClusterView;
  readonly values: readonly CompiledValue[];
}

/** Tools and values of a capability on this very cluster: those whose command, attribute and features the device has. */
export function compileCapability(capability: Capability, view: ClusterView, siblings: readonly ClusterView[]): CompiledCapability {
  const values = Object.entries(capability.values ?? {}).flatMap(([name, entry]) => {
    const home = entry.cluster === undefined ? view : siblings.find((other) => other.name === entry.cluster);
    return (home && compileValue(name, entry, home)) ?? [];
  });
  const place: CompileContext = { capability, view, values };
  const tools = Object.entries(capability.tools ?? {}).flatMap(([action, entry]) => compileTool(action, entry, place) ?? []);
  return { tools, values };
}

function compileTool(action: string, entry: ToolEntry, place: CompileContext): ToolBlueprint | undefined {
  if (!place.view.hasFeatures(entry.features ?? [])) return undefined;
  const behaviour = behaviourOf(entry, place);
  if (!behaviour) return undefined;
  const { example, ...rest } = withTemperatureUnit(behaviour);
  const names = entry.read ?? entry.state;
  return {
    action,
    ...(entry.alias !== undefined && { alias: entry.alias }),
    title: entry.title,
    description: entry.description,
    endpoint: place.view.endpoint,
    cluster: place.view.name,
    capability: place.capability.id,
    risk: entry.risk,
    isAdministrative: false,
    isIdempotent: entry.idempotent ?? isUsuallyIdempotent(entry, behaviour),
    timeoutMs: entry.timeoutSeconds === undefined ? DEFAULT_TIMEOUT_MS : entry.timeoutSeconds * 1000,
    values: names ? place.values.filter((value) => names.includes(value.name)) : place.values,
    ...(example && { example }),
    ...rest,
  };
}

/** A value that is written stays the same when it is written twice; a command that runs for a time begins its time anew. */
function isUsuallyIdempotent(entry: ToolEntry, { parameters }: Behaviour): boolean {
  if (entry.command === undefined) return entry.recipe === undefined;
  const params = Object.entries((parameters.properties ?? {}) as Record<string, JsonSchema>);
  const isTimed = params.some(([name, schema]) => name !== 'transition_seconds' && TIME_UNITS.has(String(schema['x-unit'])));
  return entry.target !== undefined && !isTimed;
}

function behaviourOf(entry: ToolEntry, place: CompileContext): Behaviour | undefined {
  if (entry.command !== undefined) return commandBehaviour(entry, entry.command, place);
  if (entry.write !== undefined) return writeBehaviour(entry, entry.write, place);
  if (entry.recipe !== undefined) return recipeBehaviour(RECIPES[entry.recipe], place);
  return readBehaviour(entry.read ?? [], place.values);
}

function commandBehaviour(entry: ToolEntry, name: string, place: CompileContext): Behaviour | undefined {
  const command = place.view.command(name);
  if (!command) return undefined;
  const params = paramsOf(entry, place.view, (field) => fieldAt(command.parameters, field));
  const fixed = Object.entries(entry.fixed ?? {}).flatMap(([field, value]) => {
    const found = fieldAt(command.parameters, field);
    return found ? [{ name: found.name, value }] : [];
  });
  return {
    kind: 'act',
    elements: [command.name],
    parameters: parametersOf(params),
    limits: params.flatMap((param) => (param.rawBounds ? [{ element: command.name, field: param.slot.name, ...param.rawBounds }] : [])),
    example: exampleOf(params),
    ...(command.returns && { response: withSecretsMarked(command.returns) }),
    plan(given) {
      requireOrder(entry, given);
      let fields = fixed.reduce<JsonObject>((all, one) => withValueAt(all, one.name, one.value), {});
      for (const param of params) {
        const value = given[param.name];
        if (value !== undefined) fields = withValueAt(fields, param.slot.name, param.toRaw(value));
      }
      const step: DeviceStep = {
        kind: 'invoke',
        endpoint: place.view.endpoint,
        cluster: place.view.name,
        command: command.name,
        fields: completeFields(command.parameters, fields),
      };
      return { steps: [step], target: targetOf(entry, sentParams(given, params), place.values) };
    },
    outcome(fields) {
      if (fixed.some((one) => !isSame(valueAt(fields, one.name), one.value))) return undefined;
      const asked = params.flatMap((param): [string, Json][] => {
        const raw = valueAt(fields, param.slot.name);
        return raw === undefined || raw === null ? [] : [[param.name, param.toHuman(raw)]];
      });
      return targetOf(entry, Object.fromEntries(asked), place.values);
    },
  };
}

function isSame(a: Json | undefined, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function writeBehaviour(entry: ToolEntry, names: readonly string[], place: CompileContext): Behaviour | undefined {
  const { view } = place;
  const attributes = names.flatMap((name) => {
    const attribute = view.attribute(name);
    return attribute?.writable ? [attribute] : [];
  });
  const slotOf = (field: string) => attributes.find((attribute) => attribute.name.toLowerCase() === field.toLowerCase());
  const params = paramsOf(entry, view, slotOf);
  const fixed = Object.entries(entry.fixed ?? {}).flatMap(([field, value]) => (slotOf(field) ? [write(view, field, value)] : []));
  if (params.length === 0 && fixed.length === 0) return undefined;
  return {
    kind: 'act',
    elements: attributes.map((attribute) => attribute.name),
    parameters: parametersOf(params),
    limits: params.flatMap((param) => (param.rawBounds ? [{ element: param.slot.name, ...param.rawBounds }] : [])),
    // Model servers refuse `anyOf` at the root of parameters, so that "at least one" is checked when the call is planned.
    example: exampleOf(params.some((param) => param.isRequired) || fixed.length > 0 ? params : params.slice(0, 1).map(required)),
    plan(given) {
      requireOrder(entry, given);
      const steps = params.flatMap((param) => {
        const value = given[param.name];
        return value === undefined ? [] : [write(view, param.slot.name, param.toRaw(value))];
      });
      requireSomething([...fixed, ...steps], params);
      return { steps: [...fixed, ...steps], target: targetOf(entry, given, place.values) };
    },
  };
}

function recipeBehaviour(recipe: Recipe, place: CompileContext): Behaviour | undefined {
  const { view } = place;
  if (!recipe.isOffered(view)) return undefined;
  const { properties, required, example } = recipe.parameters(view);
  const known = new Set(place.values.map((value) => value.name));
  return {
    kind: 'act',
    elements: recipe.elements,
    example,
    parameters: {
      type: 'object',
      properties,
      ...(required && { required }),
      additionalProperties: false,
    },
    plan(given): DevicePlan {
      const { steps, target } = recipe.plan(given, view);
      return { steps, target: Object.fromEntries(Object.entries(target).filter(([name]) => known.has(name))) };
    },
  };
}

function readBehaviour(names: readonly string[], values: readonly CompiledValue[]): Behaviour | undefined {
  const wanted = values.filter((value) => names.includes(value.name));
  if (wanted.length === 0) return undefined;
  const steps = wanted.map(({ endpoint, cluster, attribute }): DeviceStep => ({ kind: 'read', endpoint, cluster, attribute }));
  return {
    kind: 'read',
    elements: wanted.map((value) => value.attribute),
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    example: {},
    plan: () => ({ steps, target: {} }),
  };
}

/** Parameters whose field this device has; the others are not offered. */
function paramsOf(
  entry: ToolEntry,
  view: ClusterView,
  slotOf: (field: string) => { readonly name: string; readonly schema: JsonSchema } | undefined,
): readonly CompiledParam[] {
  return Object.entries(entry.params ?? {}).flatMap(([name, param]: [string, ParamEntry]) => {
    const slot = slotOf(param.field);
    return slot ? [compileParam(name, param, { slot, view })] : [];
  });
}

/** Parameters as the device gets them: what was given, or its own limit instead. */
function sentParams(given: JsonObject, params: readonly CompiledParam[]): JsonObject {
  const moved = params.flatMap((param): [string, Json][] => {
    const value = given[param.name];
    return param.isMovedToLimits && value !== undefined ? [[param.name, param.toHuman(param.toRaw(value))]] : [];
  });
  return { ...given, ...Object.fromEntries(moved) };
}

/** What the device should show: the file's target, and each given parameter that is named like a value. */
function targetOf(entry: ToolEntry, given: JsonObject, values: readonly CompiledValue[]): JsonObject {
  const asked = Object.entries(given).map(([name, value]) => [entry.shows?.[name] ?? name, value] as const);
  const all = [...Object.entries(entry.target ?? {}), ...asked];
  return Object.fromEntries(all.filter(([name]) => values.some((value) => value.name === name)));
}

function requireSomething(steps: readonly DeviceStep[], params: readonly CompiledParam[]): void {
  if (steps.length > 0) return;
  throw new AtmoError('VALIDATION_ERROR', `Give at least one of ${params.map((param) => param.name).join(', ')}`);
}

/** A lowest value above the highest one leaves nothing between them. */
function requireOrder(entry: ToolEntry, given: JsonObject): void {
  for (const [name, { notAbove }] of Object.entries(entry.params ?? {})) {
    const [low, high] = [given[name], notAbove === undefined ? undefined : given[notAbove]];
    if (typeof low !== 'number' || typeof high !== 'number' || low <= high) continue;
    throw new AtmoError('VALIDATION_ERROR', `${name} is ${low}, which is above ${notAbove}, ${high}; give ${name} of at most ${high}`, {
      pointer: `/${name}`,
      maximum: high,
    });
  }
}

function withTemperatureUnit(behaviour: Behaviour): Behaviour {
  const { parameters, plan } = behaviour;
  if (!takesTemperature(parameters)) return behaviour;
  return { ...behaviour, parameters: withUnitChoice(parameters), plan: (given) => plan(inCelsius(given, parameters)) };
}

function required(param: CompiledParam): CompiledParam {
  return { ...param, isRequired: true };
}
