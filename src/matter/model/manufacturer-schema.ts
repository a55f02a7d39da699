import type { JsonSchema } from '../../core/json.ts';

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
export const MANUFACTURER_CLUSTER_SCHEMA: JsonSchema = {
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
