import type { Json, JsonSchema } from '../../core/json.ts';
import { isTwoDigitPin } from '../../core/logger.ts';

/** Fields of commands and responses of the Matter specification that carry PINs, keys, network credentials or setup codes; `pin` is our own. */
export const MATTER_SECRET_NAMES: readonly string[] = [
  ...['pin', 'pinCode', 'setupPin', 'oldPin', 'newPin', 'tempAccountIdentifier', 'credentialData', 'pakePasscodeVerifier'],
  ...['credentials', 'passphrase', 'dataset', 'operationalDataset', 'activeDataset', 'pendingDataset', 'iceServers'],
  ...['key', 'signingKey', 'verificationKey', 'groupResolvingKey', 'enableKey', 'groupKeySet', 'ipkValue'],
];
/** Parameters and results of the hub's own tools that do. */
const OWN = ['code', 'passcode', 'setup_code', 'qr_code', 'manual_code', 'password', 'secret', 'token', 'signature', 'api_key'];
/** Names that mean something else more often than a secret where somebody else chose them. */
const AMBIGUOUS = ['key', 'code', 'credentials', 'dataset', 'signature'];
const NUMBERS: readonly unknown[] = ['integer', 'number'];
/** PINs of locks have four digits or more. */
const FIRST_PIN = 1_000;
const LINE_WORDS = /\b(gpio|bcm|header pin|(gpio|header|board) line|line of the (board|header))/i;
const GPIO = /(\b|_)gpio(\b|_)/i;
const DOOR_WORDS = /(\b|_)(doors?|locks?|unlock|alarms?|codes?|gates?)(\b|_)/i;
const plainNames: ReadonlySet<string> = new Set([...MATTER_SECRET_NAMES, ...OWN].map(plain));

/** True for a name under which calls carry a secret, however it is spelled. */
export function isSecretName(name: string): boolean {
  return plainNames.has(plain(name));
}

/** True for a name that says of a parameter of anybody's tool that it is secret. */
export function saysSecret(name: string): boolean {
  return isSecretName(name) && !AMBIGUOUS.includes(plain(name));
}

/**
 * True for a parameter that is called `pin`, of a tool that speaks of no door, lock or code, and whose schema says a line of the board: a number that has fewer digits than any PIN, or one
 * that its own words or those of its tool place at a GPIO header.
 */
export function isLineNumber(name: string, schema: JsonSchema, toolText = ''): boolean {
  if (plain(name) !== 'pin' || !NUMBERS.includes(schema.type)) return false;
  const text = [schema.title, schema.description].filter((part) => typeof part === 'string').join(' ');
  if (DOOR_WORDS.test(`${text} ${toolText}`)) return false;
  const bounds = [schema.const, schema.maximum, schema.exclusiveMaximum, greatest(schema.enum)];
  if (bounds.some((bound) => typeof bound === 'number' && bound < FIRST_PIN)) return true;
  return LINE_WORDS.test(text) || GPIO.test(toolText);
}

/** True for a member of parameters whose schema is not known, such as those of another tool's call, that has to be taken for a secret. */
export function isSecretMember(name: string, value: Json): boolean {
  return isSecretName(name) && !isTwoDigitPin(name, value);
}

function greatest(values: unknown): unknown {
  return Array.isArray(values) && values.every((value) => typeof value === 'number') ? Math.max(...values) : undefined;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}
