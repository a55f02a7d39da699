import { isIP, isIPv6 } from 'node:net';
import { AtmoError } from '../../core/errors.ts';
import { type AddressRule, addressSet } from './public-address.ts';

/** Whether the owner lets a request for this address of the web go to this address of a machine, public or not. */
export type HostRule = (url: URL, address: string) => boolean;

/** JSON Schema pattern of an entry: a name, an address or a network, with a port if only that one is meant. */
export const ALLOWED_HOST = '^(\\[[0-9a-fA-F:.]+\\]|[0-9a-fA-F:.]+/[0-9]{1,3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]+|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$';

const WITH_PORT = /^(\[.+\]|[^:[\]]+):(\d+)$/;
const DEFAULT_PORT: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** True where any of the owner's entries fits: `nas.lan`, `nas.lan:8080`, `192.168.1.20`, `192.168.1.0/24`, `[fd00::7]:80`. CONFIG_INVALID for a network that is none. */
export function hostRule(entries: readonly string[]): HostRule {
  const rules = entries.map(entryRule);
  return (url, address) => rules.some((rule) => rule(url, address));
}

function entryRule(entry: string): HostRule {
  if (entry.includes('/')) return inAddresses(network(entry));
  const [, host = entry, port] = WITH_PORT.exec(entry) ?? [];
  const rule = oneHost(host.replace(/^\[(.*)\]$/, '$1'));
  return (url, address) => (port === undefined || portOf(url) === port) && rule(url, address);
}

function oneHost(host: string): HostRule {
  if (isIP(host) !== 0) return inAddresses(addressSet([`${host}/${isIPv6(host) ? 128 : 32}`]));
  const name = host.toLowerCase();
  return (url) => url.hostname === name;
}

function network(entry: string): AddressRule {
  try {
    return addressSet([entry]);
  } catch {
    throw new AtmoError('CONFIG_INVALID', `connectors.web.allowed_hosts: ${entry} is no network; one looks like 192.168.1.0/24`);
  }
}

function inAddresses(rule: AddressRule): HostRule {
  return (_, address) => rule(address);
}

function portOf({ port, protocol }: URL): string {
  return port === '' ? (DEFAULT_PORT[protocol] ?? '') : port;
}
