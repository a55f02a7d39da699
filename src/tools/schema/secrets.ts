import { isJsonObject, type Json, type JsonObject, type JsonSchema, objectOf } from '../../core/json.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import { isTwoDigitPin } from '../../core/logger.ts';
import { isSchemaObject, propertiesOf, visitSchema } from './schema-walk.ts';

/** The text that replaces a secret in the audit log, in events, in approvals and on disk. */
export const SECRET_MASK = '[secret]';

const BRANCHES = ['allOf', 'anyOf', 'oneOf'];

/** Replaces each `x-secret` value by `mask(value)`. Below `x-secret-members`, does so with each member whose name means a secret. */
export function maskSecrets(schema: JsonSchema, params: JsonObject, mask: (value: Json) => string = () => SECRET_MASK): JsonObject {
  return objectOf(maskResult(schema, params, mask));
}

/** Returns a value of any type, such as a result, in which `mask(value)` replaces the secrets. */
export function maskResult(schema: JsonSchema, value: Json, mask: (value: Json) => string = () => SECRET_MASK): Json {
  return hasSecrets(schema) ? maskValue(schema, value, mask) : value;
}

/** Returns whether the schema marks any value as secret. */
export const hasSecrets = oncePerObject((schema: JsonSchema): boolean => {
  let found = false;
  visitSchema(schema, (child) => {
    found ||= child['x-secret'] === true || child['x-secret-members'] === true;
  });
  return found;
});

/** Returns whether the schema marks a secret where masking does not look, such as behind `$ref`, `if` or `patternProperties`. */
export function hasUnmaskableSecrets(schema: JsonSchema): boolean {
  const all = new Set<JsonSchema>();
  visitSchema(schema, (child) => {
    if (child['x-secret'] === true) all.add(child);
  });
  if (all.size > 0) dropReached(schema, all);
  return all.size > 0;
}

function dropReached(schema: unknown, secrets: Set<JsonSchema>): void {
  if (!isSchemaObject(schema) || secrets.delete(schema)) return;
  const parts = [...branchesOf(schema), schema.items, schema.additionalProperties, ...Object.values(propertiesOf(schema))];
  for (const part of parts) dropReached(part, secrets);
}

/** Returns an object schema with the mark `x-secret` at each member for which `isSecret` returns true. */
export function withSecretMembers(schema: JsonSchema, isSecret: (name: string, member: JsonSchema) => boolean): JsonSchema {
  const members = Object.entries(propertiesOf(schema));
  const mark = ([name, member]: [string, unknown]): [string, unknown] =>
    isSchemaObject(member) && isSecret(name, member) ? [name, { ...member, 'x-secret': true }] : [name, member];
  return members.length === 0 ? schema : { ...schema, properties: Object.fromEntries(members.map(mark)) };
}

const SHORTEST_SECRET = 3;

/** Returns the secret parameters as texts, the longest first. Very short texts are left out, since they occur everywhere. */
export function secretTexts(schema: JsonSchema, params: JsonObject): readonly string[] {
  const texts = new Set<string>();
  maskSecrets(schema, params, (value) => {
    for (const text of leafTexts(value)) texts.add(text);
    return SECRET_MASK;
  });
  return [...texts].sort((a, b) => b.length - a.length);
}

/** Returns a copy of the value in which SECRET_MASK replaces the secrets in all texts. */
export function withoutSecretTexts<T extends Json>(value: T, secrets: readonly string[]): T {
  if (secrets.length === 0) return value;
  return replaceTexts(value, (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, SECRET_MASK), text)) as T;
}

function leafTexts(value: Json): readonly string[] {
  if (typeof value === 'number') return leafTexts(String(value));
  if (typeof value === 'string') return value.length >= SHORTEST_SECRET ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leafTexts) : [];
}

function replaceTexts(value: Json, replace: (text: string) => string): Json {
  if (typeof value === 'string') return replace(value);
  if (Array.isArray(value)) return value.map((item: Json) => replaceTexts(item, replace));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]): [string, Json] => [replace(key), replaceTexts(item, replace)]));
}

function maskValue(schema: unknown, value: Json, mask: (value: Json) => string): Json {
  if (!isSchemaObject(schema)) return value;
  if (schema['x-secret'] === true) return mask(value);
  if (schema['x-secret-members'] === true) return maskMembers(value, mask);
  // A value is secret if any alternative marks it as secret, even if the value does not match that alternative.
  return maskParts(
    schema,
    branchesOf(schema).reduce<Json>((masked, branch) => maskValue(branch, masked, mask), value),
    mask,
  );
}

function maskMembers(value: Json, mask: (value: Json) => string): Json {
  if (Array.isArray(value)) return value.map((item: Json) => maskMembers(item, mask));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value);
  return Object.fromEntries(
    members.map(([key, item]): [string, Json] => [key, isSecretMember(key, item) ? mask(item) : maskMembers(item, mask)]),
  );
}

function maskParts(schema: JsonSchema, value: Json, mask: (value: Json) => string): Json {
  if (Array.isArray(value)) return value.map((item: Json) => maskValue(schema.items, item, mask));
  if (!isJsonObject(value)) return value;
  const properties = propertiesOf(schema);
  const schemaOf = (key: string) => (Object.hasOwn(properties, key) ? properties[key] : schema.additionalProperties);
  return Object.fromEntries(Object.entries(value).map(([key, item]): [string, Json] => [key, maskValue(schemaOf(key), item, mask)]));
}

function branchesOf(schema: JsonSchema): readonly unknown[] {
  return BRANCHES.flatMap((keyword) => (Array.isArray(schema[keyword]) ? (schema[keyword] as unknown[]) : []));
}

/** Names of Matter fields with PINs, keys, network credentials or setup codes. `pin` is no Matter name: the hub's own tools use it. */
export const MATTER_SECRET_NAMES: readonly string[] = [
  ...['pin', 'pinCode', 'setupPin', 'oldPin', 'newPin', 'tempAccountIdentifier', 'credentialData', 'pakePasscodeVerifier'],
  ...['credentials', 'passphrase', 'dataset', 'operationalDataset', 'activeDataset', 'pendingDataset', 'iceServers'],
  ...['key', 'signingKey', 'verificationKey', 'groupResolvingKey', 'enableKey', 'groupKeySet', 'ipkValue'],
];
/** Names of secret parameters and results in the hub's own tools. */
const OWN_SECRET_NAMES = [
  'code',
  'passcode',
  'setup_code',
  'qr_code',
  'manual_code',
  'password',
  'secret',
  'token',
  'signature',
  'api_key',
];
/** Names that mean a secret in the hub's own tools, but usually something else in tools of other makers. */
const AMBIGUOUS_NAMES = ['key', 'code', 'credentials', 'dataset', 'signature'];
const NUMBER_TYPES: readonly unknown[] = ['integer', 'number'];
/** Smallest number that can be a lock's PIN: a PIN has at least four digits. */
const FIRST_PIN = 1_000;
const LINE_WORDS = /\b(gpio|bcm|header pin|(gpio|header|board) line|line of the (board|header))/i;
const GPIO = /(\b|_)gpio(\b|_)/i;
const DOOR_WORDS = /(\b|_)(doors?|locks?|unlock|alarms?|codes?|gates?)(\b|_)/i;
const plainNames: ReadonlySet<string> = new Set([...MATTER_SECRET_NAMES, ...OWN_SECRET_NAMES].map(foldedName));

/** Returns whether the name of a parameter means a secret, in any spelling. */
export function isSecretName(name: string): boolean {
  return plainNames.has(foldedName(name));
}

/** Returns whether a parameter with this name is a secret in every tool, including tools of other makers. */
export function isParameterNameSecret(name: string): boolean {
  return isSecretName(name) && !AMBIGUOUS_NAMES.includes(foldedName(name));
}

/**
 * Returns whether a parameter `pin` means a GPIO line, not a PIN. Returns false if the tool mentions a door, a lock or a code. Otherwise
 * returns true if the largest allowed number has fewer digits than a PIN, or if a description mentions GPIO.
 */
export function isLineNumber(name: string, schema: JsonSchema, toolText = ''): boolean {
  if (foldedName(name) !== 'pin' || !NUMBER_TYPES.includes(schema.type)) return false;
  const text = [schema.title, schema.description].filter((part) => typeof part === 'string').join(' ');
  if (DOOR_WORDS.test(`${text} ${toolText}`)) return false;
  const bounds = [schema.const, schema.maximum, schema.exclusiveMaximum, greatest(schema.enum)];
  if (bounds.some((bound) => typeof bound === 'number' && bound < FIRST_PIN)) return true;
  return LINE_WORDS.test(text) || GPIO.test(toolText);
}

/** Returns whether the name of a member means a secret. Used below `x-secret-members`, where the members have no known schema. */
function isSecretMember(name: string, value: Json): boolean {
  return isSecretName(name) && !isTwoDigitPin(name, value);
}

function greatest(values: unknown): unknown {
  return Array.isArray(values) && values.every((value) => typeof value === 'number') ? Math.max(...values) : undefined;
}

function foldedName(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}
