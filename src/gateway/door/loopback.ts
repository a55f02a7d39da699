import { BlockList, isIP } from 'node:net';
import { AtmoError } from '../../core/errors.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** True for `localhost` and for addresses that never leave the machine; no name is looked up. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && LOOPBACK.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Refuses (CONFIG_INVALID) to listen where others on the network could call without TLS. */
export function requireLoopback(host: string): void {
  if (isLoopback(host)) return;
  throw new AtmoError(
    'CONFIG_INVALID',
    `The HTTP door may not listen on ${JSON.stringify(host)}: without TLS a token would cross the network in clear. ` +
      'Set ATMO_HTTP_HOST to 127.0.0.1 and reach the hub from elsewhere through an SSH tunnel (ssh -L 8081:127.0.0.1:8081 HOST)',
    { host },
  );
}

const HOST_HEADER = /^(localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]+\])(?::(\d{1,5}))?$/i;

interface Addressing {
  readonly host: string | undefined;
  readonly origin: string | undefined;
}

/**
 * Why a request's addressing is refused, or undefined when it is fine. The Host check stops DNS rebinding, the Origin
 * check stops pages of other sites; both hold on every route.
 */
export function refuseAddressing({ host, origin }: Addressing, port: number): string | undefined {
  if (host === undefined || !isOwnHost(host, port)) {
    return `The Host header has to be a loopback name or address with port ${port}, such as 127.0.0.1:${port}`;
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
    return `Pages of another origin may not call this hub; the Origin has to be http://${host}`;
  }
  return undefined;
}

function isOwnHost(header: string, port: number): boolean {
  const match = HOST_HEADER.exec(header);
  const name = match?.[1];
  if (name === undefined) return false;
  return isLoopback(name.replace(/^\[|\]$/g, '')) && (match?.[2] ?? '80') === String(port);
}
