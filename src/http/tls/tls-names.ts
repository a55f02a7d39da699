import type { X509Certificate } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { isLoopback } from '../server/addresses.ts';

/** A network interface's address, as node:os tells it. */
interface InterfaceAddress {
  readonly address: string;
  readonly internal: boolean;
}

/** What a machine is called, and the addresses of its interfaces. */
export interface MachineNames {
  readonly hostName: string;
  readonly addresses: readonly InterfaceAddress[];
}

interface NameFacts extends MachineNames {
  /** Where the door listens. */
  readonly host: string;
  /** Names that the owner gave it. */
  readonly configured: readonly string[];
}

const DNS_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
/** A certificate stays small, whatever a machine with many containers has. */
const MAX_NAMES = 64;

/** True for the addresses that mean every interface. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === '';
}

/** Every name under which clients may reach the hub, those of the owner first: what its certificate has to be about. */
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

/** Link-local IPv6 addresses need a zone, which no URL of a browser can have. */
function isReachable(address: string): boolean {
  return !(isIPv6(address) && /^fe[89ab]/i.test(address));
}

/** The names and addresses that a certificate is about. */
export function namesIn(certificate: X509Certificate): readonly string[] {
  const entries = certificate.subjectAltName?.split(', ') ?? [];
  return entries.flatMap((entry) => {
    const [, kind, name] = /^(DNS|IP Address):(.+)$/.exec(entry) ?? [];
    if (kind === undefined || name === undefined) return [];
    return [kind === 'DNS' ? name.toLowerCase() : plainAddress(name)];
  });
}

/** True when `name`, without brackets, is one of the names; `*.` stands for one label (RFC 9525 §6.3). Loopback always is. */
export function covers(names: readonly string[], name: string): boolean {
  const wanted = plainAddress(name.toLowerCase());
  return isLoopback(wanted) || names.includes(wanted) || names.includes(wanted.replace(/^[^.]+/, '*'));
}

/** IPv6 in the one form of RFC 5952; anything else as it is. */
export function plainAddress(name: string): string {
  return isIPv6(name) && !name.includes('%') ? new URL(`http://[${name}]`).hostname.slice(1, -1) : name;
}
