import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { addressBytes } from '../../core/address-bytes.ts';
import { der } from './der.ts';
import { constraintsOf } from './name-scope.ts';

/** From when until when a certificate counts, milliseconds since 1970. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A certificate and its private key, both in PEM. */
export interface CertifiedKey {
  readonly certificate: string;
  readonly key: string;
}

interface Subject {
  readonly name: string;
  readonly publicKey: KeyObject;
}

interface Issuer {
  readonly name: string;
  readonly key: KeyObject;
}

interface Draft {
  readonly subject: Subject;
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
/** keyCertSign and cRLSign: bits 5 and 6 (RFC 5280 §4.2.1.3). */
const SIGNS_CERTIFICATES = der.bits(Buffer.from([0b0000_0110]), 1);
/** digitalSignature: bit 0. */
const SIGNS_HANDSHAKES = der.bits(Buffer.from([0b1000_0000]), 7);

/**
 * A new authority: a P-256 key and a certificate that it signed for itself; no other authority may stand below it, and it
 * vouches for nothing outside its scope (`scopeFor`).
 */
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

/** A new key and certificate for a server of these DNS names and addresses, signed by the authority `issuerName`. */
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

function newKey() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** RFC 5280 §4.1. */
function certify({ subject, issuer, validity, extensions }: Draft): string {
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

/** 127 random bits, positive and never zero (§4.1.2.2). */
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

/** SHA-1 of the key's bits, as §4.2.1.2 (1) has it: a name, not a proof. */
function keyId(publicKey: KeyObject): Uint8Array {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  return createHash('sha1').update(point).digest();
}

/** §4.2.1.6: dNSName is [2], iPAddress [7]. */
function generalName(name: string): Buffer {
  return isIP(name) === 0 ? der.implicit(2, Buffer.from(name, 'ascii')) : der.implicit(7, addressBytes(name));
}

function pemOf(key: KeyObject): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }));
}
