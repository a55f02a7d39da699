import { isJsonObject, type Json, type JsonSchema } from '../../../core/json.ts';

/** One parameter of a tool as a form shows it. */
export interface SchemaField {
  readonly name: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly kind: 'choice' | 'flag' | 'number' | 'text' | 'secret' | 'json';
  /** Of a choice, in the order of the schema. */
  readonly choices: readonly Json[];
  readonly minimum?: number;
  readonly maximum?: number;
  /** 1 for whole numbers; absent for any. */
  readonly step?: number;
  readonly unit?: string;
  /** As it stands in the field; empty where there is none. */
  readonly initial: string;
}

/** The fields of an object schema, required ones first. What no simple field can say is typed as JSON. */
export function fieldsOfSchema(schema: JsonSchema): readonly SchemaField[] {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = Object.entries(properties).map(([name, property]) =>
    fieldOf(name, isJsonObject(property) ? property : {}, required.has(name)),
  );
  return fields.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

function fieldOf(name: string, property: JsonSchema, isRequired: boolean): SchemaField {
  const { description, minimum, maximum, default: initial } = property;
  const unit = property['x-unit'];
  const kind = kindOf(property);
  return {
    name,
    description: typeof description === 'string' ? description : '',
    isRequired,
    kind,
    choices: Array.isArray(property.enum) ? property.enum : [],
    ...(typeof minimum === 'number' && { minimum }),
    ...(typeof maximum === 'number' && { maximum }),
    ...(property.type === 'integer' && { step: 1 }),
    ...(typeof unit === 'string' && { unit }),
    initial: initial === undefined ? '' : kind === 'json' || kind === 'choice' ? JSON.stringify(initial) : String(initial),
  };
}

function kindOf(property: JsonSchema): SchemaField['kind'] {
  if (Array.isArray(property.enum)) return 'choice';
  if (property.type === 'boolean') return 'flag';
  if (property.type === 'integer' || property.type === 'number') return 'number';
  if (property.type === 'string') return property['x-secret'] === true ? 'secret' : 'text';
  return 'json';
}

/** Parameters as they can be sent, or what is wrong, by field. */
export type FormReading = { readonly params: Readonly<Record<string, Json>> } | { readonly mistakes: ReadonlyMap<string, string> };

/** Reads a form; fields that are left empty are left out, and the hub checks the rest. */
export function readForm(fields: readonly SchemaField[], texts: Readonly<Record<string, string>>): FormReading {
  const params: Record<string, Json> = {};
  const mistakes = new Map<string, string>();
  for (const field of fields) {
    const text = texts[field.name] ?? '';
    if (text === '' && field.isRequired) mistakes.set(field.name, 'This is needed.');
    if (text === '') continue;
    const value = valueIn(field, text);
    if (value === undefined) mistakes.set(field.name, field.kind === 'number' ? 'This is no number.' : 'This is not JSON.');
    else params[field.name] = value;
  }
  return mistakes.size > 0 ? { mistakes } : { params };
}

function valueIn({ kind }: SchemaField, text: string): Json | undefined {
  switch (kind) {
    case 'text':
    case 'secret':
      return text;
    case 'number':
      return Number.isFinite(Number(text)) ? Number(text) : undefined;
    case 'flag':
    case 'choice':
    case 'json':
      return jsonIn(text);
  }
}

function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
