import type { PeerAddress } from './mesh-engine.ts';

const HOST_PORT = /^(?:\[([^\]\s]+)\]|([^\s[\]]+)):(\d{1,5})$/;
const MAPPED = '::ffff:';

/** Parses `host:port` or `[IPv6]:port`; returns undefined for anything else. */
export function parseHostPort(text: string): PeerAddress | undefined {
  const [, bracketed, bare, digits] = HOST_PORT.exec(text) ?? [];
  const host = bracketed ?? bare;
  const port = Number(digits);
  return host === undefined || !(port > 0 && port <= 65_535) ? undefined : { host, port };
}

/** Returns `host:port`; an IPv6 address in brackets, with its zone: `[fe80::1%eth0]:7481`. */
export function formatHostPort({ host, port }: PeerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns the IPv4 address in an IPv4-mapped IPv6 address such as `::ffff:10.0.0.1`; any other host unchanged. */
export function unmappedAddress(host: string): string {
  return host.startsWith(MAPPED) && host.includes('.') ? host.slice(MAPPED.length) : host;
}
