import { randomBytes } from 'node:crypto';
import type { OAuthClientView, RequestedAccess } from '../../core/auth/oauth.ts';
import type { TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, present, textsOf } from '../../core/json.ts';
import type { ProtectedResource } from './authorization-request.ts';
import { readRequestedAccess } from './requested-access.ts';

const SPACE = 'oauth.requests';
const LIFETIME_MS = 600_000;
const MAX_OF_PERSON = 16;
const MAX_REQUESTS = 256;

/** Where the answer to a consent goes: to the redirect address of a browser, or to a device that polls. */
export type ConsentTarget =
  | { readonly kind: 'redirect'; readonly redirectUri: string; readonly challenge: string; readonly state?: string }
  | { readonly kind: 'device'; readonly deviceKey: string };

/** A request of a client that a person has opened. */
export interface PendingRequest {
  readonly id: string;
  readonly person: string;
  readonly clientId: string;
  readonly client: OAuthClientView;
  readonly issuer: string;
  readonly resource: ProtectedResource;
  readonly requested: RequestedAccess;
  readonly target: ConsentTarget;
  readonly expiresAtMs: number;
}

interface RequestParts extends Pick<HubContext, 'store'> {
  readonly time: Pick<TrustedTime, 'now'>;
}

/** Stores the requests that wait for a consent, for ten minutes each. A request belongs to the person who opened it. */
export class ConsentRequests {
  readonly #parts: RequestParts;

  constructor(parts: RequestParts) {
    this.#parts = parts;
  }

  /** Stores a request. If the person has too many, the oldest of them is dropped. Throws CONFLICT if the hub has too many. */
  open(request: Omit<PendingRequest, 'id' | 'expiresAtMs'>): PendingRequest {
    const all = this.#all();
    const own = all.filter(({ person }) => person === request.person).sort((a, b) => a.expiresAtMs - b.expiresAtMs);
    const [oldest] = own;
    if (own.length >= MAX_OF_PERSON && oldest) this.#parts.store.delete(SPACE, oldest.id);
    else if (all.length >= MAX_REQUESTS)
      throw new AtmoError('CONFLICT', 'Too many applications ask for access at once; try again in ten minutes');
    const pending = { ...request, id: randomBytes(16).toString('hex'), expiresAtMs: this.#parts.time.now() + LIFETIME_MS };
    this.#parts.store.set(SPACE, pending.id, requestJson(pending), { ttlMs: LIFETIME_MS });
    return pending;
  }

  /** Returns the person's request. Throws NOT_FOUND if there is none, or if it belongs to another person. */
  require(id: string, person: string): PendingRequest {
    const found = readRequest(id, this.#parts.store.get(SPACE, id));
    if (found?.person === person && found.expiresAtMs > this.#parts.time.now()) return found;
    throw new AtmoError('NOT_FOUND', 'This request for access has ended; begin again in the application');
  }

  /** Deletes a request that was answered. Returns false if another answer came first. */
  close(id: string): boolean {
    return this.#parts.store.delete(SPACE, id);
  }

  #all(): readonly PendingRequest[] {
    return this.#parts.store.entries(SPACE).flatMap(({ key, value }) => readRequest(key, value) ?? []);
  }
}

function requestJson({ id: _, client, resource, requested, target, ...rest }: PendingRequest): JsonObject {
  const { name, kind, host, registeredAtMs } = client;
  return {
    ...rest,
    client: { name, kind, ...present({ host, registeredAtMs }) },
    resource: { address: resource.address, paths: resource.paths },
    requested: { ...requested },
    target: { ...target },
  };
}

function readRequest(id: string, value: Json | undefined): PendingRequest | undefined {
  if (!isJsonObject(value)) return undefined;
  const { person, clientId, issuer, expiresAtMs } = value;
  const target = readTarget(objectOf(value.target));
  const resource = objectOf(value.resource);
  if (typeof person !== 'string' || typeof clientId !== 'string' || typeof issuer !== 'string' || !target) return undefined;
  if (typeof expiresAtMs !== 'number' || typeof resource.address !== 'string') return undefined;
  const client = readClientView(objectOf(value.client));
  return {
    id,
    person,
    clientId,
    client,
    issuer,
    resource: { address: resource.address, paths: textsOf(resource.paths) },
    requested: readRequestedAccess(objectOf(value.requested)),
    target,
    expiresAtMs,
  };
}

function readClientView({ name, kind, host, registeredAtMs }: JsonObject): OAuthClientView {
  return {
    name: String(name),
    kind: kind === 'metadata_document' ? 'metadata_document' : 'registered',
    ...(typeof host === 'string' && { host }),
    ...(typeof registeredAtMs === 'number' && { registeredAtMs }),
  };
}

function readTarget({ kind, redirectUri, challenge, state, deviceKey }: JsonObject): ConsentTarget | undefined {
  if (kind === 'device') return typeof deviceKey === 'string' ? { kind, deviceKey } : undefined;
  if (kind !== 'redirect' || typeof redirectUri !== 'string' || typeof challenge !== 'string') return undefined;
  return { kind, redirectUri, challenge, ...(typeof state === 'string' && { state }) };
}
