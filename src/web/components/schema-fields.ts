import { isJsonObject, type Json, type JsonSchema, objectOf, tryParseJson } from '../../core/json.ts';
import { text } from '../texts/text.ts';
import { capital, humanWords } from './formatting.ts';

/** The path of a field's value within the form's value. */
export type FieldPath = readonly (string | number)[];

interface FieldHead {
  readonly path: FieldPath;
  readonly label: string;
  readonly help?: string;
  readonly unit?: string;
  readonly isRequired: boolean;
  /** The default value. */
  readonly fallback?: Json;
}

/** One of several values, with its name for people. */
export interface NamedOption {
  readonly value: string;
  readonly title: string;
}

/** What a field is for: the kind of its value, and what the value may be. */
export type FieldKind =
  | { readonly kind: 'number'; readonly isWhole: boolean; readonly min?: number; readonly max?: number }
  | {
      readonly kind: 'text';
      readonly isSecret: boolean;
      readonly isLong: boolean;
      readonly pattern?: string;
      readonly minLength?: number;
      readonly maxLength?: number;
    }
  | { readonly kind: 'flag' }
  | { readonly kind: 'choice'; readonly options: readonly Json[] }
  /** A text that stands for something of the home. A text that is none of the options is kept. `none` is what it means without a value. */
  | { readonly kind: 'named'; readonly options: readonly NamedOption[]; readonly none?: string }
  /** A time in seconds, which a person writes in seconds, minutes or hours. */
  | { readonly kind: 'duration' }
  /** A time of day, `HH:MM`. */
  | { readonly kind: 'clock' }
  /** Some of several texts; all of them if there is no value. */
  | { readonly kind: 'some'; readonly options: readonly NamedOption[] }
  | { readonly kind: 'group'; readonly fields: readonly FormField[] }
  | { readonly kind: 'list'; readonly item: JsonSchema; readonly minItems?: number; readonly maxItems?: number }
  /** A choice between several schemas. */
  | { readonly kind: 'variant'; readonly options: readonly FormField[] }
  /** Any JSON value, which the person types as JSON. */
  | { readonly kind: 'json' };

/** One field of a form. */
export type FormField = FieldHead & FieldKind;

const LONG_TEXT = 200;
const TYPES = ['string', 'integer', 'number', 'boolean', 'array', 'object'] as const;

/** Returns the form field for the property `name` of an object. `schema` is the property's schema. */
export function schemaField(
  schema: JsonSchema,
  place: { readonly path: FieldPath; readonly name: string; readonly isRequired: boolean },
): FormField {
  const { path, name, isRequired } = place;
  const { description, default: fallback, 'x-unit': unit } = schema;
  const head: FieldHead = {
    path,
    label: capital(humanWords(name)),
    isRequired,
    ...(typeof description === 'string' && { help: description }),
    ...(typeof unit === 'string' && { unit }),
    ...(fallback !== undefined && { fallback: fallback as Json }),
  };
  return variantOf(schema, head) ?? choiceOf(schema, head) ?? typedOf(schema, head);
}

/** Returns the fields of a tool's parameters, required fields first. */
export function schemaFields(parameters: JsonSchema, path: FieldPath = []): readonly FormField[] {
  const properties = isJsonObject(parameters.properties) ? parameters.properties : {};
  const required: readonly unknown[] = Array.isArray(parameters.required) ? parameters.required : [];
  return Object.entries(properties)
    .filter((entry): entry is [string, typeof properties] => isJsonObject(entry[1]))
    .map(([name, schema]) => schemaField(schema, { path: [...path, name], name, isRequired: required.includes(name) }))
    .toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

function variantOf(schema: JsonSchema, head: FieldHead): FormField | undefined {
  const forms: unknown = schema.anyOf ?? schema.oneOf;
  // A schema of type `string` becomes one text field, even if it lists several alternatives.
  if (!Array.isArray(forms) || schema.type === 'string') return undefined;
  const real = forms.filter(isJsonObject).filter((form) => form.type !== 'null');
  const [only] = real;
  if (only && real.length === 1) return typedForm(only, head);
  const options = real.map((form) => ({ ...typedForm(form, head), label: formName(form) }));
  return { ...head, kind: 'variant', options };
}

/** Returns the field for one of several alternative schemas. `head` has the label and the help of the whole parameter. */
function typedForm(form: JsonSchema, head: FieldHead): FormField {
  return choiceOf(form, head) ?? typedOf(form, head);
}

function formName(form: JsonSchema): string {
  if (Array.isArray(form.enum)) return text('forms.type_choice');
  if (isJsonObject(form.properties)) return capital(Object.keys(form.properties).map(humanWords).join(', '));
  const type = TYPES.find((known) => known === typesOf(form)[0]);
  return type ? text(`forms.type_${type}`) : text('forms.type_any');
}

function choiceOf(schema: JsonSchema, head: FieldHead): FormField | undefined {
  if (schema.const !== undefined) return { ...head, kind: 'choice', options: [schema.const as Json] };
  return Array.isArray(schema.enum) ? { ...head, kind: 'choice', options: schema.enum as readonly Json[] } : undefined;
}

function typedOf(schema: JsonSchema, head: FieldHead): FormField {
  const types = typesOf(schema);
  const [type] = types;
  if (types.length !== 1) return { ...head, kind: 'json' };
  if (type === 'integer' || type === 'number') return { ...head, kind: 'number', isWhole: type === 'integer', ...bounds(schema) };
  if (type === 'boolean') return { ...head, kind: 'flag' };
  if (type === 'string') return { ...head, kind: 'text', ...textTraits(schema) };
  if (type === 'array' && isJsonObject(schema.items)) {
    return { ...head, kind: 'list', item: schema.items, ...itemBounds(schema) };
  }
  const isGroup =
    type === 'object' && isJsonObject(schema.properties) && !schema['x-secret-members'] && schema.additionalProperties === false;
  return isGroup ? { ...head, kind: 'group', fields: schemaFields(schema, head.path) } : { ...head, kind: 'json' };
}

function typesOf(schema: JsonSchema): readonly string[] {
  const types: readonly unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.filter((type) => typeof type === 'string').filter((type) => type !== 'null');
}

function bounds({ minimum, maximum }: JsonSchema): { min?: number; max?: number } {
  return { ...(typeof minimum === 'number' && { min: minimum }), ...(typeof maximum === 'number' && { max: maximum }) };
}

function itemBounds({ minItems, maxItems }: JsonSchema): { minItems?: number; maxItems?: number } {
  return { ...(typeof minItems === 'number' && { minItems }), ...(typeof maxItems === 'number' && { maxItems }) };
}

function textTraits({ pattern, minLength, maxLength, 'x-secret': isSecret }: JsonSchema) {
  return {
    isSecret: isSecret === true,
    isLong: typeof maxLength === 'number' && maxLength > LONG_TEXT,
    ...(typeof pattern === 'string' && { pattern }),
    ...(typeof minLength === 'number' && { minLength }),
    ...(typeof maxLength === 'number' && { maxLength }),
  };
}

/** Returns `value` with `next` at the path. If `next` is undefined, removes what is at the path, and all objects that this makes empty. */
export function withValueAt(value: Json | undefined, path: FieldPath, next: Json | undefined): Json | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return next;
  if (typeof step === 'number') return withItem(Array.isArray(value) ? value : [], { index: step, rest, next });
  const members = objectOf(value);
  const inner = withValueAt(members[step], rest, next);
  const { [step]: _before, ...others } = members;
  const result = inner === undefined ? others : { ...others, [step]: inner };
  return Object.keys(result).length === 0 ? undefined : result;
}

interface ItemChange {
  readonly index: number;
  readonly rest: FieldPath;
  readonly next: Json | undefined;
}

/** Changes or removes a list item. Removing an item makes the list shorter. Removing the last value inside an item makes the item null. */
function withItem(items: readonly Json[], { index, rest, next }: ItemChange): Json {
  if (next === undefined && rest.length === 0) return items.filter((_item, at) => at !== index);
  const inner = withValueAt(items[index], rest, next) ?? null;
  return [...items.slice(0, index), inner, ...items.slice(index + 1)];
}

/** Parses the text of a JSON field. Returns the text itself if it is not JSON, and undefined if it is blank. */
export function parseJsonOrText(text: string): Json | undefined {
  if (text.trim() === '') return undefined;
  const value = tryParseJson(text);
  return value === undefined ? text : value;
}
