import type { JsonSchema } from '../../core/json.ts';
import { MATTER_SECRET_NAMES } from '../../tools/definition/secret-names.ts';
import { isSchemaObject, mapSchema, visitSchema } from '../../tools/schema/schema-walk.ts';

const SECRET = { 'x-secret': true, description: 'Secret: never shown, logged or kept' };
const lowerCase: ReadonlySet<string> = new Set(MATTER_SECRET_NAMES.map((name) => name.toLowerCase()));

/** These fields where they appear as free members, in the spelling of the model and in that of the specification. */
export const SECRET_FIELDS: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  MATTER_SECRET_NAMES.flatMap((name) => [name, `${name[0]?.toUpperCase()}${name.slice(1)}`]).map((name) => [name, SECRET]),
);

/** A schema of the model with these fields marked, however deep they lie. */
export function withSecretsMarked(schema: JsonSchema): JsonSchema {
  let hasSome = false;
  visitSchema(schema, ({ properties }) => {
    hasSome ||= isSchemaObject(properties) && Object.keys(properties).some(isSecretName);
  });
  // Most have none, and are shared by all devices.
  if (!hasSome) return schema;
  return mapSchema(schema, (part) => (isSchemaObject(part.properties) ? { ...part, properties: marked(part.properties) } : part));
}

function isSecretName(name: string): boolean {
  return lowerCase.has(name.toLowerCase());
}

function marked(properties: JsonSchema): JsonSchema {
  const members = Object.entries(properties).map(([name, property]) => {
    const isSecret = isSecretName(name) && isSchemaObject(property);
    return [name, isSecret ? { ...property, 'x-secret': true } : property];
  });
  return Object.fromEntries(members);
}
