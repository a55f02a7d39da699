import { isLoopback } from './loopback.ts';

const HOST_HEADER = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?$/i;
const DEFAULT_PORT = { http: '80', https: '443' } as const;

/** What a request says of where it goes and where it comes from. */
interface Addressing {
  readonly host: string | undefined;
  readonly origin: string | undefined;
}

/** How the request came in, and which names are the hub's own there. */
export interface Entrance {
  readonly scheme: 'http' | 'https';
  readonly port: number;
  /** Names and addresses, without brackets, of the hub's certificate; over plain HTTP loopback alone counts. */
  isOwnName(name: string): boolean;
}

/**
 * Why a request's addressing is refused, or undefined when it is fine. The Host check stops DNS rebinding, the Origin
 * check stops pages of other sites; both hold on every route.
 */
export function refuseAddressing({ host, origin }: Addressing, entrance: Entrance): string | undefined {
  const { scheme, port } = entrance;
  if (host === undefined || !isOwnHost(host, entrance)) {
    const whose = scheme === 'http' ? 'a loopback name or address' : "a name or address of the hub's certificate";
    return `The Host header has to be ${whose} with port ${port}, such as 127.0.0.1:${port}; other names are set by http.tls.names`;
  }
  if (origin !== undefined && origin.toLowerCase() !== `${scheme}://${host.toLowerCase()}`) {
    return `Pages of another origin may not call this hub; the Origin has to be ${scheme}://${host}`;
  }
  return undefined;
}

/** Why a target that is a whole URL is refused (RFC 9112 §3.2.2): it has to name the host that the Host header names. */
export function refuseAbsolute(target: string | undefined, host: string | undefined): string | undefined {
  if (target === undefined || target.startsWith('/')) return undefined;
  const authority = URL.parse(target)?.host;
  if (authority !== undefined && authority === host?.toLowerCase()) return undefined;
  return 'The hub is no proxy: send the path alone as the target of the request';
}

function isOwnHost(header: string, { scheme, port, isOwnName }: Entrance): boolean {
  const [, host, , givenPort] = HOST_HEADER.exec(header) ?? [];
  if (host === undefined || (givenPort ?? DEFAULT_PORT[scheme]) !== String(port)) return false;
  const name = host.replace(/^\[|\]$/g, '');
  return isLoopback(name) || (scheme === 'https' && isOwnName(name));
}
