import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ClusterDescription } from '../../core/devices/device-model.ts';
import { snakeCase } from '../../core/devices/matter-names.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { Json, JsonSchema } from '../../core/json.ts';
import { mapSchema } from '../../tools/schema/schema-walk.ts';
import { fieldAt } from '../compile/cluster-view.ts';
import { chooseConverter } from '../compile/compile-value.ts';
import type { CapabilityFile, ChoicesEntry, ParamEntry, ToolEntry, ValueEntry } from '../files/profile-format.ts';
import { RECIPES } from '../recipes/recipes.ts';
import { enumNames, isNullable, rawKind } from '../values/converter.ts';
import { type Shorthand, schemaOfShorthand } from '../values/parameter-shorthand.ts';
import { reasonableBounds } from '../values/reasonable-bounds.ts';
import type { CheckReport, StandardClusterModel } from './profile-problem.ts';

/** First words that tell what a tool does; a tool's name starts with one of them. */
const VERBS = new Set(
  `add adjust calibrate cancel change close disable enable fast get go latch launch lock make move mute open pause play read recall
  remove reset resume rewind run seek select send set skip sleep start step stop store suppress test toggle turn unbolt unlatch unlock
  unmute`.split(/\s+/),
);
const ajv = new Ajv2020({ strict: false, logger: false });

interface CheckedTool {
  readonly name: string;
  readonly tool: ToolEntry;
  readonly content: CapabilityFile;
  readonly cluster: ClusterDescription;
  readonly model: StandardClusterModel;
}

/** Mistakes in one tool of a capability file. */
export function checkTool(report: CheckReport, given: CheckedTool): void {
  const { name, tool, cluster } = given;
  const pointer = `/tools/${name}`;
  if (!VERBS.has(name.split('_')[0] ?? '')) {
    report.add(pointer, `a tool's name starts with a verb; ${JSON.stringify(name)} does not`, `use one of ${[...VERBS].join(', ')}`);
  }
  for (const feature of tool.features ?? []) {
    if (!cluster.features.includes(feature)) report.unknown(`${pointer}/features`, feature, cluster.features);
  }
  if (tool.command !== undefined) checkCommand(report, pointer, given);
  if (tool.write !== undefined) checkWrite(report, pointer, given);
  if (tool.recipe !== undefined && RECIPES[tool.recipe].cluster !== cluster.name) {
    report.add(`${pointer}/recipe`, `${tool.recipe} is for ${RECIPES[tool.recipe].cluster}`, 'use another recipe');
  }
  for (const [param, { notAbove }] of Object.entries(tool.params ?? {})) {
    if (notAbove === undefined || notAbove in (tool.params ?? {})) continue;
    report.unknown(`${pointer}/params/${param}/notAbove`, notAbove, Object.keys(tool.params ?? {}));
  }
  checkValueNames(report, pointer, given);
}

function checkCommand(report: CheckReport, pointer: string, { tool, cluster, model }: CheckedTool): void {
  const name = tool.command ?? '';
  if (!cluster.commands.some((command) => command.name === name)) {
    report.unknown(
      `${pointer}/command`,
      name,
      cluster.commands.map((command) => command.name),
    );
    return;
  }
  const features = tool.features?.filter((feature) => cluster.features.includes(feature));
  const narrowed = features === undefined ? cluster : model.cluster(cluster.name, features);
  const schema = narrowed?.commands.find((command) => command.name === name)?.parameters ?? {};
  const known = cluster.commands.find((command) => command.name === name)?.parameters ?? schema;
  for (const [param, entry] of Object.entries(tool.params ?? {})) {
    checkParam(report, `${pointer}/params/${param}`, {
      entry,
      slot: fieldAt(known, entry.field)?.schema,
      cluster,
      model,
      names: propertyNames(known),
    });
  }
  for (const [field, value] of Object.entries(tool.fixed ?? {})) {
    checkFixed(report, `${pointer}/fixed/${field}`, { value, slot: fieldAt(known, field)?.schema, names: propertyNames(known) });
  }
  const filled = [...Object.values(tool.params ?? {}).map((entry) => entry.field), ...Object.keys(tool.fixed ?? {})].map(topName);
  for (const field of unfilled(schema, filled)) {
    report.add(pointer, `${name} demands the field ${field}, and nothing fills it`, 'add a parameter or a fixed value');
  }
}

function checkWrite(report: CheckReport, pointer: string, { tool, cluster, model }: CheckedTool): void {
  const writable = cluster.attributes.filter((attribute) => attribute.writable);
  const names = writable.map((attribute) => attribute.name);
  for (const name of tool.write ?? []) if (!names.includes(name)) report.unknown(`${pointer}/write`, name, names);
  const slotOf = (field: string): JsonSchema | undefined =>
    tool.write?.includes(field) ? writable.find((attribute) => attribute.name === field)?.schema : undefined;
  for (const [param, entry] of Object.entries(tool.params ?? {})) {
    checkParam(report, `${pointer}/params/${param}`, { entry, slot: slotOf(entry.field), cluster, model, names: tool.write ?? [] });
  }
  for (const [field, value] of Object.entries(tool.fixed ?? {})) {
    checkFixed(report, `${pointer}/fixed/${field}`, { value, slot: slotOf(field), names: tool.write ?? [] });
  }
}

function checkParam(
  report: CheckReport,
  pointer: string,
  given: {
    readonly entry: ParamEntry;
    readonly slot: JsonSchema | undefined;
    readonly cluster: ClusterDescription;
    readonly model: StandardClusterModel;
    readonly names: readonly string[];
  },
): void {
  const { entry, slot, cluster } = given;
  if (!slot) {
    report.unknown(`${pointer}/field`, entry.field, given.names);
    return;
  }
  checkConversion(report, pointer, { entry, schema: slot });
  if (entry.choices) checkChoices(report, pointer, { choices: entry.choices, cluster, model: given.model });
  if (entry.narrow !== undefined) checkShorthand(report, `${pointer}/narrow`, entry.narrow);
  checkBounds(report, pointer, { entry, schema: slot });
  checkLimits(report, pointer, given);
  checkOffered(report, `${pointer}/offered`, given);
}

/** An offer names attributes with their values, clusters, and names that the parameter has. */
function checkOffered(
  report: CheckReport,
  pointer: string,
  given: {
    readonly entry: ParamEntry;
    readonly slot?: JsonSchema | undefined;
    readonly cluster: ClusterDescription;
    readonly model: StandardClusterModel;
  },
): void {
  const { cluster, model } = given;
  const own = enumNames(given.slot ?? {}).map((name) => given.entry.rename?.[snakeCase(name)] ?? snakeCase(name));
  const requireAll = (names: readonly string[], known: readonly string[]): void => {
    for (const name of names) if (!known.includes(name)) report.unknown(pointer, name, known);
  };
  for (const entry of [given.entry.offered ?? []].flat()) {
    if (typeof entry !== 'string' && 'cluster' in entry) {
      requireAll([entry.cluster], model.clusterNames);
      requireAll(entry.names, own);
      continue;
    }
    const from = typeof entry === 'string' ? entry : entry.from;
    requireAll(
      [from],
      cluster.attributes.map((attribute) => attribute.name),
    );
    if (typeof entry === 'string') continue;
    // Some values are only for devices without a feature, which the cluster with all of them hides.
    const wide = [cluster, model.cluster(cluster.name, [])].map((one) => one?.attributes.find(({ name }) => name === from)?.schema ?? {});
    requireAll(Object.keys(entry.names), wide.flatMap(enumNames).map(snakeCase));
    requireAll(Object.values(entry.names).flat(), own);
  }
}

/** A number with a unit of power, temperature or time has bounds of reason: those of its type are no help to anybody. */
function checkBounds(
  report: CheckReport,
  pointer: string,
  { entry, schema }: { readonly entry: ParamEntry; readonly schema: JsonSchema },
): void {
  const converter = chooseConverter(entry, schema);
  const unit = converter.unit ?? entry.unit ?? '';
  const isNumber = ['integer', 'number'].includes(String(converter.schema({ schema }).type));
  const reasonable = reasonableBounds(unit);
  if (!isNumber || !reasonable) return;
  const { minimum, maximum } = boundsOf(entry.narrow);
  if (minimum !== undefined && maximum !== undefined && minimum >= reasonable.min && maximum <= reasonable.max) return;
  report.add(
    `${pointer}/narrow`,
    `a parameter in ${unit} needs the lowest and the highest value that make sense, within ${reasonable.min} to ${reasonable.max}`,
    'add "narrow", for example "float [0..80]"',
  );
}

function boundsOf(narrow: Shorthand | undefined): { readonly minimum?: number; readonly maximum?: number } {
  try {
    return narrow === undefined ? {} : schemaOfShorthand(narrow).schema;
  } catch {
    return {};
  }
}

function checkLimits(
  report: CheckReport,
  pointer: string,
  { entry, cluster, model }: { readonly entry: ParamEntry; readonly cluster: ClusterDescription; readonly model: StandardClusterModel },
): void {
  const { limits } = entry;
  if (!limits) return;
  const home = limits.cluster === undefined ? cluster : model.cluster(limits.cluster);
  if (!home) {
    report.unknown(`${pointer}/limits/cluster`, limits.cluster ?? '', model.clusterNames);
    return;
  }
  for (const path of [limits.min ?? [], limits.max ?? [], limits.below ?? []].flat()) {
    const [name = '', ...members] = path.split('.');
    const attribute = home.attributes.find((one) => one.name === name);
    if (!attribute) {
      report.unknown(
        `${pointer}/limits`,
        name,
        home.attributes.map((one) => one.name),
      );
    } else if (members.length > 0 && !fieldAt(itemsOf(attribute.schema), members.join('.'))) {
      report.add(`${pointer}/limits`, `${name} has no member ${members.join('.')}`, 'name a member of the attribute');
    }
  }
}

/** A schema whose lists stand for their items, so that one path leads through both. */
function itemsOf(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (part) => (part.items === undefined ? part : (part.items as JsonSchema)));
}

function checkShorthand(report: CheckReport, pointer: string, shorthand: Shorthand): void {
  try {
    schemaOfShorthand(shorthand);
  } catch (error) {
    report.add(pointer, toAtmoError(error).message, 'write a type with its range');
  }
}

function checkFixed(
  report: CheckReport,
  pointer: string,
  given: { readonly value: Json; readonly slot: JsonSchema | undefined; readonly names: readonly string[] },
): void {
  if (!given.slot) {
    report.unknown(pointer, pointer.split('/').at(-1) ?? '', given.names);
    return;
  }
  if (ajv.validate(given.slot, given.value)) return;
  report.add(pointer, `the value ${ajv.errorsText()}`, `use ${enumNames(given.slot).join(', ') || 'a raw value of its schema'}`);
}

/** State, target, shows and read speak of the file's own values. */
function checkValueNames(report: CheckReport, pointer: string, { tool, content, cluster }: CheckedTool): void {
  const values = Object.keys(content.values ?? {});
  const require = (place: string, name: string): void => {
    if (!values.includes(name)) report.unknown(`${pointer}/${place}`, name, values);
  };
  for (const name of [...(tool.state ?? [])]) require('state', name);
  for (const name of tool.read ?? []) require('read', name);
  for (const [param, name] of Object.entries(tool.shows ?? {})) {
    require(`shows/${param}`, name);
    if (!(param in (tool.params ?? {}))) report.unknown(`${pointer}/shows`, param, Object.keys(tool.params ?? {}));
  }
  for (const [name, wanted] of Object.entries(tool.target ?? {})) {
    require(`target/${name}`, name);
    const allowed = humanNames(content, name, cluster);
    if (allowed.length > 0 && !allowed.includes(String(wanted))) report.unknown(`${pointer}/target/${name}`, String(wanted), allowed);
  }
}

function humanNames(content: CapabilityFile, name: string, cluster: ClusterDescription): readonly string[] {
  const value = content.values?.[name];
  const attribute = cluster.attributes.find((one) => one.name === value?.attribute);
  if (!value || !attribute || value.cluster !== undefined) return [];
  const schema = value.member === undefined ? attribute.schema : fieldAt(attribute.schema, value.member)?.schema;
  return enumNames(schema ?? {}).map((one) => value.rename?.[snakeCase(one)] ?? snakeCase(one));
}

function unfilled(schema: JsonSchema, filled: readonly string[]): readonly string[] {
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  return required.filter((field) => {
    const property = properties[field] ?? {};
    return !filled.includes(field.toLowerCase()) && rawKind(property) !== 'bitmap' && !isNullable(property);
  });
}

function topName(path: string): string {
  return (path.split('.')[0] ?? path).toLowerCase();
}

function propertyNames(schema: JsonSchema): readonly string[] {
  return Object.keys((schema.properties ?? {}) as object);
}

/** A choice's list has to be there, with the members that it takes id and name from. */
export function checkChoices(
  report: CheckReport,
  pointer: string,
  given: { readonly choices: ChoicesEntry; readonly cluster: ClusterDescription; readonly model: StandardClusterModel },
): void {
  const { choices, model } = given;
  const cluster = choices.cluster === undefined ? given.cluster : model.cluster(choices.cluster);
  if (!cluster) {
    report.unknown(`${pointer}/choices/cluster`, choices.cluster ?? '', model.clusterNames);
    return;
  }
  const list = cluster.attributes.find((attribute) => attribute.name === choices.from);
  if (!list) {
    report.unknown(
      `${pointer}/choices/from`,
      choices.from,
      cluster.attributes.map((attribute) => attribute.name),
    );
    return;
  }
  const items = (list.schema.items ?? {}) as JsonSchema;
  const members = Object.keys((items.properties ?? {}) as object);
  if (choices.id !== undefined && !fieldAt(items, choices.id)) report.unknown(`${pointer}/choices/id`, choices.id, members);
  for (const label of choices.label?.split('|') ?? []) {
    if (!fieldAt(items, label)) report.unknown(`${pointer}/choices/label`, label, members);
  }
}

/** A converter has to fit the kind of value, and a unit must not contradict it. */
export function checkConversion(
  report: CheckReport,
  pointer: string,
  given: { readonly entry: Pick<ValueEntry, 'convert' | 'unit' | 'choices' | 'member' | 'rename'>; readonly schema: JsonSchema },
): void {
  const { entry, schema } = given;
  for (const name of Object.keys(entry.rename ?? {})) {
    const known = enumNames(schema).map(snakeCase);
    if (!known.includes(name)) report.unknown(`${pointer}/rename`, name, known);
  }
  const converter = chooseConverter(entry, schema);
  const kind = rawKind(schema);
  if (!converter.takes.includes(kind)) {
    report.add(
      `${pointer}/convert`,
      `${entry.convert ?? 'the usual converter'} does not fit ${kind} values`,
      `it takes ${converter.takes.join(', ')}`,
    );
  }
  if (converter.unit !== undefined && entry.unit !== undefined) {
    report.add(`${pointer}/unit`, `${entry.convert ?? ''} always gives ${converter.unit}`, 'remove unit');
  }
}
