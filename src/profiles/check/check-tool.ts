import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ClusterDescription } from '../../core/devices/device-model.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { Json, JsonSchema } from '../../core/json.ts';
import { fieldAt } from '../clusters/cluster-view.ts';
import { enumNames, isNullable, rawKind } from '../convert/converter.ts';
import type { CapabilityFile, ParamEntry, ToolEntry } from '../files/capability-file.ts';
import { type Shorthand, schemaOfShorthand } from '../parameters/parameter-shorthand.ts';
import { RECIPES } from '../recipes/recipe-table.ts';
import { snake } from '../words.ts';
import { checkChoices, checkConversion } from './check-conversion.ts';
import type { CheckReport } from './check-report.ts';
import type { StandardModel } from './standard-view.ts';

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
  readonly model: StandardModel;
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
    readonly model: StandardModel;
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
  const attributes = cluster.attributes.map((attribute) => attribute.name);
  for (const [key, named] of Object.entries({ limits: [entry.limits?.min, entry.limits?.max], offered: [entry.offered] })) {
    for (const name of named) if (name !== undefined && !attributes.includes(name)) report.unknown(`${pointer}/${key}`, name, attributes);
  }
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
  return enumNames(schema ?? {}).map(snake);
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
