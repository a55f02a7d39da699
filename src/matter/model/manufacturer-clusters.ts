import {
  AttributeElement,
  type ClusterModel as Cluster,
  ClusterElement,
  ClusterModel,
  CommandElement,
  DatatypeElement,
  EventElement,
  FieldElement,
  Matter,
} from '@matter/model';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Privilege } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import { jsonFilesIn } from '../../core/files/file-system.ts';
import { type AcceptedText, type OwnerFolder, readOwnerFolder } from '../../core/files/owner-file.ts';
import type { JsonSchema } from '../../core/json.ts';

/** The owner's models of manufacturers' clusters. CONFIG_INVALID names a file with a mistake of which nothing was ever taken. */
export function readClusterModels(path: string, takenOf: (path: string) => AcceptedText): OwnerFolder<ClusterModel> {
  return readOwnerFolder<ClusterModel>({
    path,
    names: jsonFilesIn(path),
    parse: manufacturerModel,
    subjectOf: ({ id }) => String(id),
    takenOf,
  });
}

type Id = number | string;

interface FieldDefinition {
  readonly name: string;
  readonly type: string;
  readonly id?: Id;
  readonly description?: string;
  readonly nullable?: boolean;
  readonly optional?: boolean;
  readonly min?: number;
  readonly max?: number;
}

interface AttributeDefinition extends FieldDefinition {
  readonly id: Id;
  readonly writable?: boolean;
  readonly timed?: boolean;
  readonly writePrivilege?: Privilege;
}

interface CommandDefinition {
  readonly name: string;
  readonly id: Id;
  readonly description?: string;
  readonly fields?: readonly FieldDefinition[];
  readonly response?: { readonly id: Id; readonly fields: readonly FieldDefinition[] };
  readonly timed?: boolean;
  readonly privilege?: Privilege;
}

interface ClusterDefinition {
  readonly name: string;
  readonly id: Id;
  readonly revision?: number;
  readonly description?: string;
  readonly types?: Readonly<Record<string, TypeDefinition>>;
  readonly attributes?: readonly AttributeDefinition[];
  readonly commands?: readonly CommandDefinition[];
  readonly events?: readonly { name: string; id: Id; priority?: 'debug' | 'info' | 'critical'; fields?: readonly FieldDefinition[] }[];
}

interface TypeDefinition {
  readonly enum?: Readonly<Record<string, number>>;
  readonly bitmap?: Readonly<Record<string, number>>;
  readonly struct?: readonly FieldDefinition[];
}

const LETTERS: Readonly<Record<Privilege, string>> = { view: 'V', operate: 'O', manage: 'M', administer: 'A' };

/** Made for the first file: most hubs have none, and compiling it with the schema of schemas takes long. */
let compiled: ValidateFunction<ClusterDefinition> | undefined;

/**
 * The model of a manufacturer's own cluster from the JSON of a file, to be given to MatterNode as one of its `clusters`.
 * `place` names the file in errors. CONFIG_INVALID tells each mistake with its JSON pointer.
 */
export function manufacturerModel(definition: unknown, place: string): Cluster {
  compiled ??= new Ajv2020({ strict: false, allErrors: true }).compile<ClusterDefinition>(MANUFACTURER_CLUSTER_SCHEMA);
  const validate = compiled;
  if (!validate(definition)) throw invalid(place, (validate.errors ?? []).map(explain));
  refuseUnknownTypes(definition, place);
  const model = new ClusterModel(
    ClusterElement(
      {
        name: definition.name,
        id: Number(definition.id),
        classification: 'application',
        ...(definition.description !== undefined && { description: definition.description }),
      },
      AttributeElement({ name: 'ClusterRevision', id: 0xfffd, type: 'ClusterRevision', default: definition.revision ?? 1 }),
      ...Object.entries(definition.types ?? {}).map(([name, type]) => typeElement(name, type)),
      ...(definition.attributes ?? []).map(attributeElement),
      ...(definition.commands ?? []).flatMap(commandElements),
      ...(definition.events ?? []).map(({ name, id, priority, fields }) =>
        EventElement({ name, id: Number(id), priority: priority ?? 'info', conformance: 'O', access: 'V' }, ...fieldElements(fields)),
      ),
    ) as ClusterModel.Definition,
  );
  model.finalize();
  return model;
}

function typeElement(name: string, type: TypeDefinition): DatatypeElement {
  if (type.struct !== undefined) return DatatypeElement({ name, type: 'struct' }, ...fieldElements(type.struct));
  if (type.enum !== undefined) {
    const values = Object.entries(type.enum);
    const width = values.some(([, value]) => value > 0xff) ? 'enum16' : 'enum8';
    return DatatypeElement({ name, type: width }, ...values.map(([value, id]) => FieldElement({ name: value, id, conformance: 'M' })));
  }
  const bits = Object.entries(type.bitmap ?? {});
  const highest = Math.max(...bits.map(([, bit]) => bit));
  const width = highest < 8 ? 'map8' : highest < 16 ? 'map16' : 'map32';
  return DatatypeElement(
    { name, type: width },
    ...bits.map(([bit, position]) => FieldElement({ name: bit, constraint: position, conformance: 'O' })),
  );
}

function attributeElement(definition: AttributeDefinition): AttributeElement {
  const privileges = definition.writable ? `RW V${LETTERS[definition.writePrivilege ?? 'operate']}` : 'R V';
  return AttributeElement(
    { ...valueElement(definition), id: Number(definition.id), access: definition.timed ? `${privileges} T` : privileges },
    ...entryElement(definition),
  );
}

function commandElements(definition: CommandDefinition): readonly CommandElement[] {
  const { name, id, fields, response, timed, privilege } = definition;
  const access = `${LETTERS[privilege ?? 'operate']}${timed ? ' T' : ''}`;
  const answer = response === undefined ? 'status' : `${name}Response`;
  const common = { conformance: 'O', ...(definition.description !== undefined && { description: definition.description }) };
  const request = CommandElement(
    { name, id: Number(id), direction: 'request', response: answer, access, ...common },
    ...fieldElements(fields),
  );
  if (response === undefined) return [request];
  const reply = { name: answer, id: Number(response.id), direction: 'response', conformance: 'O' } as const;
  return [request, CommandElement(reply, ...fieldElements(response.fields))];
}

function fieldElements(fields: readonly FieldDefinition[] = []): readonly FieldElement[] {
  return fields.map((field, index) => FieldElement({ ...valueElement(field), id: Number(field.id ?? index) }, ...entryElement(field)));
}

function valueElement({ name, type, description, nullable, optional, min, max }: FieldDefinition) {
  const range = min !== undefined && max !== undefined ? `${min} to ${max}` : min !== undefined ? `min ${min}` : `max ${max}`;
  return {
    name,
    type: type.endsWith('[]') ? 'list' : type,
    conformance: optional ? 'O' : 'M',
    ...(description !== undefined && { description }),
    ...(nullable && { quality: 'X' }),
    ...((min !== undefined || max !== undefined) && { constraint: range }),
  };
}

function entryElement({ type }: FieldDefinition): readonly FieldElement[] {
  return type.endsWith('[]') ? [FieldElement({ name: 'entry', type: type.slice(0, -2) })] : [];
}

function refuseUnknownTypes(definition: ClusterDefinition, place: string): void {
  const own = new Set(Object.keys(definition.types ?? {}));
  const lists: readonly (readonly [string, readonly FieldDefinition[]])[] = [
    ['/attributes', definition.attributes ?? []],
    ...(definition.commands ?? []).map(({ fields }, index) => [`/commands/${index}/fields`, fields ?? []] as const),
    ...(definition.commands ?? []).map(({ response }, index) => [`/commands/${index}/response/fields`, response?.fields ?? []] as const),
    ...(definition.events ?? []).map(({ fields }, index) => [`/events/${index}/fields`, fields ?? []] as const),
    ...Object.entries(definition.types ?? {}).map(([name, type]) => [`/types/${name}/struct`, type.struct ?? []] as const),
  ];
  const unknown = lists.flatMap(([pointer, fields]) =>
    fields.flatMap(({ type }, index) => {
      const name = type.replace(/\[\]$/, '');
      return own.has(name) || Matter.datatypes(name) !== undefined
        ? []
        : [`${pointer}/${index}/type: no type ${name} in Matter or under types`];
    }),
  );
  if (unknown.length > 0) throw invalid(place, unknown);
}

function explain({ instancePath, message, params }: ErrorObject): string {
  const detail = Object.values(params as Readonly<Record<string, unknown>>)
    .flat()
    .join(', ');
  return `${instancePath || '/'}: ${message ?? 'is wrong'}${detail === '' ? '' : ` (${detail})`}`;
}

function invalid(place: string, mistakes: readonly string[]): AtmoError {
  return new AtmoError('CONFIG_INVALID', `${place} is no description of a cluster: ${mistakes.join('; ')}`, { mistakes });
}

const NAME = { type: 'string', pattern: '^[A-Z][A-Za-z0-9]{0,63}$' };
const ID = {
  anyOf: [
    { type: 'integer', minimum: 0, maximum: 0xffffffff },
    { type: 'string', pattern: '^0x[0-9A-Fa-f]{1,8}$' },
  ],
};
const PRIVILEGE = { enum: ['view', 'operate', 'manage', 'administer'] };
const FIELD = {
  type: 'object',
  required: ['name', 'type'],
  additionalProperties: false,
  properties: {
    name: NAME,
    type: {
      type: 'string',
      description: 'A Matter type such as uint16, bool, string, octstr, enum8, or a name under types; with [] a list',
    },
    id: { type: 'integer', minimum: 0, maximum: 253, description: 'Default: the position in the list' },
    description: { type: 'string', maxLength: 200 },
    nullable: { type: 'boolean' },
    optional: { type: 'boolean' },
    min: { type: 'integer', description: 'Least value, or least length of text, octets or list' },
    max: { type: 'integer' },
  },
};
const FIELDS = { type: 'array', items: FIELD };
const NUMBERS = { type: 'object', propertyNames: NAME, additionalProperties: { type: 'integer', minimum: 0 }, minProperties: 1 };

/** JSON Schema of a file that describes a manufacturer's own cluster. */
const MANUFACTURER_CLUSTER_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['name', 'id'],
  additionalProperties: false,
  properties: {
    name: NAME,
    id: { ...ID, description: 'Vendor id in the upper and 0xFC00 to 0xFFFE in the lower 16 bits (Core §7.10)' },
    revision: { type: 'integer', minimum: 1, maximum: 65535 },
    description: { type: 'string', maxLength: 200 },
    types: {
      type: 'object',
      propertyNames: NAME,
      additionalProperties: {
        type: 'object',
        minProperties: 1,
        maxProperties: 1,
        additionalProperties: false,
        properties: { enum: NUMBERS, bitmap: NUMBERS, struct: FIELDS },
      },
    },
    attributes: {
      type: 'array',
      items: {
        ...FIELD,
        required: ['name', 'id', 'type'],
        properties: { ...FIELD.properties, id: ID, writable: { type: 'boolean' }, timed: { type: 'boolean' }, writePrivilege: PRIVILEGE },
      },
    },
    commands: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'id'],
        additionalProperties: false,
        properties: {
          name: NAME,
          id: ID,
          description: { type: 'string', maxLength: 200 },
          fields: FIELDS,
          response: {
            type: 'object',
            required: ['id', 'fields'],
            additionalProperties: false,
            properties: { id: ID, fields: FIELDS },
          },
          timed: { type: 'boolean' },
          privilege: PRIVILEGE,
        },
      },
    },
    events: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'id'],
        additionalProperties: false,
        properties: { name: NAME, id: ID, priority: { enum: ['debug', 'info', 'critical'] }, fields: FIELDS },
      },
    },
  },
};
