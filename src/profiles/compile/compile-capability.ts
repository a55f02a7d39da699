import { AtmoError } from '../../core/errors.ts';
import { type Json, type JsonObject, type JsonSchema, valueAt } from '../../core/json.ts';
import type { Capability, ParamEntry, ToolEntry } from '../files/profile-format.ts';
import type { Recipe } from '../recipes/recipe.ts';
import { RECIPES } from '../recipes/recipes.ts';
import { propertiesOf } from '../values/converter.ts';
import { emptyFields, withSecretsMarked, withValueAt } from '../values/human-schema.ts';
import { inCelsius, takesTemperature, withUnitChoice } from '../values/temperature-unit.ts';
import { type ClusterView, type CompiledValue, compileValue, fieldAt } from './cluster-view.ts';
import { type CompiledParam, compileParam, exampleOf, parametersOf } from './compile-parameter.ts';
import { DEFAULT_TIMEOUT_MS, type DeviceStep, type ToolBlueprint, write } from './compiled-device.ts';

const TIME_UNITS = new Set(['s', 'min', 'h']);

type Behaviour = Pick<ToolBlueprint, 'kind' | 'elements' | 'parameters' | 'plan' | 'outcome' | 'limits'> & {
  readonly example: JsonObject | undefined;
  readonly response?: JsonSchema;
};

interface CompileContext {
  readonly capability: Capability;
  readonly view: ClusterView;
  readonly values: readonly CompiledValue[];
}

/**
 * Returns the capability's tools and values for one cluster of a device. Omits tools and values that need a command, attribute or feature
 * that the cluster lacks.
 */
export function compileCapability(capability: Capability, view: ClusterView, siblings: readonly ClusterView[]) {
  const values = Object.entries(capability.values ?? {}).flatMap(([name, entry]) => {
    const home = entry.cluster === undefined ? view : siblings.find((other) => other.name === entry.cluster);
    return (home && compileValue(name, entry, home)) ?? [];
  });
  const context: CompileContext = { capability, view, values };
  const tools = Object.entries(capability.tools ?? {}).flatMap(([action, entry]) => compileTool(action, entry, context) ?? []);
  return { tools, values };
}

function compileTool(action: string, entry: ToolEntry, context: CompileContext): ToolBlueprint | undefined {
  if (!context.view.hasFeatures(entry.features ?? [])) return undefined;
  const behaviour = behaviourOf(entry, context);
  if (!behaviour) return undefined;
  const { example, ...rest } = withTemperatureUnit(behaviour);
  const names = entry.read ?? entry.state;
  return {
    action,
    ...(entry.alias !== undefined && { alias: entry.alias }),
    title: entry.title,
    description: entry.description,
    endpoint: context.view.endpoint,
    cluster: context.view.name,
    capability: context.capability.id,
    risk: entry.risk,
    isAdministrative: false,
    isIdempotent: entry.idempotent ?? isUsuallyIdempotent(entry, behaviour),
    ...(entry.undo !== undefined && { undo: entry.undo }),
    timeoutMs: entry.timeoutSeconds === undefined ? DEFAULT_TIMEOUT_MS : entry.timeoutSeconds * 1000,
    values: names ? context.values.filter((value) => names.includes(value.name)) : context.values,
    ...(example && { example }),
    ...rest,
  };
}

/** Returns the default of `idempotent`: true for writes, reads, and commands that have a target and no duration; otherwise false. */
function isUsuallyIdempotent(entry: ToolEntry, { parameters }: Behaviour): boolean {
  if (entry.command === undefined) return entry.recipe === undefined;
  const isTimed = Object.entries(propertiesOf(parameters)).some(
    ([name, schema]) => name !== 'transition_seconds' && TIME_UNITS.has(String(schema['x-unit'])),
  );
  return entry.target !== undefined && !isTimed;
}

function behaviourOf(entry: ToolEntry, context: CompileContext): Behaviour | undefined {
  if (entry.command !== undefined) return commandBehaviour(entry, entry.command, context);
  if (entry.write !== undefined) return writeBehaviour(entry, entry.write, context);
  if (entry.recipe !== undefined) return recipeBehaviour(RECIPES[entry.recipe], context);
  return readBehaviour(entry.read ?? [], context.values);
}

function commandBehaviour(entry: ToolEntry, name: string, { view, values }: CompileContext): Behaviour | undefined {
  const command = view.command(name);
  if (!command) return undefined;
  const params = paramsOf(entry, view, (field) => fieldAt(command.parameters, field));
  const fixed = Object.entries(entry.fixed ?? {}).flatMap(([field, value]) => {
    const found = fieldAt(command.parameters, field);
    return found ? [{ name: found.name, value }] : [];
  });
  const constant = fixed.reduce<JsonObject>((all, one) => withValueAt(all, one.name, one.value), emptyFields(command.parameters));
  const path = { endpoint: view.endpoint, cluster: view.name, command: command.name };
  return {
    kind: 'act',
    elements: [command.name],
    parameters: parametersOf(params),
    limits: params.flatMap((param) => (param.rawBounds ? [{ element: command.name, field: param.slot.name, ...param.rawBounds }] : [])),
    example: exampleOf(params),
    ...(command.returns && { response: withSecretsMarked(command.returns) }),
    plan(given) {
      requireOrder(entry, given);
      let fields = constant;
      for (const param of params) {
        const value = given[param.name];
        if (value !== undefined) fields = withValueAt(fields, param.slot.name, param.toRaw(value));
      }
      return { steps: [{ kind: 'invoke', ...path, fields }], target: targetOf(entry, sentParams(given, params), values) };
    },
    outcome(fields) {
      if (fixed.some((one) => JSON.stringify(fieldOf(fields, one.name)) !== JSON.stringify(one.value))) return undefined;
      const set = params.flatMap((param): [string, Json][] => {
        const raw = fieldOf(fields, param.slot.name) ?? null;
        return raw === null ? [] : [[param.name, param.toHuman(raw)]];
      });
      return targetOf(entry, Object.fromEntries(set), values);
    },
  };
}

function fieldOf(fields: JsonObject, path: string): Json | undefined {
  return valueAt(fields, path.split('.'));
}

function writeBehaviour(entry: ToolEntry, names: readonly string[], { view, values }: CompileContext): Behaviour | undefined {
  const attributes = names.flatMap((name) => view.attribute(name) ?? []).filter((attribute) => attribute.writable);
  const slotOf = (field: string) => attributes.find((attribute) => attribute.name.toLowerCase() === field.toLowerCase());
  const params = paramsOf(entry, view, slotOf);
  const fixed = Object.entries(entry.fixed ?? {}).flatMap(([field, value]) => (slotOf(field) ? [write(view, field, value)] : []));
  if (params.length === 0 && fixed.length === 0) return undefined;
  const isOneEnough = fixed.length === 0 && !params.some((param) => param.isRequired);
  return {
    kind: 'act',
    elements: attributes.map((attribute) => attribute.name),
    parameters: parametersOf(params),
    limits: params.flatMap((param) => (param.rawBounds ? [{ element: param.slot.name, ...param.rawBounds }] : [])),
    example: exampleOf(isOneEnough ? params.slice(0, 1).map((param) => ({ ...param, isRequired: true })) : params),
    plan(given) {
      requireOrder(entry, given);
      const written = params.flatMap((param) => {
        const value = given[param.name];
        return value === undefined ? [] : [write(view, param.slot.name, param.toRaw(value))];
      });
      const steps = [...fixed, ...written];
      if (steps.length > 0) return { steps, target: targetOf(entry, given, values) };
      // The schema cannot say "at least one", because servers of language models refuse `anyOf` at the root of parameters.
      throw new AtmoError('VALIDATION_ERROR', `Give at least one of ${params.map((param) => param.name).join(', ')}`);
    },
  };
}

function recipeBehaviour(recipe: Recipe, { view, values }: CompileContext): Behaviour | undefined {
  if (!recipe.isOffered(view)) return undefined;
  const { example, ...members } = recipe.parameters(view);
  const known = new Set(values.map((value) => value.name));
  return {
    kind: 'act',
    elements: recipe.elements,
    example,
    parameters: { type: 'object', ...members, additionalProperties: false },
    plan(given) {
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
    parameters: parametersOf([]),
    example: {},
    plan: () => ({ steps, target: {} }),
  };
}

/** Returns the parameters that fill a field or attribute of this device. Omits all others. */
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

/** Returns the parameters as the call sends them. If a parameter has `toLimits`, its value is limited to the device's range. */
function sentParams(given: JsonObject, params: readonly CompiledParam[]): JsonObject {
  const moved = params.flatMap((param): [string, Json][] => {
    const value = given[param.name];
    return param.isMovedToLimits && value !== undefined ? [[param.name, param.toHuman(param.toRaw(value))]] : [];
  });
  return { ...given, ...Object.fromEntries(moved) };
}

/**
 * Returns the target: the values that the device should report after the call. They come from the file's `target` and from the parameters.
 * A parameter belongs to the target if it has the name of a value, or if `shows` assigns it to a value.
 */
function targetOf(entry: ToolEntry, given: JsonObject, values: readonly CompiledValue[]): JsonObject {
  const wanted = Object.entries(given).map(([name, value]) => [entry.shows?.[name] ?? name, value] as const);
  const all = [...Object.entries(entry.target ?? {}), ...wanted];
  return Object.fromEntries(all.filter(([name]) => values.some((value) => value.name === name)));
}

/** Throws VALIDATION_ERROR if a parameter is above the parameter that its `notAbove` names. */
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
