import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign, type X509Certificate } from 'node:crypto';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { addressBytes } from '../../core/ip-address.ts';
import { isLoopback } from '../server/addresses.ts';

/** ASN.1 tags of ITU-T X.690 §8 that certificates use. */
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;
/** From this year on, times are written with a four-digit year (RFC 5280 §4.1.2.5). */
const GENERALIZED_FROM = 2050;

/** Functions that encode values in the Distinguished Encoding Rules (ITU-T X.690). They do not check their input. */
const der = {
  sequence: (...parts: readonly Uint8Array[]): Buffer => element(TAG.sequence, Buffer.concat(parts)),
  set: (...parts: readonly Uint8Array[]): Buffer => element(TAG.set, Buffer.concat(parts)),
  boolean: (value: 'true' | 'false'): Buffer => element(TAG.boolean, Buffer.from([value === 'true' ? 0xff : 0])),
  /** Encodes an unsigned integer, given with its most significant byte first. */
  integer: (bytes: Uint8Array): Buffer => element(TAG.integer, positive(bytes)),
  oid: (text: string): Buffer => element(TAG.oid, oidBytes(text)),
  utf8: (text: string): Buffer => element(TAG.utf8String, Buffer.from(text, 'utf8')),
  octets: (bytes: Uint8Array): Buffer => element(TAG.octetString, bytes),
  /** Encodes a bit string. `unusedBits` is the number of unused bits at the end of the last byte (§8.6). */
  bits: (bytes: Uint8Array, unusedBits = 0): Buffer => element(TAG.bitString, Buffer.concat([Buffer.from([unusedBits]), bytes])),
  /** Encodes a time in milliseconds since 1970, rounded down to whole seconds. */
  time(atMs: number): Buffer {
    const text = `${new Date(atMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;
    return new Date(atMs).getUTCFullYear() < GENERALIZED_FROM
      ? element(TAG.utcTime, Buffer.from(text.slice(2)))
      : element(TAG.generalizedTime, Buffer.from(text));
  },
  /** Encodes a value's content under the tag `[number]`, which replaces the value's own tag (§8.14.3). */
  implicit: (number: number, bytes: Uint8Array): Buffer => element(0x80 | number, bytes),
  /** Encodes a complete value, with its own tag, inside the tag `[number]` (§8.14.2). */
  explicit: (number: number, value: Uint8Array): Buffer => element(0xa0 | number, value),
};

function element(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

/** Encodes a non-negative integer in its shortest form. A zero byte comes first if the number would otherwise look negative (§8.3). */
function positive(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const shortest = Buffer.from(start === -1 ? [0] : bytes.subarray(start));
  return (shortest[0] ?? 0) < 0x80 ? shortest : Buffer.concat([Buffer.from([0]), shortest]);
}

function oidBytes(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return Buffer.from([first * 40 + second, ...rest.flatMap(base128)]);
}

function base128(arc: number): number[] {
  const bytes = [arc & 0x7f];
  for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) bytes.unshift(0x80 | (left & 0x7f));
  return bytes;
}

/** Validity period of a certificate, in milliseconds since 1970. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A certificate and its private key, both in PEM. */
export interface CertifiedKey {
  readonly certificate: string;
  readonly key: string;
}

interface Issuer {
  readonly name: string;
  readonly key: KeyObject;
}

interface CertificateDraft {
  readonly subject: { readonly name: string; readonly publicKey: KeyObject };
  readonly issuer: Issuer;
  readonly validity: Validity;
  readonly extensions: readonly Uint8Array[];
}

const ECDSA_SHA256 = '1.2.840.10045.4.3.2';
const COMMON_NAME = '2.5.4.3';
const EXTENSION = {
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  altName: '2.5.29.17',
  nameConstraints: '2.5.29.30',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
};
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
/** Attribute of a certificate request that lists the wanted extensions (RFC 2985 §5.4.2). */
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
/** The key usages keyCertSign and cRLSign: bits 5 and 6 (RFC 5280 §4.2.1.3). */
const SIGNS_CERTIFICATES = der.bits(Buffer.from([0b0000_0110]), 1);
/** The key usage digitalSignature: bit 0. */
const SIGNS_HANDSHAKES = der.bits(Buffer.from([0b1000_0000]), 7);

/** Makes an authority: a P-256 key and a self-signed certificate. It may sign no further authorities, and no names outside `scope`. */
export function makeAuthority(name: string, scope: readonly string[], validity: Validity): CertifiedKey {
  const { publicKey, privateKey } = newKey();
  const certificate = certify({
    subject: { name, publicKey },
    issuer: { name, key: privateKey },
    validity,
    extensions: [
      extension('basicConstraints', der.sequence(der.boolean('true'), der.integer(Buffer.from([0]))), 'critical'),
      extension('keyUsage', SIGNS_CERTIFICATES, 'critical'),
      extension('nameConstraints', constraintsOf(scope), 'critical'),
      extension('subjectKeyId', der.octets(keyId(publicKey))),
    ],
  });
  return { certificate, key: pemOf(privateKey) };
}

/** Makes a key and a certificate for a server with these DNS names and addresses. `authority` signs the certificate. */
export function makeServerCertificate(authority: Issuer, names: readonly string[], validity: Validity): CertifiedKey {
  const { publicKey, privateKey } = newKey();
  const certificate = certify({
    subject: { name: names[0] ?? '', publicKey },
    issuer: authority,
    validity,
    extensions: [
      extension('basicConstraints', der.sequence(), 'critical'),
      extension('keyUsage', SIGNS_HANDSHAKES, 'critical'),
      extension('extendedKeyUsage', der.sequence(der.oid(SERVER_AUTH))),
      extension('subjectKeyId', der.octets(keyId(publicKey))),
      extension('authorityKeyId', der.sequence(der.implicit(0, keyId(createPublicKey(authority.key))))),
      extension('altName', der.sequence(...names.map(generalName))),
    ],
  });
  return { certificate, key: pemOf(privateKey) };
}

/** Returns a request for a certificate for these DNS names, in DER and signed with their private key (PKCS #10, RFC 2986). */
export function makeCertificateRequest(privateKey: KeyObject, names: readonly string[]): Buffer {
  const altNames = der.sequence(extension('altName', der.sequence(...names.map(generalName))));
  const toBeSigned = der.sequence(
    der.integer(Buffer.from([0])),
    der.sequence(),
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    der.explicit(0, der.sequence(der.oid(EXTENSION_REQUEST), der.set(altNames))),
  );
  return der.sequence(toBeSigned, der.sequence(der.oid(ECDSA_SHA256)), der.bits(sign('sha256', toBeSigned, privateKey)));
}

function newKey() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** Returns a signed certificate in PEM (RFC 5280 §4.1). */
function certify({ subject, issuer, validity, extensions }: CertificateDraft): string {
  const algorithm = der.sequence(der.oid(ECDSA_SHA256));
  const toBeSigned = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))),
    der.integer(serialNumber()),
    algorithm,
    distinguishedName(issuer.name),
    der.sequence(der.time(validity.fromMs), der.time(validity.untilMs)),
    distinguishedName(subject.name),
    subject.publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...extensions)),
  );
  const certificate = der.sequence(toBeSigned, algorithm, der.bits(sign('sha256', toBeSigned, issuer.key)));
  const lines = certificate.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

/** Returns a random serial number of 127 bits. The highest bit is always 1, so the number is positive and not zero (§4.1.2.2). */
function serialNumber(): Uint8Array {
  const bytes = randomBytes(16);
  bytes[0] = 0x40 | ((bytes[0] ?? 0) & 0x3f);
  return bytes;
}

function distinguishedName(commonName: string): Buffer {
  return der.sequence(der.set(der.sequence(der.oid(COMMON_NAME), der.utf8(commonName))));
}

function extension(name: keyof typeof EXTENSION, value: Uint8Array, weight?: 'critical'): Buffer {
  return der.sequence(der.oid(EXTENSION[name]), ...(weight ? [der.boolean('true')] : []), der.octets(value));
}

/** Returns the SHA-1 of the public key's bits (§4.2.1.2 (1)). It is only an identifier, so security does not depend on SHA-1. */
function keyId(publicKey: KeyObject): Uint8Array {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  return createHash('sha1').update(point).digest();
}

/** Encodes a subject alternative name (§4.2.1.6). The tag is [2] for a DNS name and [7] for an IP address. */
function generalName(name: string): Buffer {
  return isIP(name) === 0 ? der.implicit(2, Buffer.from(name, 'ascii')) : der.implicit(7, addressBytes(name));
}

function pemOf(key: KeyObject): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }));
}

/**
 * Names that every authority of a hub may sign: domains with their subdomains, and addresses. All are local to a home (RFC 6761, 6762,
 * 8375, 1918, 6598, 3927, 4193), except the global IPv6 addresses (2000::/3), which providers assign to homes.
 */
const HOME_SCOPE = [
  ...['localhost', 'local', 'home.arpa', 'internal', 'lan', 'home'],
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', '127.0.0.0/8'],
  ...['::1/128', 'fc00::/7', 'fe80::/10', '2000::/3'],
];
const NAME_CONSTRAINTS = der.oid('2.5.29.30');
/** Tags of these parts of a certificate, in this order: extensions, permittedSubtrees, dNSName, iPAddress (RFC 5280 §4.1, §4.2.1.10). */
const EXTENSIONS = 0xa3;
const PERMITTED = 0xa0;
const DNS = 0x82;
const ADDRESS = 0x87;

/** Returns the name constraints for a new authority. With them, clients trust it only for names of a home and for `names`. */
export function nameScopeFor(names: readonly string[]): readonly string[] {
  const others = names.filter((name) => !permits(HOME_SCOPE, name));
  return [...HOME_SCOPE, ...others.map((name) => (isIP(name) === 0 ? name : `${name}/${isIP(name) === 4 ? 32 : 128}`))];
}

/** Returns whether name constraints allow a name or address. */
export function permits(scope: readonly string[], name: string): boolean {
  const family = isIP(name);
  if (family === 0) return scope.some((one) => name === one || name.endsWith(`.${one}`));
  const list = new BlockList();
  const type = family === 4 ? 'ipv4' : 'ipv6';
  for (const one of scope) {
    const [address = '', prefix = ''] = one.split('/');
    if (isIP(address) === family) list.addSubnet(address, Number(prefix), type);
  }
  return list.check(name, type);
}

/** Encodes name constraints as the value of their extension (RFC 5280 §4.2.1.10). */
function constraintsOf(scope: readonly string[]): Buffer {
  return der.sequence(der.explicit(0, Buffer.concat(scope.map((one) => der.sequence(subtree(one))))));
}

/** Returns an authority's name constraints; undefined if it has none, so that it may sign every name. */
export function nameScopeOf(authority: X509Certificate): readonly string[] | undefined {
  const [certificate] = derElements(authority.raw);
  const [toBeSigned] = derElements(certificate?.content);
  const [extensions] = derElements(toBeSigned?.content).filter(({ tag }) => tag === EXTENSIONS);
  const [list] = derElements(extensions?.content);
  const constraints = derElements(list?.content).find(({ content }) =>
    content.subarray(0, NAME_CONSTRAINTS.length).equals(NAME_CONSTRAINTS),
  );
  if (!constraints) return undefined;
  const [value] = derElements(derElements(constraints.content).at(-1)?.content);
  const [permitted] = derElements(value?.content).filter(({ tag }) => tag === PERMITTED);
  return derElements(permitted?.content).flatMap(({ content }) => derElements(content).map(textOf));
}

function subtree(one: string): Buffer {
  const [address = '', prefix] = one.split('/');
  if (prefix === undefined) return der.implicit(2, Buffer.from(one, 'ascii'));
  const bytes = addressBytes(address);
  const mask = bytes.map((_, index) => 0xff & (0xff00 >> Math.min(8, Math.max(0, Number(prefix) - 8 * index))));
  return der.implicit(7, Buffer.concat([bytes, mask]));
}

interface DerElement {
  readonly tag: number;
  readonly content: Buffer;
}

/** Splits DER into its elements. Returns an empty list if the bytes end too early. */
function derElements(bytes: Buffer = Buffer.alloc(0)): readonly DerElement[] {
  const parts: DerElement[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const short = bytes[at + 1] ?? 0;
    const width = short < 0x80 ? 0 : short & 0x7f;
    if (width > 4 || at + 2 + width > bytes.length) return [];
    const length = width === 0 ? short : bytes.readUIntBE(at + 2, width);
    const start = at + 2 + width;
    parts.push({ tag: bytes[at] ?? 0, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return parts;
}

function textOf({ tag, content }: DerElement): string {
  if (tag === DNS) return content.toString('latin1');
  if (tag !== ADDRESS) return '';
  const half = content.length / 2;
  const prefix = [...content.subarray(half)].reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0);
  return `${addressText(content.subarray(0, half))}/${prefix}`;
}

function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  return plainAddress(Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16)).join(':'));
}

/** The names and addresses of this machine. */
export interface MachineNames {
  readonly hostName: string;
  readonly addresses: readonly { readonly address: string; readonly internal: boolean }[];
}

interface NameFacts extends MachineNames {
  readonly host: string;
  readonly configured: readonly string[];
}

const DNS_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
/** Maximum number of names, so that the certificate stays small on a machine with many containers. */
const MAX_NAMES = 64;

/** Returns whether an address means all interfaces. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === '';
}

/** Returns at most 64 names under which clients may reach the hub, for its certificate. Names in the configuration come first. */
export function namesOf({ host, configured, hostName, addresses }: NameFacts): readonly string[] {
  const machine = hostName.toLowerCase().replace(/\.$/, '');
  const isNamed = DNS_NAME.test(machine) && machine !== 'localhost';
  const local = isNamed && !machine.includes('.') ? [`${machine}.local`] : [];
  const listening = isWildcard(host) ? addresses.filter(({ internal, address }) => !internal && isReachable(address)) : [{ address: host }];
  const all = [
    ...configured.map((name) => name.toLowerCase()),
    ...local,
    ...(isNamed ? [machine] : []),
    ...listening.map(({ address }) => address.toLowerCase()),
    ...['localhost', '127.0.0.1', '::1'],
  ];
  return [...new Set(all)].slice(0, MAX_NAMES);
}

/** Returns whether browsers can reach an address. A link-local IPv6 address needs a zone, which a browser's URL cannot contain. */
function isReachable(address: string): boolean {
  return !(isIPv6(address) && /^fe[89ab]/i.test(address));
}

/** Returns the names and addresses of a certificate. */
export function namesIn(certificate: X509Certificate): readonly string[] {
  const entries = certificate.subjectAltName?.split(', ') ?? [];
  return entries.flatMap((entry) => {
    const [, kind, name] = /^(DNS|IP Address):(.+)$/.exec(entry) ?? [];
    if (kind === undefined || name === undefined) return [];
    return [kind === 'DNS' ? name.toLowerCase() : plainAddress(name)];
  });
}

/** Returns whether a list contains `name` (without brackets) or a wildcard for its first label (RFC 9525 §6.3). Loopback always matches. */
export function covers(names: readonly string[], name: string): boolean {
  const wanted = plainAddress(name.toLowerCase());
  return isLoopback(wanted) || names.includes(wanted) || names.includes(wanted.replace(/^[^.]+/, '*'));
}

/** Returns an IPv6 address in its canonical form (RFC 5952), and any other text unchanged. */
function plainAddress(name: string): string {
  return isIPv6(name) && !name.includes('%') ? new URL(`http://[${name}]`).hostname.slice(1, -1) : name;
}
