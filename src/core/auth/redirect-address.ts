/** A private-use scheme is a domain name in reverse order, so it contains a dot (RFC 8252 §7.1). */
const PRIVATE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/;
/** Clients whose documented redirect address has a scheme without a dot. PKCE protects the code if another application takes that scheme. */
const KNOWN_PRIVATE_URIS: readonly string[] = ['cursor://anysphere.cursor-mcp/oauth/callback'];
const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Returns whether an address is the documented one of a client whose scheme has no dot. */
export function isKnownPrivateUri(uri: string): boolean {
  return KNOWN_PRIVATE_URIS.includes(uri);
}

/**
 * Returns whether a host, as `URL.hostname` has it, is one of the three by which an answer goes to the machine of the browser itself (RFC 8252
 * §7.3 and §8.3). The rest of 127.0.0.0/8 does not count.
 */
export function isLoopbackRedirectHost(hostname: string): boolean {
  return LOOPBACK_HOSTS.includes(hostname);
}

/** Returns whether a scheme, with its colon, is a private-use one of an application on the device. */
export function isPrivateScheme(protocol: string): boolean {
  return PRIVATE_SCHEME.test(protocol);
}

/** Returns whether a person may be sent to this address with an answer. Other schemes, such as `javascript:`, could run code. */
export function isAnswerAddress(uri: string): boolean {
  const protocol = URL.parse(uri)?.protocol;
  if (protocol === undefined) return false;
  const isKnown = KNOWN_PRIVATE_URIS.some((known) => known.startsWith(protocol));
  return protocol === 'https:' || protocol === 'http:' || isPrivateScheme(protocol) || isKnown;
}

/**
 * Returns whether an answer goes to a program on the machine of the browser: a loopback host, or the scheme of an application. The argument
 * is the host or scheme that a person is shown.
 */
export function isOnThisMachine(redirectHost: string): boolean {
  return redirectHost.endsWith(':') || isLoopbackRedirectHost(redirectHost.replace(/:\d+$/, ''));
}
