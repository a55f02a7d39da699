import type { KeyObject } from 'node:crypto';
import { decodeCbor, encodeCbor } from '../../codec/cbor.ts';
import { openSign1, signSign1, unverifiedPayload } from '../../codec/cose-sign1.ts';
import { hubIdOf, publicKeyOf } from '../../codec/public-key.ts';
import type { TrustedTime } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { TrustedIssuers } from './token-chain.ts';
import { MAX_TTL_MS } from './token-claims.ts';

const SPACE = 'access.revocations';
const AAD: Uint8Array = Buffer.from('atmosphere-edge revocation v1', 'utf8');
const CLAIM = { issuer: 1, tokenId: 2, expiresAt: 3 } as const;
const TOKEN_ID_BYTES = 16;
const TOKEN_ID = /^[0-9a-f]{32}$/;
/** A token is believed this long after its end (clock skew), and so is what ended it earlier; the rest is margin. */
const KEPT_AFTER_END_MS = 300_000;

/** Of one other hub: what it says must not fill the disk. */
const MAX_OF_OTHER_HUB = 4_096;

/** What decides who may end a token. */
interface RevocableToken {
  /** Ids of its links, root first. */
  readonly chain: readonly string[];
  /** Raw keys (base64url) that the links are bound to. */
  readonly keys: readonly string[];
  /** The hub that issued the root. */
  readonly issuer: string;
}

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
 * lists merge by taking each other's statements, in any order, any number of times. A statement counts only from the hub
 * that issued the token's root, from one that holds a key of its chain, or from this one: no other can end somebody's token.
 */
export class RevocationList implements Service {
  readonly #ports: RevocationCollaborators;
  /** By token id, who said so, and the second since 1970 until which it has to be remembered. */
  readonly #revoked = new Map<string, Map<string, number>>();
  /** Keys of the entries that the disk did not take. */
  readonly #unwritten = new Set<string>();
  readonly #listeners = new Set<(tokenId: string, issuer: string) => void>();

  constructor(ports: RevocationCollaborators) {
    this.#ports = ports;
  }

  /** Takes up what was revoked before the restart. STORAGE_FAILED. */
  async start(): Promise<void> {
    for (const { key, value } of this.#ports.store.entries(SPACE)) {
      const [tokenId = '', issuer = this.#ports.hub.hubId] = key.split('.');
      try {
        this.#note(tokenId, issuer, this.#readKept(Buffer.from(String(value), 'base64url')).expiresAt);
      } catch (error) {
        // A damaged statement still says which token it was about; to believe that token again would be the worse mistake.
        this.#note(tokenId, issuer, Number.MAX_SAFE_INTEGER);
        this.#ports.logger.warn('revocation.unreadable', { token_id: tokenId, problem: toAtmoError(error).message });
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
    const revocation = { issuer: this.#ports.hub.hubId, tokenId, expiresAt: Math.ceil(expiresAtMs / 1000) };
    return !this.#isWritten(revocation) && this.#add(revocation, sign(revocation, this.#ports.hub.privateKey));
  }

  /**
   * Takes a statement of a trusted hub; false when it says nothing new. VALIDATION_ERROR when it is malformed, not signed by
   * one, or about longer than a token can last; RESOURCE_EXCEEDED when the hub has ended more tokens than are remembered.
   */
  merge(statement: Uint8Array): boolean {
    const revocation = this.#read(statement);
    if (this.#isWritten(revocation)) return false;
    if (revocation.issuer !== this.#ports.hub.hubId) this.#requireBounds(revocation);
    return this.#add(revocation, statement);
  }

  /** What other hubs have to know: the statements that are still needed. */
  statements(): readonly Uint8Array[] {
    return this.#ports.store.entries(SPACE).map(({ value }) => Buffer.from(String(value), 'base64url'));
  }

  /** The first link of the token's chain that was revoked by somebody who may, by its id. */
  firstRevoked(token: RevocableToken): string | undefined {
    return token.chain.find((id, index) => {
      const said = this.#revoked.get(id);
      return said !== undefined && [...said.keys()].some((issuer) => this.#mayEnd(issuer, token, index));
    });
  }

  /** Hears each statement from now on: the token and the hub that said so, whether or not it may. The answer stops it. */
  onRevoked(listener: (tokenId: string, issuer: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
  }

  /** Whoever holds the key of a link made what comes after it, and may give it up itself. */
  #mayEnd(hubId: string, { issuer, keys }: RevocableToken, index: number): boolean {
    return hubId === this.#ports.hub.hubId || hubId === issuer || keys.slice(0, index + 1).some((key) => hubIdOf(key) === hubId);
  }

  #requireBounds({ issuer, expiresAt }: Revocation): void {
    if (this.#ports.time.isTrusted() && expiresAt * 1000 > this.#ports.time.now() + MAX_TTL_MS + KEPT_AFTER_END_MS)
      throw new AtmoError('VALIDATION_ERROR', `The statement of ${issuer} is about a token that would last longer than any token does`);
    const known = this.#revoked.values().reduce((count, said) => count + (said.has(issuer) ? 1 : 0), 0);
    if (known < MAX_OF_OTHER_HUB) return;
    throw new AtmoError('RESOURCE_EXCEEDED', `${issuer} has ended ${known} tokens; no more are remembered until some of them expire`);
  }

  #add(revocation: Revocation, statement: Uint8Array): boolean {
    const { tokenId, issuer, expiresAt } = revocation;
    const key = this.#keyOf(revocation);
    this.#forgetEnded();
    if (this.#isOver(expiresAt)) return false;
    this.#note(tokenId, issuer, expiresAt);
    this.#unwritten.add(key);
    // A full disk lets nobody go on.
    for (const listener of this.#listeners) this.#tell(listener, revocation);
    // Without a time to live: the store counts it by the machine's clock, which on some boards begins in 1970 and then jumps.
    this.#ports.store.set(SPACE, key, Buffer.from(statement).toString('base64url'));
    this.#unwritten.delete(key);
    return true;
  }

  #note(tokenId: string, issuer: string, expiresAt: number): void {
    const said = this.#revoked.get(tokenId) ?? new Map<string, number>();
    this.#revoked.set(tokenId, said.set(issuer, expiresAt));
  }

  #isWritten(revocation: Revocation): boolean {
    const isKnown = this.#revoked.get(revocation.tokenId)?.has(revocation.issuer) ?? false;
    return isKnown && !this.#unwritten.has(this.#keyOf(revocation));
  }

  #keyOf({ tokenId, issuer }: Pick<Revocation, 'tokenId' | 'issuer'>): string {
    return issuer === this.#ports.hub.hubId ? tokenId : `${tokenId}.${issuer}`;
  }

  /** The token has ended whatever a listener makes of it. */
  #tell(listener: (tokenId: string, issuer: string) => void, { tokenId, issuer }: Revocation): void {
    try {
      listener(tokenId, issuer);
    } catch (error) {
      this.#ports.logger.error('revocation.listener_failed', { token_id: tokenId, problem: String(error) });
    }
  }

  /** A clock that is not trusted could call a token ended that is believed again once the clock is right. */
  #forgetEnded(): void {
    if (!this.#ports.time.isTrusted()) return;
    for (const [tokenId, said] of this.#revoked) {
      for (const [issuer, expiresAt] of said) {
        if (!this.#isOver(expiresAt)) continue;
        this.#ports.store.delete(SPACE, this.#keyOf({ tokenId, issuer }));
        said.delete(issuer);
      }
      if (said.size === 0) this.#revoked.delete(tokenId);
    }
  }

  #isOver(expiresAt: number): boolean {
    return expiresAt * 1000 + KEPT_AFTER_END_MS <= this.#ports.time.now();
  }

  /** One of another hub was verified when it was taken; that hub may be trusted no more, or not be known yet. */
  #readKept(statement: Uint8Array): Revocation {
    const content = parse(unverifiedPayload(statement));
    return content.issuer === this.#ports.hub.hubId ? this.#read(statement) : content;
  }

  #read(statement: Uint8Array): Revocation {
    const keyOf = ({ issuer }: Revocation): KeyObject | undefined => {
      const raw = this.#ports.issuers.get(issuer);
      return raw === undefined ? undefined : publicKeyOf(raw);
    };
    return openSign1(statement, { read: parse, keyOf, externalAad: AAD });
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
