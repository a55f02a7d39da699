import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ClusterDescription } from '../../core/devices/device-model.ts';
import { snakeCase } from '../../core/devices/matter-names.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { JsonSchema } from '../../core/json.ts';
import { mapSchema } from '../../tools/schema/schema-walk.ts';
import { chooseConverter, fieldAt } from '../compile/cluster-view.ts';
import type { CapabilityFile, ChoicesEntry, ParamEntry, ToolEntry, ValueEntry } from '../files/profile-format.ts';
import { RECIPES } from '../recipes/recipes.ts';
import { enumNames, isNullable, propertiesOf, rawKind, requiredOf } from '../values/converter.ts';
import { reasonableBounds } from '../values/human-schema.ts';
import { type Shorthand, schemaOfShorthand } from '../values/parameter-shorthand.ts';
import type { CheckReport, StandardClusterModel } from './profile-problem.ts';

/** The verbs with which the name of a tool may start. */
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

/** Reports the mistakes in one tool of a capability file. */
export function checkTool(report: CheckReport, given: CheckedTool): void {
  const { name, tool, cluster } = given;
  const pointer = `/tools/${name}`;
  if (!VERBS.has(name.split('_')[0] ?? '')) {
    report.add(pointer, `a tool's name starts with a verb; ${JSON.stringify(name)} does not`, `use one of ${[...VERBS].join(', ')}`);
  }
  for (const feature of tool.features ?? []) report.requireKnown(`${pointer}/features`, feature, cluster.features);
  if (tool.command !== undefined) checkCommand(report, pointer, given);
  if (tool.write !== undefined) checkWrite(report, pointer, given);
  if (tool.recipe !== undefined && RECIPES[tool.recipe].cluster !== cluster.name) {
    report.add(`${pointer}/recipe`, `${tool.recipe} is for ${RECIPES[tool.recipe].cluster}`, 'use another recipe');
  }
  for (const [param, { notAbove }] of Object.entries(tool.params ?? {})) {
    if (notAbove !== undefined) report.requireKnown(`${pointer}/params/${param}/notAbove`, notAbove, Object.keys(tool.params ?? {}));
  }
  checkValueNames(report, pointer, given);
}

function checkCommand(report: CheckReport, pointer: string, given: CheckedTool): void {
  const { tool, cluster, model } = given;
  const name = tool.command ?? '';
  const command = report.find(`${pointer}/command`, name, cluster.commands);
  if (!command) return;
  const features = tool.features?.filter((feature) => cluster.features.includes(feature));
  const narrow = features && model.cluster(cluster.name, features)?.commands.find((one) => one.name === name);
  checkSlots(report, pointer, {
    given,
    slotOf: (field) => fieldAt(command.parameters, field)?.schema,
    names: Object.keys(propertiesOf(command.parameters)),
  });
  const filled = [...Object.values(tool.params ?? {}).map((entry) => entry.field), ...Object.keys(tool.fixed ?? {})].map((path) =>
    path.toLowerCase().replace(/\..*/, ''),
  );
  for (const field of unfilled(features ? (narrow?.parameters ?? {}) : command.parameters, filled)) {
    report.add(pointer, `${name} demands the field ${field}, and nothing fills it`, 'add a parameter or a fixed value');
  }
}

function checkWrite(report: CheckReport, pointer: string, given: CheckedTool): void {
  const names = given.tool.write ?? [];
  const writable = given.cluster.attributes.filter((attribute) => attribute.writable);
  for (const name of names) report.find(`${pointer}/write`, name, writable);
  const written = writable.filter((attribute) => names.includes(attribute.name));
  checkSlots(report, pointer, { given, slotOf: (field) => written.find(({ name }) => name === field)?.schema, names });
}

/** Checks the parameters and fixed values of a tool against the fields or attributes that they fill. */
function checkSlots(
  report: CheckReport,
  pointer: string,
  { given, slotOf, names }: { given: CheckedTool; slotOf: (field: string) => JsonSchema | undefined; names: readonly string[] },
): void {
  for (const [param, entry] of Object.entries(given.tool.params ?? {})) {
    checkParam(report, `${pointer}/params/${param}`, { ...given, entry, slot: slotOf(entry.field), names });
  }
  for (const [field, value] of Object.entries(given.tool.fixed ?? {})) {
    const slot = slotOf(field);
    if (!slot) report.requireKnown(`${pointer}/fixed/${field}`, field, names);
    else if (!ajv.validate(slot, value)) {
      const fix = `use ${enumNames(slot).join(', ') || 'a raw value of its schema'}`;
      report.add(`${pointer}/fixed/${field}`, `the value ${ajv.errorsText()}`, fix);
    }
  }
}

/** A parameter to check. `slot` is the schema of the field or attribute that it fills. `names` are all fields or attributes it may fill. */
interface CheckedParam extends Pick<CheckedTool, 'cluster' | 'model'> {
  readonly entry: ParamEntry;
  readonly slot: JsonSchema | undefined;
  readonly names: readonly string[];
}

function checkParam(report: CheckReport, pointer: string, given: CheckedParam): void {
  const { entry, slot, cluster, model } = given;
  if (!slot) {
    report.requireKnown(`${pointer}/field`, entry.field, given.names);
    return;
  }
  checkConversion(report, pointer, { entry, schema: slot });
  if (entry.choices) checkChoices(report, pointer, { choices: entry.choices, cluster, model });
  if (entry.narrow !== undefined) checkShorthand(report, `${pointer}/narrow`, entry.narrow);
  checkBounds(report, pointer, { entry, schema: slot });
  checkLimits(report, pointer, given);
  checkOffered(report, `${pointer}/offered`, given);
}

/** Reports attributes, values and clusters in an `offered` entry that do not exist. */
function checkOffered(report: CheckReport, pointer: string, { entry, slot = {}, cluster, model }: CheckedParam): void {
  const own = enumNames(slot).map((name) => entry.rename?.[snakeCase(name)] ?? snakeCase(name));
  const requireAll = (names: readonly string[], known: readonly string[]): void => {
    for (const name of names) report.requireKnown(pointer, name, known);
  };
  for (const offer of [entry.offered ?? []].flat()) {
    if (typeof offer !== 'string' && 'cluster' in offer) {
      report.cluster(pointer, offer.cluster, model);
      requireAll(offer.names, own);
      continue;
    }
    const from = typeof offer === 'string' ? offer : offer.from;
    report.find(pointer, from, cluster.attributes);
    if (typeof offer === 'string') continue;
    // Some values exist only without certain features. The model with all features lacks them, so the model without features counts too.
    const wide = [cluster, model.cluster(cluster.name, [])].map((one) => one?.attributes.find(({ name }) => name === from)?.schema ?? {});
    requireAll(Object.keys(offer.names), wide.flatMap(enumNames).map(snakeCase));
    requireAll(Object.values(offer.names).flat(), own);
  }
}

/** Reports a numeric parameter with a unit (such as W) if `narrow` does not bound it. The type of the number alone allows absurd values. */
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

function checkLimits(report: CheckReport, pointer: string, { entry: { limits }, cluster, model }: CheckedParam): void {
  if (!limits) return;
  const home = limits.cluster === undefined ? cluster : report.cluster(`${pointer}/limits/cluster`, limits.cluster, model);
  if (!home) return;
  for (const path of [limits.min ?? [], limits.max ?? [], limits.below ?? []].flat()) {
    const [name = '', ...members] = path.split('.');
    const attribute = report.find(`${pointer}/limits`, name, home.attributes);
    if (attribute && members.length > 0 && !fieldAt(itemsOf(attribute.schema), members.join('.'))) {
      report.add(`${pointer}/limits`, `${name} has no member ${members.join('.')}`, 'name a member of the attribute');
    }
  }
}

/** Returns the schema with each array replaced by the schema of its items, because paths to members contain no array index. */
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

/** Checks that `state`, `read`, `shows` and `target` name values of the file. */
function checkValueNames(report: CheckReport, pointer: string, { tool, content, cluster }: CheckedTool): void {
  const values = Object.keys(content.values ?? {});
  for (const name of tool.state ?? []) report.requireKnown(`${pointer}/state`, name, values);
  for (const name of tool.read ?? []) report.requireKnown(`${pointer}/read`, name, values);
  for (const [param, name] of Object.entries(tool.shows ?? {})) {
    report.requireKnown(`${pointer}/shows/${param}`, name, values);
    report.requireKnown(`${pointer}/shows`, param, Object.keys(tool.params ?? {}));
  }
  for (const [name, wanted] of Object.entries(tool.target ?? {})) {
    report.requireKnown(`${pointer}/target/${name}`, name, values);
    const allowed = humanNames(content, name, cluster);
    if (allowed.length > 0) report.requireKnown(`${pointer}/target/${name}`, String(wanted), allowed);
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
  return requiredOf(schema).filter((field) => {
    const property = propertiesOf(schema)[field] ?? {};
    return !filled.includes(field.toLowerCase()) && rawKind(property) !== 'bitmap' && !isNullable(property);
  });
}

/** Checks that the list attribute of a `choices` entry exists, and that its items have the members for id and name. */
export function checkChoices(
  report: CheckReport,
  pointer: string,
  { choices, cluster, model }: { readonly choices: ChoicesEntry } & Pick<CheckedTool, 'cluster' | 'model'>,
): void {
  const home = choices.cluster === undefined ? cluster : report.cluster(`${pointer}/choices/cluster`, choices.cluster, model);
  const list = home && report.find(`${pointer}/choices/from`, choices.from, home.attributes);
  if (!list) return;
  const items = (list.schema.items ?? {}) as JsonSchema;
  if (choices.id !== undefined) report.field(`${pointer}/choices/id`, choices.id, items);
  for (const label of choices.label?.split('|') ?? []) report.field(`${pointer}/choices/label`, label, items);
}

/** Reports a converter that does not fit the kind of value, a unit that the converter already sets, and unknown names in `rename`. */
export function checkConversion(
  report: CheckReport,
  pointer: string,
  given: { readonly entry: Pick<ValueEntry, 'convert' | 'unit' | 'choices' | 'member' | 'rename'>; readonly schema: JsonSchema },
): void {
  const { entry, schema } = given;
  for (const name of Object.keys(entry.rename ?? {})) report.requireKnown(`${pointer}/rename`, name, enumNames(schema).map(snakeCase));
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
