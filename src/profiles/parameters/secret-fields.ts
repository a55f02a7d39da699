import type { JsonSchema } from '../../core/json.ts';
import { isLineNumber, MATTER_SECRET_NAMES } from '../../tools/definition/secret-names.ts';
import { isSchemaObject, mapSchema, visitSchema } from '../../tools/schema/schema-walk.ts';

const lowerCase: ReadonlySet<string> = new Set(MATTER_SECRET_NAMES.map((name) => name.toLowerCase()));

/** A schema of the model with the fields marked that carry secrets, however deep they lie. */
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
    const isSecret = isSecretName(name) && isSchemaObject(property) && !isLineNumber(name, property);
    return [name, isSecret ? { ...property, 'x-secret': true } : property];
  });
  return Object.fromEntries(members);
}
