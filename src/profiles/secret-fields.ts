import type { JsonSchema } from '../core/json.ts';

const NAMES = ['pin', 'pinCode', 'PinCode', 'credentialData', 'CredentialData', 'setupPin', 'SetupPin', 'oldPin', 'newPin', 'signingKey'];

/** Fields of Matter commands and of device tools that carry secrets, wherever they appear as free parameters. */
export const SECRET_FIELDS: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  NAMES.map((name) => [name, { 'x-secret': true, description: 'Secret: never shown, logged or kept' }]),
);
