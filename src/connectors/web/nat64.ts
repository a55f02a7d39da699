import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { addressBytes } from '../../core/address-bytes.ts';

/** Networks whose addresses stand for IPv4 ones, as texts of addresses and lengths of prefixes. */
export interface TranslatedNetwork {
  readonly network: string;
  readonly prefix: number;
}

/** Where the four bytes of IPv4 stand, by the length of the prefix; byte 8 is left out (RFC 6052 §2.2). */
const PLACES: Readonly<Record<number, readonly number[]>> = {
  32: [4, 5, 6, 7],
  40: [5, 6, 7, 9],
  48: [6, 7, 9, 10],
  56: [7, 9, 10, 11],
  64: [9, 10, 11, 12],
  96: [12, 13, 14, 15],
};
/** The well-known prefix (RFC 6052 §2.1). That for local use (RFC 8215) is no public one. */
const WELL_KNOWN: TranslatedNetwork = { network: '64:ff9b::', prefix: 96 };
/** A name that has IPv4 addresses only, unless the network makes others of them (RFC 7050). */
const IPV4_ONLY = 'ipv4only.arpa';
const ITS_ADDRESSES: ReadonlySet<string> = new Set(['192.0.0.170', '192.0.0.171']);

/** Answers the IPv4 address that a translator would make of it; undefined for an address that is no translated one. */
export type EmbeddedIpv4 = (address: string) => string | undefined;

/** The addresses within these networks, and within the well-known one, as what they stand for. */
export function embeddedIpv4(networks: readonly TranslatedNetwork[]): EmbeddedIpv4 {
  const known = [WELL_KNOWN, ...networks].map(({ network, prefix }) => ({ start: addressBytes(network).subarray(0, prefix / 8), prefix }));
  return (address) => {
    if (!isTranslatable(address)) return undefined;
    const bytes = addressBytes(address);
    const found = known.find(({ start }) => start.every((byte, place) => bytes[place] === byte));
    return found && ipv4At(bytes, found.prefix);
  };
}

/** The networks that a resolver's answers about `ipv4only.arpa` show (RFC 7050 §3). */
export function networksIn(answers: readonly string[]): readonly TranslatedNetwork[] {
  return answers.filter(isTranslatable).flatMap((network) => {
    const bytes = addressBytes(network);
    const prefix = Object.keys(PLACES)
      .map(Number)
      .find((length) => ITS_ADDRESSES.has(ipv4At(bytes, length) ?? ''));
    return prefix === undefined ? [] : [{ network, prefix }];
  });
}

/**
 * What translates addresses in the network that this machine is in, as its resolver tells. A network whose resolver knows of no
 * translation, or does not answer, has none but the well-known one.
 */
export async function networkTranslation(): Promise<EmbeddedIpv4> {
  const answers = await lookup(IPV4_ONLY, { all: true, family: 6 }).catch(() => []);
  return embeddedIpv4(networksIn(answers.map(({ address }) => address)));
}

/** An address with a zone is one of a link, and no translator's. */
function isTranslatable(address: string): boolean {
  return isIPv6(address) && !address.includes('%');
}

function ipv4At(bytes: Uint8Array, prefix: number): string | undefined {
  return PLACES[prefix]?.map((place) => bytes[place]).join('.');
}
