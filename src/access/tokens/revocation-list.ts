import type { KeyObject } from 'node:crypto';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { KeyValueStore } from '../../core/key-value-store.ts';
import type { Logger } from '../../core/logger.ts';
import type { Service } from '../../core/service.ts';
import type { TrustedTime } from '../../core/trusted-time.ts';
import { decodeCbor, encodeCbor } from '../../wire/cbor.ts';
import { signSign1, verifySign1 } from '../../wire/cose-sign1.ts';
import { publicKeyOf } from '../keys/ed25519-key.ts';
import type { TrustedIssuers } from './token-verifier.ts';

const SPACE = 'access.revocations';
const AAD: Uint8Array = Buffer.from('atmosphere-edge revocation v1', 'utf8');
const CLAIM = { issuer: 1, tokenId: 2, expiresAt: 3 } as const;
const TOKEN_ID_BYTES = 16;
const TOKEN_ID = /^[0-9a-f]{32}$/;
/** A token is believed this long after its end (clock skew), and so is what ended it earlier; the rest is margin. */
const KEPT_AFTER_END_MS = 300_000;

/** That a token is to be believed no more, until the moment at which it would have ended by itself. */
interface Revocation {
  readonly issuer: string;
  /** Hex. */
  readonly tokenId: string;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

interface RevocationCollaborators {
  readonly hub: { readonly hubId: string; readonly privateKey: KeyObject };
  readonly issuers: TrustedIssuers;
  readonly store: KeyValueStore;
  readonly time: TrustedTime;
  readonly logger: Logger;
}

/**
 * The tokens that were ended before their time. Each entry is a statement (COSE_Sign1) that the hub signed who said so:
 * lists merge by taking each other's statements, in any order, any number of times.
 */
export class RevocationList implements Service {
  readonly #hub: RevocationCollaborators['hub'];
  readonly #issuers: TrustedIssuers;
  readonly #store: KeyValueStore;
  readonly #time: TrustedTime;
  readonly #logger: Logger;
  /** Seconds since 1970 until which each revoked token has to be remembered. */
  readonly #revoked = new Map<string, number>();
  /** Those of them that the disk did not take. */
  readonly #unwritten = new Set<string>();
  readonly #listeners = new Set<(tokenId: string) => void>();

  constructor({ hub, issuers, store, time, logger }: RevocationCollaborators) {
    this.#hub = hub;
    this.#issuers = issuers;
    this.#store = store;
    this.#time = time;
    this.#logger = logger;
  }

  /** Takes up what was revoked before the restart. STORAGE_FAILED. */
  async start(): Promise<void> {
    for (const { key, value } of this.#store.entries(SPACE)) {
      try {
        this.#revoked.set(key, this.#read(Buffer.from(String(value), 'base64url')).expiresAt);
      } catch (error) {
        // A damaged statement still says which token it was about; to believe that token again would be the worse mistake.
        this.#revoked.set(key, Number.MAX_SAFE_INTEGER);
        this.#logger.warn('revocation.unreadable', { token_id: key, problem: toAtmoError(error).message });
      }
    }
    this.#forgetEnded();
  }

  /**
   * Ends a token (id: 32 hex digits) and all that come from it, at once and for good; false when it had ended already.
   * VALIDATION_ERROR for an id of another form; STORAGE_FAILED, and then it has ended only until the hub stops: say it again.
   */
  revoke(tokenId: string, expiresAtMs: number): boolean {
    if (!TOKEN_ID.test(tokenId)) throw new AtmoError('VALIDATION_ERROR', 'The id of a token is 32 hexadecimal digits in lower case');
    if (this.#isWritten(tokenId)) return false;
    const revocation = { issuer: this.#hub.hubId, tokenId, expiresAt: Math.ceil(expiresAtMs / 1000) };
    return this.#add(revocation, sign(revocation, this.#hub.privateKey));
  }

  /** Takes a statement of a trusted hub; false when it says nothing new. VALIDATION_ERROR when it is malformed or not signed by one. */
  merge(statement: Uint8Array): boolean {
    const revocation = this.#read(statement);
    return !this.#isWritten(revocation.tokenId) && this.#add(revocation, statement);
  }

  /** What other hubs have to know: the statements that are still needed. */
  statements(): readonly Uint8Array[] {
    return this.#store.entries(SPACE).map(({ value }) => Buffer.from(String(value), 'base64url'));
  }

  /** The first of these token ids that was revoked. */
  firstRevoked(tokenIds: readonly string[]): string | undefined {
    return tokenIds.find((id) => this.#revoked.has(id));
  }

  /** Hears the id of each token that is revoked from now on; the answer stops it. */
  onRevoked(listener: (tokenId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
  }

  #add({ tokenId, expiresAt }: Revocation, statement: Uint8Array): boolean {
    this.#forgetEnded();
    if (this.#isOver(expiresAt)) return false;
    this.#revoked.set(tokenId, expiresAt);
    this.#unwritten.add(tokenId);
    // A full disk lets nobody go on.
    for (const listener of this.#listeners) this.#tell(listener, tokenId);
    // Without a time to live: the store counts it by the machine's clock, which on some boards begins in 1970 and then jumps.
    this.#store.set(SPACE, tokenId, Buffer.from(statement).toString('base64url'));
    this.#unwritten.delete(tokenId);
    return true;
  }

  #isWritten(tokenId: string): boolean {
    return this.#revoked.has(tokenId) && !this.#unwritten.has(tokenId);
  }

  /** The token has ended whatever a listener makes of it. */
  #tell(listener: (tokenId: string) => void, tokenId: string): void {
    try {
      listener(tokenId);
    } catch (error) {
      this.#logger.error('revocation.listener_failed', { token_id: tokenId, problem: String(error) });
    }
  }

  /** A clock that is not trusted could call a token ended that is believed again once the clock is right. */
  #forgetEnded(): void {
    if (!this.#time.isTrusted()) return;
    for (const [tokenId, expiresAt] of this.#revoked) {
      if (!this.#isOver(expiresAt)) continue;
      this.#store.delete(SPACE, tokenId);
      this.#revoked.delete(tokenId);
    }
  }

  #isOver(expiresAt: number): boolean {
    return expiresAt * 1000 + KEPT_AFTER_END_MS <= this.#time.now();
  }

  #read(statement: Uint8Array): Revocation {
    const payload = verifySign1(statement, {
      externalAad: AAD,
      keyOf: (signed) => {
        const raw = this.#issuers.get(parse(signed).issuer);
        return raw === undefined ? undefined : publicKeyOf(raw);
      },
    });
    return parse(payload);
  }
}

function sign({ issuer, tokenId, expiresAt }: Revocation, key: KeyObject): Uint8Array {
  const content = new Map<number, string | number | Uint8Array>([
    [CLAIM.issuer, issuer],
    [CLAIM.tokenId, Uint8Array.from(Buffer.from(tokenId, 'hex'))],
    [CLAIM.expiresAt, expiresAt],
  ]);
  return signSign1({ payload: encodeCbor(content), key, externalAad: AAD });
}

function parse(payload: Uint8Array): Revocation {
  const content = decodeCbor(payload, { maxDepth: 1, maxItems: 7 });
  if (!(content instanceof Map) || content.size !== 3) return refuse();
  const [issuer, tokenId, expiresAt] = [CLAIM.issuer, CLAIM.tokenId, CLAIM.expiresAt].map((claim): unknown => content.get(claim));
  if (typeof issuer !== 'string' || typeof expiresAt !== 'number' || expiresAt < 0) return refuse();
  if (!(tokenId instanceof Uint8Array) || tokenId.length !== TOKEN_ID_BYTES) return refuse();
  return { issuer, tokenId: Buffer.from(tokenId).toString('hex'), expiresAt };
}

function refuse(): never {
  throw new AtmoError('VALIDATION_ERROR', 'The statement does not say which hub revokes which token until when');
}
