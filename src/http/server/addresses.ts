import { BlockList, isIP, isIPv4 } from 'node:net';

const HOST_HEADER = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?$/i;
const DEFAULT_PORT = { http: '80', https: '443' } as const;

interface Addressing {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** Whether a proxy has passed the request on, by what its headers say. */
  readonly isForwarded: boolean;
}

/** The listener that received a request. It knows under which names clients may reach the hub. */
export interface ListenerAddress {
  readonly scheme: 'http' | 'https';
  readonly port: number;
  /** Returns whether clients may use this name or address (without brackets) over TLS. Over plain HTTP, only loopback is accepted. */
  isOwnName(name: string): boolean;
  /** URL at which a reverse proxy on this machine offers the hub. */
  readonly proxy?: URL | undefined;
}

/** Returns whether a request came through the reverse proxy: over plain HTTP, hence from this machine, and for the name of the proxy. */
export function isProxied(host: string | undefined, { scheme, proxy }: Pick<ListenerAddress, 'scheme' | 'proxy'>): boolean {
  return scheme === 'http' && proxy !== undefined && host?.toLowerCase() === proxy.host;
}

const FORWARDING_HEADERS = ['x-forwarded-for', 'x-real-ip', 'forwarded'] as const;

/** Returns whether a request has a header that proxies write into what they pass on. */
export function wasForwarded(headers: Pick<Headers, 'has'>): boolean {
  return FORWARDING_HEADERS.some((name) => headers.has(name));
}

/**
 * Returns why the Host or Origin header is refused; undefined if both are valid. Checking Host prevents DNS rebinding. Checking Origin
 * keeps out the pages of other sites. Both checks apply to every route.
 */
export function refuseAddressing({ host, origin, isForwarded }: Addressing, listener: ListenerAddress): string | undefined {
  const { scheme, port, proxy } = listener;
  if (isProxied(host, listener))
    return origin === undefined || origin.toLowerCase() === proxy?.origin ? undefined : foreignPage(proxy?.origin);
  // A proxy that passes on the Host of its clients would otherwise let each of them pose as a program on this machine.
  if (scheme === 'http' && proxy && isForwarded)
    return `A request that a proxy has passed on needs the Host of http.proxy_url: let the proxy always send ${proxy.host}`;
  if (host === undefined || !isOwnHost(host, listener)) {
    const whose = scheme === 'http' ? 'a loopback name or address' : "a name or address of the hub's certificate";
    return `The Host header has to be ${whose} with port ${port}, such as 127.0.0.1:${port}; other names are set by http.tls.names`;
  }
  if (origin !== undefined && origin.toLowerCase() !== `${scheme}://${host.toLowerCase()}`) {
    return foreignPage(`${scheme}://${host}`);
  }
  return undefined;
}

function foreignPage(own: string | undefined): string {
  return `Pages of another origin may not call this hub; the Origin has to be ${own}`;
}

/** Returns why a request target is refused; undefined for a path, and for a URL with the host of the Host header (RFC 9112 §3.2.2). */
export function refuseAbsolute(target: string | undefined, host: string | undefined): string | undefined {
  if (target === undefined || target.startsWith('/')) return undefined;
  const authority = URL.parse(target)?.host;
  if (authority !== undefined && authority === host?.toLowerCase()) return undefined;
  return 'The hub is no proxy: send the path alone as the target of the request';
}

function isOwnHost(header: string, { scheme, port, isOwnName }: ListenerAddress): boolean {
  const [, host, , givenPort] = HOST_HEADER.exec(header) ?? [];
  if (host === undefined || (givenPort ?? DEFAULT_PORT[scheme]) !== String(port)) return false;
  const name = host.replace(/^\[|\]$/g, '');
  return isLoopback(name) || (scheme === 'https' && isOwnName(name));
}

/** Returns the source that limits apply to: an IPv4 address, an IPv6 /64 (one household, RFC 4291 §2.5.4), or `local` for this machine. */
export function sourceOf(remoteAddress: string | undefined): string {
  const address = remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '') ?? '';
  if (address === '' || isLoopback(address)) return 'local';
  return isIPv4(address) ? address : networkOf(address);
}

/**
 * Returns the source of a request that came through the reverse proxy. Only the last address in X-Forwarded-For is from the proxy; a client
 * can write all others. Without a usable address it is `proxy`, so that such requests share one lockout and never count as `local`.
 */
export function proxiedSource(forwardedFor: string | null): string {
  const address = forwardedFor?.split(',').at(-1)?.trim() ?? '';
  return isIP(address) === 0 || isLoopback(address) ? 'proxy' : sourceOf(address);
}

function networkOf(address: string): string {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  const zeros = new Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16).toString(16));
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Returns whether a host is `localhost` or a loopback address. Other names are not resolved. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && LOOPBACK.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
