import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Invitation, type Person, plainCode } from '../../core/auth/people.ts';
import type { Clock, TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json } from '../../core/json.ts';

const SPACE = 'people.invitations';
const LIFETIME_MS = 10 * 60_000;
const CLOCK_SKEW_MS = 60_000;
const MAX_OPEN = 32;
/** Crockford's base 32: no letter looks like a digit. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 26 characters of five bits are 130 bits. */
const CODE_LENGTH = 26;
const PLAIN_CODE = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** A stored invitation. The store has the SHA-256 of the code, and not the code. */
export interface StoredInvitation {
  readonly person: string;
  /** Id of the sign-in that the invitation makes. It is fixed here, so that an invitation can never make two. */
  readonly signInId: string;
  readonly createdMs: number;
  readonly expiresMs: number;
}

interface InvitationCollaborators extends Pick<HubContext, 'store'> {
  readonly time: Pick<TrustedTime, 'now'>;
}

/** Stores the invitations that can still be accepted. */
export class Invitations {
  readonly #ports: InvitationCollaborators;

  constructor(ports: InvitationCollaborators) {
    this.#ports = ports;
  }

  /** Makes an invitation and ends the earlier ones of the same person. Throws CONFLICT if too many are open. */
  make(person: Person): Invitation {
    this.end(person.name);
    if (this.#entries().length >= MAX_OPEN) {
      throw new AtmoError('CONFLICT', `${MAX_OPEN} invitations are open already; wait until one of them has expired`);
    }
    const code = randomCode();
    const createdMs = this.#ports.time.now();
    const expiresMs = createdMs + LIFETIME_MS;
    const stored = { person: person.name, signInId: randomBytes(16).toString('hex'), createdMs, expiresMs };
    this.#ports.store.set(SPACE, digestOf(code), stored, { ttlMs: LIFETIME_MS });
    return { person, code: inGroups(code), expiresAtMs: expiresMs };
  }

  /** Returns the invitation with this code; undefined if there is none, or if it has expired. */
  find(code: string): StoredInvitation | undefined {
    const plain = plainCode(code);
    const found = PLAIN_CODE.test(plain) ? readInvitation(this.#ports.store.get(SPACE, digestOf(plain))) : undefined;
    const nowMs = this.#ports.time.now();
    // If the clock was set back, nobody knows how old the invitation is.
    return found && nowMs < found.expiresMs && nowMs >= found.createdMs - CLOCK_SKEW_MS ? found : undefined;
  }

  /** Ends the invitations of a person. */
  end(person: string): void {
    for (const { key, value } of this.#entries()) if (readInvitation(value)?.person === person) this.#ports.store.delete(SPACE, key);
  }

  #entries() {
    return this.#ports.store.entries(SPACE);
  }
}

function randomCode(): string {
  return Array.from(randomBytes(CODE_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

function inGroups(code: string): string {
  return code.match(/.{1,5}/g)?.join('-') ?? code;
}

function digestOf(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}

function readInvitation(value: Json | undefined): StoredInvitation | undefined {
  if (!isJsonObject(value)) return undefined;
  const { person, signInId, createdMs, expiresMs } = value;
  const isWhole =
    typeof person === 'string' && typeof signInId === 'string' && typeof createdMs === 'number' && typeof expiresMs === 'number';
  return isWhole ? { person, signInId, createdMs, expiresMs } : undefined;
}

const CHALLENGE_MS = 60_000;
const MAX_USED = 4_096;
const CHALLENGE = /^([0-9a-z]{1,12})\.([0-9a-f]{32})\.([A-Za-z0-9_-]{43})$/;

/**
 * Makes challenges that serve one request within a minute. Challenges are authenticated with a key of this process and not stored, so that
 * asking for many costs nothing. No challenge outlives the process, and so no used one has to.
 */
export class Challenges {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #key = randomBytes(32);
  /** Nonces of used challenges with the end of their time. */
  readonly #used = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  make(): string {
    const head = `${Math.ceil(this.#clock.monotonic() + CHALLENGE_MS).toString(36)}.${randomBytes(16).toString('hex')}`;
    return `${head}.${this.#mac(head).toString('base64url')}`;
  }

  /** Uses a challenge up. Throws TOKEN_INVALID if it is not one of this process, too old or used; RATE_LIMITED if too many were used. */
  use(challenge: string): void {
    const [, end = '', nonce = '', mac = ''] = CHALLENGE.exec(challenge) ?? [];
    const given = Buffer.from(mac, 'base64url');
    const expected = this.#mac(`${end}.${nonce}`);
    const nowMs = this.#clock.monotonic();
    const endMs = Number.parseInt(end, 36);
    const isOwn = given.length === expected.length && timingSafeEqual(given, expected);
    if (!isOwn || endMs <= nowMs || this.#used.has(nonce)) {
      throw new AtmoError(
        'TOKEN_INVALID',
        'The challenge is not one that this hub made within the last minute and for one use; ask for a new one',
      );
    }
    this.#deleteOld(nowMs);
    if (this.#used.size >= MAX_USED) throw new AtmoError('RATE_LIMITED', 'Too many sign-ins within a minute; try again later');
    this.#used.set(nonce, endMs);
  }

  #mac(head: string): Buffer {
    return createHmac('sha256', this.#key).update(head).digest();
  }

  #deleteOld(nowMs: number): void {
    for (const [nonce, endMs] of this.#used) if (endMs <= nowMs) this.#used.delete(nonce);
  }
}
