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
import type { FileValue } from '../../core/config/config-section.ts';
import type { Privilege } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import { jsonFilesIn } from '../../core/files/file-system.ts';
import { type AcceptedText, type OwnerFolder, readOwnerFolder } from '../../core/files/owner-file.ts';
import { present } from '../../core/json.ts';

/** Reads the owner's cluster models. Throws CONFIG_INVALID, with the file name, if a file has a mistake and was never valid before. */
export function readClusterModels(path: string, takenOf: (path: string) => AcceptedText): OwnerFolder<ClusterModel> {
  return readOwnerFolder<ClusterModel>({
    path,
    names: jsonFilesIn(path),
    parse: manufacturerModel,
    subjectOf: ({ id }) => String(id),
    takenOf,
  });
}

type ClusterDefinition = FileValue<typeof MANUFACTURER_CLUSTER_SCHEMA>;
/** A field or an attribute; the id of an attribute may be hexadecimal text. */
type FieldDefinition = Omit<FileValue<typeof FIELD>, 'id'> & { readonly id?: number | string };
type Items<List extends 'attributes' | 'commands'> = NonNullable<ClusterDefinition[List]>[number];
const LETTERS: Readonly<Record<Privilege, string>> = { view: 'V', operate: 'O', manage: 'M', administer: 'A' };

/** Validator of cluster definitions. It is compiled for the first file, because this takes long and most hubs have no such file. */
let compiled: ValidateFunction<ClusterDefinition> | undefined;

/**
 * Converts the content of a JSON file to the model of a manufacturer-specific cluster, for `clusters` of MatterNode. `place` is the file
 * name. Throws CONFIG_INVALID with the file name and the JSON pointer of each mistake.
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
        ...present({ description: definition.description }),
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

function typeElement(name: string, type: NonNullable<ClusterDefinition['types']>[string]): DatatypeElement {
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

function attributeElement(definition: Items<'attributes'>): AttributeElement {
  const privileges = definition.writable ? `RW V${LETTERS[definition.writePrivilege ?? 'operate']}` : 'R V';
  return AttributeElement(
    { ...valueElement(definition), id: Number(definition.id), access: definition.timed ? `${privileges} T` : privileges },
    ...entryElement(definition),
  );
}

function commandElements({ name, id, description, fields, response, timed, privilege }: Items<'commands'>): readonly CommandElement[] {
  const access = `${LETTERS[privilege ?? 'operate']}${timed ? ' T' : ''}`;
  const answer = response === undefined ? 'status' : `${name}Response`;
  const common = present({ conformance: 'O', description });
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
    ...present({ description }),
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

const NAME = { type: 'string', pattern: '^[A-Z][A-Za-z0-9]{0,63}$' } as const;
const ID = { type: ['integer', 'string'], minimum: 0, maximum: 0xffffffff, pattern: '^0x[0-9A-Fa-f]{1,8}$' } as const;
const PRIVILEGE = { enum: ['view', 'operate', 'manage', 'administer'] } as const;
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
} as const;
const FIELDS = { type: 'array', items: FIELD } as const;
const NUMBERS = { type: 'object', propertyNames: NAME, additionalProperties: { type: 'integer', minimum: 0 }, minProperties: 1 } as const;

/** JSON Schema of a file that describes a manufacturer-specific cluster. */
const MANUFACTURER_CLUSTER_SCHEMA = {
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
} as const;
