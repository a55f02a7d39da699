import { isIP } from 'node:net';
import { AtmoError } from '../../core/errors.ts';
import { isWildcard } from '../tls/tls-names.ts';
import type { HttpAddress } from './http-server.ts';
import { isLoopback } from './loopback.ts';

/** Where clients reach a door that listens on all interfaces: by the best of the names that its certificate is about. */
export function doorUrl({ host, port }: HttpAddress, certified: readonly string[] | undefined): string {
  const name = certified !== undefined && isWildcard(host) ? bestOf(certified) : host;
  return `${certified === undefined ? 'http' : 'https'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** An address is reached by everybody in the network; whether a name is depends on who answers for it there. */
function bestOf(names: readonly string[]): string {
  return names.find((name) => isIP(name) !== 0 && !isLoopback(name)) ?? names[0] ?? 'localhost';
}

/** Refuses (CONFIG_INVALID) to listen where others on the network could call without TLS. */
export function requireTls(host: string): void {
  if (isLoopback(host)) return;
  throw new AtmoError(
    'CONFIG_INVALID',
    `The HTTP interface may not listen on ${JSON.stringify(host)} without TLS: a token would cross the network in clear. ` +
      'Take http.tls.enabled: false out of the configuration, or set ATMO_HTTP_HOST to 127.0.0.1',
    { host },
  );
}
