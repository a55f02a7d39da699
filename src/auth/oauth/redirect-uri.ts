import { oauthError } from '../../core/auth/oauth.ts';
import { isKnownPrivateUri, isLoopbackRedirectHost, isPrivateScheme } from '../../core/auth/redirect-address.ts';

const MAX_LENGTH = 1_024;
/** Characters of a URI (RFC 3986 §2). Spaces, quotation marks, control characters and everything beyond ASCII are no part of one. */
const URI = /^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/;

/** Throws `invalid_redirect_uri` unless a client may register this address: https, loopback http, or a private-use scheme. */
export function requireRedirectUri(text: string): void {
  if (text.length > MAX_LENGTH || !URI.test(text))
    refuse(`A redirect address is a URI of at most ${MAX_LENGTH} characters without a fragment`);
  if (isKnownPrivateUri(text)) return;
  const url = URL.parse(text) ?? refuse(`${shown(text)} is no URI`);
  if (url.username !== '' || url.password !== '' || text.includes('@')) refuse(`${shown(text)} must not have a user name`);
  if (hasDotSegment(text)) refuse(`${shown(text)} must not have the segments . or .. in its path`);
  if (url.protocol === 'https:' || isLoopbackHttp(url) || isPrivateScheme(url.protocol)) return;
  refuse(`${shown(text)} has to be https, http to this machine, or a private scheme with a dot such as com.example.app:/callback`);
}

/** Returns whether a requested address is a registered one: the same text, or for a loopback address with another port (RFC 8252 §7.3). */
export function matchesRedirectUri(requested: string, registered: string): boolean {
  if (requested === registered) return true;
  const [one, other] = [URL.parse(requested), URL.parse(registered)];
  if (!one || !other || !isLoopbackHttp(one) || !isLoopbackHttp(other) || !URI.test(requested)) return false;
  return withoutPort(requested, one) === withoutPort(registered, other);
}

/**
 * Returns what a person is shown of the address that gets the answer: its host, or the scheme of an application on the device. The scheme
 * keeps its colon, since `claude.ai:` without it would look like a host.
 */
export function redirectHost(uri: string): string {
  const { protocol, hostname, host } = new URL(uri);
  if (protocol === 'https:') return host;
  return protocol === 'http:' ? hostname : protocol;
}

/** Returns the redirect address with further parameters in its query; parameters that are undefined are left out. */
export function redirectWith(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as [string, string]])),
  );
  const joint = !uri.includes('?') ? '?' : uri.endsWith('?') || uri.endsWith('&') ? '' : '&';
  return `${uri}${joint}${query.toString()}`;
}

function isLoopbackHttp({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && isLoopbackRedirectHost(hostname);
}

/** Replaces the port behind the host. The rest stays as it was written, since it has to match exactly. */
function withoutPort(text: string, { hostname }: URL): string {
  const start = 'http://'.length + hostname.length;
  return text.slice(0, start).toLowerCase() + text.slice(start).replace(/^:\d{1,5}(?=[/?]|$)/, '');
}

function hasDotSegment(text: string): boolean {
  const path = text.split('?', 1)[0] ?? text;
  return path.split('/').some((segment) => ['.', '..'].includes(segment.replace(/%2e/gi, '.')));
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

function refuse(message: string): never {
  throw oauthError('invalid_redirect_uri', message);
}
