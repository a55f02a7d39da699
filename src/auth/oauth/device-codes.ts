import { randomBytes, randomInt } from 'node:crypto';
import { type OAuthDeviceCodes, oauthError, type RequestedAccess } from '../../core/auth/oauth.ts';
import { TOKEN_SKEW_MS } from '../../core/auth/principal.ts';
import type { Clock, TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, textsOf } from '../../core/json.ts';
import type { ProtectedResource } from './authorization-request.ts';
import { type CodeOutcome, draftJson, type GrantDraft, newGrantId, readDraft, secretDigest } from './grant-store.ts';
import { readRequestedAccess } from './requested-access.ts';

const SPACE = 'oauth.devices';
const LIFETIME_MS = 600_000;
const INTERVAL_SECONDS = 5;
/** Seconds by which the interval grows with each poll that came too early (RFC 8628 §3.5). */
const SLOW_DOWN_SECONDS = 5;
/** Milliseconds by which a poll may come early: requests that were sent in time do not all take as long. */
const JITTER_MS = 1_000;
/** Consonants without Y, so that no words and no digits come up (RFC 8628 §6.1). Eight of them are 34 bits. */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LENGTH = 8;
const USER_CODE = new RegExp(`^[${ALPHABET}]{${CODE_LENGTH}}$`);
const MAX_CODES = 64;
const MAX_OF_SOURCE = 8;

/** A device that waits for the consent of a person. */
export interface WaitingDevice {
  /** Digest of the device code. */
  readonly key: string;
  readonly clientId: string;
  readonly issuer: string;
  readonly resource: ProtectedResource;
  readonly requested: RequestedAccess;
}

interface StoredDevice extends WaitingDevice {
  readonly userCode: string;
  readonly source: string;
  readonly expiresAtMs: number;
  readonly grantId: string;
  readonly state: 'waiting' | 'allowed' | 'denied' | 'used';
  readonly draft?: GrantDraft;
}

interface DeviceParts extends Pick<HubContext, 'store'> {
  readonly time: Pick<TrustedTime, 'now'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Stores the codes of devices that have no browser (RFC 8628), by their digests. */
export class DeviceCodes {
  readonly #parts: DeviceParts;
  /** Last poll (monotonic milliseconds) and interval of each device. */
  readonly #polls = new Map<string, { readonly atMs: number; readonly intervalSeconds: number }>();

  constructor(parts: DeviceParts) {
    this.#parts = parts;
  }

  /** Makes the codes for a device. Throws `temporarily_unavailable` if too many devices wait, of this source or of all. */
  make(device: Omit<WaitingDevice, 'key'>, source: string): OAuthDeviceCodes {
    const waiting = this.#all().filter((device) => device.state === 'waiting' && this.#isLive(device));
    if (waiting.length >= MAX_CODES || waiting.filter((one) => one.source === source).length >= MAX_OF_SOURCE) {
      throw oauthError('temporarily_unavailable', 'Too many devices wait for a person; try again in ten minutes', {
        retry_after_ms: LIFETIME_MS,
      });
    }
    const deviceCode = randomBytes(32).toString('base64url');
    const letters = Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    const expiresAtMs = this.#parts.time.now() + LIFETIME_MS;
    const key = secretDigest(deviceCode);
    this.#save({ ...device, key, userCode: secretDigest(letters), source, expiresAtMs, grantId: newGrantId(), state: 'waiting' });
    const userCode = `${letters.slice(0, CODE_LENGTH / 2)}-${letters.slice(CODE_LENGTH / 2)}`;
    return { deviceCode, userCode, expiresInSeconds: LIFETIME_MS / 1000, intervalSeconds: INTERVAL_SECONDS };
  }

  /** Returns the device that waits with this user code; undefined if none does. */
  find(userCode: string): WaitingDevice | undefined {
    const plain = userCode.toUpperCase().replace(/[\s-]/g, '');
    if (!USER_CODE.test(plain)) return undefined;
    const digest = secretDigest(plain);
    return this.#all().find((device) => device.userCode === digest && device.state === 'waiting' && this.#isLive(device));
  }

  /** Notes the person's answer. Returns false if the device does not wait any more. */
  answer(key: string, draft: GrantDraft | 'denied'): boolean {
    const device = this.#get(key);
    if (device?.state !== 'waiting' || !this.#isLive(device)) return false;
    this.#save(draft === 'denied' ? { ...device, state: 'denied' } : { ...device, state: 'allowed', draft });
    return true;
  }

  /**
   * Returns the grant that a device may begin. Throws `authorization_pending` or `slow_down` while no person has answered, `access_denied`,
   * `expired_token`, or `invalid_grant` for an unknown code and for another client or issuer.
   */
  poll(deviceCode: string, { clientId, issuer }: { readonly clientId: string; readonly issuer: string }): CodeOutcome {
    const device = this.#get(secretDigest(deviceCode));
    if (!device || device.clientId !== clientId || device.issuer !== issuer)
      throw oauthError('invalid_grant', 'The device code is not known');
    if (device.state === 'used') return { kind: 'reused', grantId: device.grantId };
    if (!this.#isLive(device)) throw oauthError('expired_token', 'The device code has expired; begin again');
    if (device.state === 'denied') throw oauthError('access_denied', 'The person refused');
    this.#requirePace(device.key);
    if (device.state !== 'allowed' || !device.draft) throw oauthError('authorization_pending', 'No person has answered yet');
    this.#save({ ...device, state: 'used' });
    this.#polls.delete(device.key);
    return { kind: 'accepted', grantId: device.grantId, draft: device.draft };
  }

  #requirePace(key: string): void {
    const atMs = this.#parts.clock.monotonic();
    const last = this.#polls.get(key);
    const isEarly = last !== undefined && atMs - last.atMs < last.intervalSeconds * 1000 - JITTER_MS;
    const intervalSeconds = (last?.intervalSeconds ?? INTERVAL_SECONDS) + (isEarly ? SLOW_DOWN_SECONDS : 0);
    this.#polls.delete(key);
    this.#polls.set(key, { atMs, intervalSeconds });
    const [oldest] = this.#polls.keys();
    if (this.#polls.size > 2 * MAX_CODES && oldest !== undefined) this.#polls.delete(oldest);
    if (isEarly) throw oauthError('slow_down', `Poll every ${intervalSeconds} seconds`);
  }

  #isLive({ expiresAtMs }: StoredDevice): boolean {
    const leftMs = expiresAtMs - this.#parts.time.now();
    return leftMs > 0 && leftMs <= LIFETIME_MS + TOKEN_SKEW_MS;
  }

  #get(key: string): StoredDevice | undefined {
    return readDevice(key, this.#parts.store.get(SPACE, key));
  }

  #all(): readonly StoredDevice[] {
    return this.#parts.store.entries(SPACE).flatMap(({ key, value }) => readDevice(key, value) ?? []);
  }

  /** Stores a device. It is kept for as long again, so that an expired or used code is known as such. */
  #save({ key, resource, requested, draft, ...device }: StoredDevice): void {
    const record: JsonObject = {
      ...device,
      resource: { address: resource.address, paths: resource.paths },
      requested: { ...requested },
      ...(draft && { draft: draftJson(draft) }),
    };
    this.#parts.store.set(SPACE, key, record, { ttlMs: 2 * LIFETIME_MS });
  }
}

function readDevice(key: string, value: Json | undefined): StoredDevice | undefined {
  if (!isJsonObject(value)) return undefined;
  const { clientId, issuer, userCode, source, expiresAtMs, grantId } = value;
  const state = (['waiting', 'allowed', 'denied', 'used'] as const).find((known) => known === value.state);
  const { address, paths } = objectOf(value.resource);
  const texts = [clientId, issuer, userCode, source, grantId, address];
  if (!texts.every((text) => typeof text === 'string') || typeof expiresAtMs !== 'number' || !state) return undefined;
  const draft = readDraft(value.draft);
  return {
    key,
    clientId: String(clientId),
    issuer: String(issuer),
    userCode: String(userCode),
    source: String(source),
    grantId: String(grantId),
    resource: { address: String(address), paths: textsOf(paths) },
    requested: readRequestedAccess(objectOf(value.requested)),
    expiresAtMs,
    state,
    ...(draft && { draft }),
  };
}
