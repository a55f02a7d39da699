import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { orAborted } from '../../core/clock.ts';
import { AtmoError, invalidInput, systemCode } from '../../core/errors.ts';
import { certificateFailure, connectionCode, headersOf, readDecodedBody, sendRequest } from '../http-client/http-request.ts';
import { discoverNat64, type EmbeddedIpv4, embeddedIpv4, hostRule, isPublicAddress } from './address-policy.ts';

/** A request to a URL that an agent chose. */
interface PublicRequest {
  readonly url: string;
  /** HTTP method; default: GET. */
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly signal: AbortSignal;
  /** Longest decompressed body, in bytes. */
  readonly maxBytes: number;
  readonly accept?: string;
  /** Further headers. A request with further headers or a body follows no redirect; the response with the redirect is returned. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** The last response after all redirects. It may have any status. */
export interface PublicResponse {
  readonly status: number;
  /** URL after the redirects. */
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Port: fetches any URL of the public internet. */
export type FetchPublic = (request: PublicRequest) => Promise<PublicResponse>;

/** Port: finds the IP addresses of a host name. */
export type ResolveHost = (hostname: string) => Promise<readonly LookupAddress[]>;

interface PublicFetchOptions {
  /** Private hosts that the owner allows, in the form that `hostRule` takes. */
  readonly allowedHosts?: readonly string[];
  /** The setting that has these hosts, for error messages. */
  readonly setting?: string;
  /** File with the certificates in PEM of the only authorities to trust; default: those that Node trusts. It is read for each request. */
  readonly caFile?: string;
  /** Resolves host names; default: the machine's resolver. */
  readonly resolve?: ResolveHost;
  /** Returns the NAT64 translation of this network; default: `discoverNat64`. */
  readonly translation?: () => Promise<EmbeddedIpv4>;
  /** Time limit in milliseconds for the whole fetch, including redirects; default: 30 s. */
  readonly timeoutMs?: number;
}

interface Attempt extends PublicRequest {
  readonly ca?: string;
  readonly addresses: readonly LookupAddress[];
  readonly target: URL;
}

const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];

/**
 * Returns a function that fetches URLs which agents choose. It fetches only HTTP and HTTPS, and only public or allowed hosts. It checks all
 * addresses of a host and connects only to these, so that a later DNS answer cannot lead elsewhere. It checks each redirect in the same
 * way. Rejects with VALIDATION_ERROR (no web URL), PERMISSION_DENIED (a private host), SERVICE_UNAVAILABLE (no connection), SERVICE_REFUSED
 * (too many redirects, a malformed response), PAYLOAD_TOO_LARGE, TIMEOUT, or the signal's reason.
 */
export function publicFetch(options: PublicFetchOptions = {}): FetchPublic {
  const { allowedHosts = [], resolve = resolveHost, translation = discoverNat64, timeoutMs = 30_000 } = options;
  const { setting = 'connectors.web.allowed_hosts', caFile } = options;
  const isAllowed = hostRule(allowedHosts);
  const addressesOf = async (target: URL, signal: AbortSignal) => {
    const addresses = await resolveTarget(target, { resolve, signal });
    const hasIpv6 = addresses.some(({ family, address }) => family === 6 && isPublicAddress(address));
    const embedded = hasIpv6 ? await orAborted(translation(), signal) : embeddedIpv4([]);
    if (addresses.every(({ address }) => isPublicAddress(address, embedded) || isAllowed(target, address))) return addresses;
    const { hostname: host } = target;
    const message = `${host} is not on the public internet; the owner may allow it in ${setting}`;
    throw new AtmoError('PERMISSION_DENIED', message, { host });
  };
  return async (request) => {
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([request.signal, limit]);
    try {
      const trusted = caFile === undefined ? {} : { ca: authoritiesIn(caFile) };
      return await followRedirects({ ...request, ...trusted, signal }, addressesOf);
    } catch (error) {
      request.signal.throwIfAborted();
      if (limit.aborted) throw new AtmoError('TIMEOUT', `${quotedUrl(request.url)} did not answer in full within ${timeoutMs} ms`);
      throw error;
    }
  };
}

async function followRedirects(
  request: Omit<Attempt, 'addresses' | 'target'>,
  addressesOf: (target: URL, signal: AbortSignal) => Promise<readonly LookupAddress[]>,
): Promise<PublicResponse> {
  let target = parseWebUrl(request.url);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const addresses = await addressesOf(target, request.signal);
    const response = await sendAttempt({ ...request, addresses, target });
    const { location } = response.headers;
    if (request.headers !== undefined || request.body !== undefined) return readResponse(request, target, response);
    if (location === undefined || !REDIRECTS.includes(response.statusCode ?? 0)) return readResponse(request, target, response);
    response.destroy();
    target = parseWebUrl(location, target);
  }
  throw new AtmoError('SERVICE_REFUSED', `${quotedUrl(request.url)} sends requests on more than ${MAX_REDIRECTS} times`);
}

/** Parses a URL, without its fragment. Throws VALIDATION_ERROR if it is not HTTP or HTTPS, or contains a user or password. */
function parseWebUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (!url) throw invalidInput(`${quotedUrl(text)} is no address of the web; it looks like https://example.org/page`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw invalidInput(`${quotedUrl(text)}: only http and https can be fetched`);
  if (url.username !== '' || url.password !== '') throw invalidInput('An address with a user name or password is not fetched; take it out');
  url.hash = '';
  return url;
}

function authoritiesIn(caFile: string): string {
  try {
    return readFileSync(caFile, 'utf8');
  } catch (cause) {
    throw new AtmoError('CONFIG_INVALID', `ca_file names ${caFile}, which cannot be read (${systemCode(cause)})`, {}, { cause });
  }
}

async function resolveTarget(
  { hostname }: URL,
  { resolve, signal }: { readonly resolve: ResolveHost; readonly signal: AbortSignal },
): Promise<readonly LookupAddress[]> {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(literal);
  if (family !== 0) return [{ address: literal, family }];
  const addresses = await orAborted(resolve(hostname), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw unreachable(hostname, connectionCode(error));
  });
  if (addresses.length === 0) throw unreachable(hostname, 'ENOTFOUND');
  return addresses;
}

async function resolveHost(hostname: string): Promise<readonly LookupAddress[]> {
  return lookup(hostname, { all: true });
}

function sendAttempt({ target, method = 'GET', accept = '*/*', signal, addresses, ca, ...attempt }: Attempt): Promise<IncomingMessage> {
  const lookup = pinnedLookup(addresses);
  const headers = { accept, ...attempt.headers };
  const content = { ...(attempt.body && { body: attempt.body }), ...(ca !== undefined && { ca }) };
  return sendRequest({ url: target, method, headers, signal, lookup, ...content }, (code) =>
    signal.aborted ? signal.reason : unreachable(target.hostname, code),
  );
}

/** Returns a lookup function that always gives the checked addresses. A new DNS query could give other addresses. */
function pinnedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  const [first = { address: '', family: 4 }] = addresses;
  return (_, { all }, done) => {
    if (all) done(null, [...addresses]);
    else done(null, first.address, first.family);
  };
}

async function readResponse(
  { method = 'GET', ...request }: PublicRequest,
  target: URL,
  response: IncomingMessage,
): Promise<PublicResponse> {
  const { statusCode: status = 0 } = response;
  const brokenOff = (code: string) =>
    request.signal.aborted
      ? request.signal.reason
      : new AtmoError('SERVICE_REFUSED', `The answer broke off or cannot be unpacked (${code})`, { status });
  const body = await readDecodedBody(response, { method, maxBytes: request.maxBytes }, brokenOff);
  return { status, url: target.href, headers: headersOf(response), body };
}

function unreachable(hostname: string, code: string): AtmoError {
  const certificate = certificateFailure(hostname, code);
  if (certificate) return certificate;
  return new AtmoError('SERVICE_UNAVAILABLE', `${hostname} cannot be reached (${code})`, { host: hostname, reason: code });
}

function quotedUrl(url: string): string {
  return JSON.stringify(url.slice(0, 200));
}
