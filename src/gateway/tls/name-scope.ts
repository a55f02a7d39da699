import type { X509Certificate } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { addressBytes } from '../../core/address-bytes.ts';
import { der } from './der.ts';
import { plainAddress } from './tls-names.ts';

/**
 * Names and addresses that belong to nobody on the internet, or to homes: DNS names with all below them, `ADDRESS/PREFIX`
 * (RFC 6761, 6762, 8375, 1918, 6598, 3927, 4193; the addresses of IPv6 that providers give out and take back).
 */
const HOME = [
  ...['localhost', 'local', 'home.arpa', 'internal', 'lan', 'home'],
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', '127.0.0.0/8'],
  ...['::1/128', 'fc00::/7', 'fe80::/10', '2000::/3'],
];
const NAME_CONSTRAINTS = der.oid('2.5.29.30');
/** Tags: certificate extensions, permittedSubtrees, dNSName, iPAddress (RFC 5280 §4.1, §4.2.1.10). */
const EXTENSIONS = 0xa3;
const PERMITTED = 0xa0;
const DNS = 0x82;
const ADDRESS = 0x87;

/** What an authority may vouch for, so that trusting it means to trust it with this home and with nothing else. */
export function scopeFor(names: readonly string[]): readonly string[] {
  const others = names.filter((name) => !permits(HOME, name));
  return [...HOME, ...others.map((name) => (isIP(name) === 0 ? name : `${name}/${isIP(name) === 4 ? 32 : 128}`))];
}

/** True for a name or address that is, or is below, one of the scope. */
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

/** The value of the extension name constraints (RFC 5280 §4.2.1.10). */
export function constraintsOf(scope: readonly string[]): Buffer {
  return der.sequence(der.explicit(0, Buffer.concat(scope.map((one) => der.sequence(subtree(one))))));
}

/** What an authority says it may vouch for; undefined where it says nothing: then it is everything. */
export function scopeOf(authority: X509Certificate): readonly string[] | undefined {
  const [certificate] = partsOf(authority.raw);
  const [toBeSigned] = partsOf(certificate?.content);
  const [extensions] = partsOf(toBeSigned?.content).filter(({ tag }) => tag === EXTENSIONS);
  const [list] = partsOf(extensions?.content);
  const constraints = partsOf(list?.content).find(({ content }) => content.subarray(0, NAME_CONSTRAINTS.length).equals(NAME_CONSTRAINTS));
  if (!constraints) return undefined;
  const [value] = partsOf(partsOf(constraints.content).at(-1)?.content);
  const [permitted] = partsOf(value?.content).filter(({ tag }) => tag === PERMITTED);
  return partsOf(permitted?.content).flatMap(({ content }) => partsOf(content).map(textOf));
}

function subtree(one: string): Buffer {
  const [address = '', prefix] = one.split('/');
  if (prefix === undefined) return der.implicit(2, Buffer.from(one, 'ascii'));
  const bytes = addressBytes(address);
  const mask = bytes.map((_, index) => 0xff & (0xff00 >> Math.min(8, Math.max(0, Number(prefix) - 8 * index))));
  return der.implicit(7, Buffer.concat([bytes, mask]));
}

interface Part {
  readonly tag: number;
  readonly content: Buffer;
}

/** The elements in DER that stand one after the other; none for what ends too early. */
function partsOf(bytes: Buffer = Buffer.alloc(0)): readonly Part[] {
  const parts: Part[] = [];
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

function textOf({ tag, content }: Part): string {
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
