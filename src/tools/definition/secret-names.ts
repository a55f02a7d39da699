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
const plainNames: ReadonlySet<string> = new Set([...MATTER_SECRET_NAMES, ...OWN].map(plain));

/** True for a name under which calls carry a secret, however it is spelled. */
export function isSecretName(name: string): boolean {
  return plainNames.has(plain(name));
}

/** True for a name that says of a parameter of anybody's tool that it is secret. */
export function saysSecret(name: string): boolean {
  return isSecretName(name) && !AMBIGUOUS.includes(plain(name));
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}
