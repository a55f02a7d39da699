import type { JsonSchema } from '../core/json.ts';
import { isSchemaObject, mapSchema, visitSchema } from '../tools/schema-walk.ts';

/** Fields of commands and responses of the specification that carry PINs, keys, network credentials or setup codes; `pin` is our own. */
const NAMES = [
  ...['pin', 'pinCode', 'setupPin', 'oldPin', 'newPin', 'tempAccountIdentifier', 'credentialData', 'pakePasscodeVerifier'],
  ...['credentials', 'passphrase', 'dataset', 'operationalDataset', 'activeDataset', 'pendingDataset', 'iceServers'],
  ...['key', 'signingKey', 'verificationKey', 'groupResolvingKey', 'enableKey', 'groupKeySet', 'ipkValue'],
];
const SECRET = { 'x-secret': true, description: 'Secret: never shown, logged or kept' };
const lowerCase: ReadonlySet<string> = new Set(NAMES.map((name) => name.toLowerCase()));

/** These fields where they appear as free members, in the spelling of the model and in that of the specification. */
export const SECRET_FIELDS: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  NAMES.flatMap((name) => [name, `${name[0]?.toUpperCase()}${name.slice(1)}`]).map((name) => [name, SECRET]),
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
