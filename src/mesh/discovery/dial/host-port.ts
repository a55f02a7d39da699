import type { PeerAddress } from '../../engine/mesh-engine.ts';

const HOST_PORT = /^(?:\[([^\]\s]+)\]|([^\s[\]]+)):(\d{1,5})$/;

/** Reads `host:port` or `[IPv6]:port`; undefined for anything else. */
export function parseHostPort(text: string): PeerAddress | undefined {
  const [, bracketed, bare, digits] = HOST_PORT.exec(text) ?? [];
  const host = bracketed ?? bare;
  const port = Number(digits);
  return host === undefined || !(port > 0 && port <= 65_535) ? undefined : { host, port };
}
