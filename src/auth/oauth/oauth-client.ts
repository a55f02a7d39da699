import { randomBytes } from 'node:crypto';
import {
  CODE_GRANT,
  DEVICE_GRANT,
  OAUTH_GRANT_TYPES,
  type OAuthClientView,
  type OAuthRegistration,
  oauthError,
  REFRESH_GRANT,
} from '../../core/auth/oauth.ts';
import type { Clock, TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, present, textsOf } from '../../core/json.ts';
import { visibleLine } from '../../core/untrusted-text.ts';
import type { ClientDocuments } from './client-documents.ts';
import { HourlyRate } from './hourly-rate.ts';
import { matchesRedirectUri, redirectHost, requireRedirectUri } from './redirect-uri.ts';

const SPACE = 'oauth.clients';
const MAX_NAME_LENGTH = 64;
const MAX_REDIRECT_URIS = 8;
const MAX_CLIENTS = 256;
/** A client that never got a grant is forgotten after a day. */
const UNUSED_MS = 86_400_000;
/** A client that got a grant is known for longer than any grant lasts, unless others need its place after the end of its grants. */
const USED_MS = 400 * 86_400_000;

/** A client: a program that asks persons for access. All clients are public (RFC 6749 §2.1), so none can prove who it is. */
export interface OAuthClient {
  readonly id: string;
  readonly name: string;
  readonly kind: OAuthClientView['kind'];
  readonly redirectUris: readonly string[];
  /** Grant types that the client has declared (RFC 7591 §2); it gets no other. */
  readonly grantTypes: readonly string[];
  readonly registeredAtMs?: number;
}

interface ClientCollaborators {
  readonly store: HubContext['store'];
  readonly time: Pick<TrustedTime, 'now'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly documents: Pick<ClientDocuments<OAuthClient>, 'read'>;
  /** Returns whether a client has access now. */
  readonly hasGrant: (clientId: string) => boolean;
}

/** The clients that were registered (RFC 7591), and those that are named by the URL of their metadata document. */
export class OAuthClients {
  readonly #ports: ClientCollaborators;
  readonly #rate: HourlyRate;

  constructor(ports: ClientCollaborators) {
    this.#ports = ports;
    this.#rate = new HourlyRate(ports.clock, 'Too many clients were registered within an hour; try again later');
  }

  /**
   * Registers a client. The secret-based methods of authentication that it may ask for become `none` (RFC 7591 §3.2.1). Throws
   * `invalid_client_metadata`, `invalid_redirect_uri`, or `temporarily_unavailable` if there are too many registrations.
   */
  register(metadata: JsonObject, source: string): OAuthRegistration {
    const redirectUris = redirectUrisOf(metadata);
    const grantTypes = grantTypesOf(metadata, redirectUris);
    const name = clientName(metadata.client_name, redirectUris[0]);
    this.#rate.take(source);
    this.#makeRoom();
    const [id, nowMs] = [`c-${randomBytes(16).toString('base64url')}`, this.#ports.time.now()];
    this.#ports.store.set(SPACE, id, { name, redirectUris, grantTypes, registeredAtMs: nowMs }, { ttlMs: UNUSED_MS });
    return { clientId: id, name, redirectUris, grantTypes, issuedAtMs: nowMs };
  }

  /** Returns a registered client; undefined for an unknown id, or an id that is a URL. */
  registered(id: string): OAuthClient | undefined {
    return readClient(id, this.#ports.store.get(SPACE, id));
  }

  /**
   * Resolves with the client. Rejects with `invalid_client` if it is unknown, or if its metadata document is missing or wrong, and with
   * `temporarily_unavailable` if `source` has made the hub fetch too many documents.
   */
  async find(id: string, source: string): Promise<OAuthClient> {
    if (!isDocumentUrl(id)) return this.registered(id) ?? unknownClient();
    return this.#ports.documents.read(id, source);
  }

  /** Keeps a registered client for as long as a grant may last. */
  noteUse(id: string): void {
    const value = this.#ports.store.get(SPACE, id);
    if (isJsonObject(value)) this.#ports.store.set(SPACE, id, value, { ttlMs: USED_MS });
  }

  /** Forgets the oldest client without a grant if there are too many. Throws `temporarily_unavailable` if every client has one now. */
  #makeRoom(): void {
    const all = this.#ports.store.entries(SPACE);
    if (all.length < MAX_CLIENTS) return;
    const unused = all.filter(({ key }) => !this.#ports.hasGrant(key));
    const [oldest] = unused.sort((a, b) => registeredAt(a.value) - registeredAt(b.value));
    if (!oldest)
      throw oauthError('temporarily_unavailable', `${MAX_CLIENTS} applications have access; end that of those that nobody needs`);
    this.#ports.store.delete(SPACE, oldest.key);
  }
}

/** Returns the client with this metadata document. Throws `invalid_client` if the document is not one for this hub. */
export function clientOf(url: string, document: JsonObject): OAuthClient {
  if (document.client_id !== url) return unknownClient('its metadata document has another client_id than its address');
  const method = document.token_endpoint_auth_method ?? 'none';
  if (method !== 'none' || document.client_secret !== undefined)
    return unknownClient('it wants to prove who it is in a way that this hub does not know');
  const redirectUris = redirectUrisOf(document);
  const grantTypes = declaredGrantTypes(document);
  return { id: url, name: clientName(document.client_name, url), kind: 'metadata_document', redirectUris, grantTypes };
}

/** Returns whether a client id is the URL of a metadata document: https with a path, and none of what makes two spellings of one address. */
export function isDocumentUrl(id: string): boolean {
  const url = id.startsWith('https://') && id.length <= 512 ? URL.parse(id) : null;
  if (!url || url.pathname === '/' || url.href !== id) return false;
  return url.username === '' && url.password === '' && !id.includes('#') && !id.includes('?');
}

/** Returns a client that asks for an answer at this redirect address, as persons are shown it. */
export function clientView(client: OAuthClient, redirectUri: string): OAuthClientView {
  const ofRedirect = redirectUri.startsWith('https:') ? redirectHost(redirectUri) : undefined;
  return { ...deviceView(client), ...present({ host: client.kind === 'metadata_document' ? new URL(client.id).host : ofRedirect }) };
}

/** Returns a client that asks by the code of a device, as persons are shown it. Anybody can ask so in the name of any client. */
export function deviceView({ name, kind, registeredAtMs }: OAuthClient): OAuthClientView {
  return { name, kind, ...present({ registeredAtMs }) };
}

/** Throws `unauthorized_client` unless the client has declared the grant type. */
export function requireGrantType({ name, grantTypes }: OAuthClient, type: string): void {
  if (grantTypes.includes(type)) return;
  throw oauthError('unauthorized_client', `${name} has not declared that it asks for access in this way (grant_types without ${type})`);
}

/** Throws `invalid_redirect_uri` unless the client has this redirect address. */
export function requireRedirect({ redirectUris }: OAuthClient, uri: string): void {
  if (redirectUris.some((registered) => matchesRedirectUri(uri, registered))) return;
  throw oauthError('invalid_redirect_uri', 'The address to which the answer should go is not one that the application has registered');
}

function redirectUrisOf({ redirect_uris: given }: JsonObject): readonly string[] {
  if (given === undefined) return [];
  const uris = Array.isArray(given) ? given.filter((uri) => typeof uri === 'string') : [];
  if (!Array.isArray(given) || uris.length !== given.length || uris.length > MAX_REDIRECT_URIS) {
    throw oauthError('invalid_redirect_uri', `redirect_uris has to be a list of at most ${MAX_REDIRECT_URIS} URIs`);
  }
  for (const uri of uris) requireRedirectUri(uri);
  return uris;
}

/** Returns the grant types that a client declares; the authorization code if it declares none (RFC 7591 §2). */
function declaredGrantTypes({ grant_types: given }: JsonObject): readonly string[] {
  const wanted = given === undefined ? [CODE_GRANT, REFRESH_GRANT] : textsOf(given);
  return OAUTH_GRANT_TYPES.filter((type) => wanted.includes(type));
}

function grantTypesOf(metadata: JsonObject, redirectUris: readonly string[]): readonly string[] {
  const known = declaredGrantTypes(metadata);
  const { response_types: responses } = metadata;
  if (!known.includes(CODE_GRANT) && !known.includes(DEVICE_GRANT)) {
    throw oauthError('invalid_client_metadata', `grant_types has to hold ${CODE_GRANT} or ${DEVICE_GRANT}`);
  }
  if (responses !== undefined && known.includes(CODE_GRANT) && !textsOf(responses).includes('code')) {
    throw oauthError('invalid_client_metadata', 'response_types has to hold code');
  }
  if (known.includes(CODE_GRANT) && redirectUris.length === 0) throw oauthError('invalid_redirect_uri', 'redirect_uris is missing');
  return known;
}

/** Returns a client's name as one line of visible characters. A client without a name is called by the host of its address. */
function clientName(given: Json | undefined, address: string | undefined): string {
  const name = typeof given === 'string' ? visibleLine(given, MAX_NAME_LENGTH) : '';
  if (name !== '') return name;
  return address === undefined ? 'a device' : redirectHost(address).slice(0, MAX_NAME_LENGTH);
}

function unknownClient(why = 'it is not registered, or was forgotten because it was never used; let it register again'): never {
  throw oauthError('invalid_client', `The client is refused: ${why}`);
}

function registeredAt(value: Json): number {
  return Number(objectOf(value).registeredAtMs ?? 0);
}

function readClient(id: string, value: Json | undefined): OAuthClient | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, redirectUris, grantTypes, registeredAtMs } = value;
  if (typeof name !== 'string' || typeof registeredAtMs !== 'number') return undefined;
  return { id, name, kind: 'registered', redirectUris: textsOf(redirectUris), grantTypes: textsOf(grantTypes), registeredAtMs };
}
