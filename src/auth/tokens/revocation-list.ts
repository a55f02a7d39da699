import type { KeyObject } from 'node:crypto';
import { decodeCbor, encodeCbor } from '../../codec/cbor.ts';
import { openSign1, signSign1, unverifiedPayload } from '../../codec/cose-sign1.ts';
import { hubIdOf, publicKeyOf } from '../../codec/public-key.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { TrustedIssuers } from './token-chain.ts';
import { MAX_TTL_MS } from './token-claims.ts';

const SPACE = 'access.revocations';
const AAD: Uint8Array = Buffer.from('atmosphere-edge revocation v1', 'utf8');
const CLAIM = { issuer: 1, tokenId: 2, expiresAt: 3 } as const;
const TOKEN_ID_BYTES = 16;
const TOKEN_ID = /^[0-9a-f]{32}$/;
/** Time for which a revocation is stored after the token's expiry: the permitted clock skew and a margin. */
const KEPT_AFTER_END_MS = 300_000;
/** Milliseconds until the next attempt to write what the disk refused. */
const WRITE_AGAIN_MS = 30_000;

/** Largest number of stored revocations by each of the other hubs, so that no hub can fill the disk. */
const MAX_OF_OTHER_HUB = 4_096;

/** The parts of a token that decide which hubs may revoke it. */
interface RevocableToken {
  /** Ids of the token's links, root first. */
  readonly chain: readonly string[];
  /** Raw public keys (base64url) to which the links are bound. */
  readonly keys: readonly string[];
  readonly issuer: string;
}

/** One hub's revocation of one token. `issuer` is the revoking hub, and `expiresAt` is the expiry of the token. */
interface Revocation {
  readonly issuer: string;
  /** Token id in hex. */
  readonly tokenId: string;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

interface RevocationCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'store' | 'time'> {
  readonly hub: { readonly hubId: string; readonly privateKey: KeyObject };
  readonly issuers: TrustedIssuers;
  readonly records: RevokedRecords;
}

/** Port: the records of the tokens that this hub issued. */
export interface RevokedRecords {
  /** Stores in the record of a token that the token is revoked. Does nothing if it says so, or if there is none. Throws STORAGE_FAILED. */
  end(tokenId: string): void;
}

/**
 * The list of revoked tokens. Each entry is a statement (COSE_Sign1) signed by the revoking hub. Hubs exchange statements to merge their
 * lists; the order does not matter. A statement counts only if it was signed by this hub, by the hub that issued the token's root, or by a
 * hub that holds a key of the token's chain.
 */
export class RevocationList implements Service {
  readonly #ports: RevocationCollaborators;
  /** Expiry of each revocation in seconds since 1970, by token id and then by revoking hub. */
  readonly #revoked = new Map<string, Map<string, number>>();
  /** All statements by their key in the store. Neighbours ask for them all the time, so they are not read from the disk for that. */
  readonly #statements = new Map<string, Uint8Array>();
  /** Store keys of revocations that could not be written to the disk yet. */
  readonly #unwritten = new Set<string>();
  readonly #listeners = new Set<(tokenId: string, issuer: string) => void>();
  #cancelWrite: (() => void) | undefined;

  constructor(ports: RevocationCollaborators) {
    this.#ports = ports;
  }

  /** Loads the stored revocations. Rejects with STORAGE_FAILED if they cannot be read. */
  async start(): Promise<void> {
    for (const { key, value } of this.#ports.store.entries(SPACE)) {
      const [tokenId = '', issuer = this.#ports.hub.hubId] = key.split('.');
      const statement = Buffer.from(String(value), 'base64url');
      this.#statements.set(key, statement);
      try {
        this.#note(tokenId, issuer, this.#readKept(statement).expiresAt);
      } catch (error) {
        // The statement is damaged, but the store key has the token's id. The token stays revoked, which is the safer mistake.
        this.#note(tokenId, issuer, Number.MAX_SAFE_INTEGER);
        this.#ports.logger.warn('revocation.unreadable', { token_id: tokenId, problem: toAtmoError(error).message });
      }
    }
    this.#deleteEnded();
    // A crash may have come between a revocation and the record of its token.
    for (const key of this.#statements.keys())
      attemptWrite(
        () => this.#endRecord(key),
        () => this.#planWrite(key),
      );
  }

  /**
   * Revokes a token and its descendants at once and permanently. Returns false if it was already revoked. Throws VALIDATION_ERROR unless
   * the id is 32 hex digits. If the write fails, throws STORAGE_FAILED, but the token stays revoked, and the hub tries again to write.
   */
  revoke(tokenId: string, expiresAtMs: number): boolean {
    if (!TOKEN_ID.test(tokenId)) throw new AtmoError('VALIDATION_ERROR', 'The id of a token is 32 hexadecimal digits in lower case');
    const revocation = { issuer: this.#ports.hub.hubId, tokenId, expiresAt: Math.ceil(expiresAtMs / 1000) };
    if (this.#isWritten(revocation)) return false;
    if (!this.#isKnown(revocation) && !this.#add(revocation, sign(revocation, this.#ports.hub.privateKey))) return false;
    this.#write(this.#keyOf(revocation));
    return true;
  }

  /**
   * Adds a statement of a trusted hub. Returns false if the list already has it, or another one about the same token that lasts longer.
   * Throws VALIDATION_ERROR if the statement is malformed, is not signed by a trusted hub, or names a later expiry than any token can have.
   * Throws RESOURCE_EXCEEDED if the list has the maximum number of statements by that hub. If the disk refuses it, the statement counts all
   * the same, and the hub tries again to write it.
   */
  merge(statement: Uint8Array): boolean {
    // A signature takes long to check, and most statements are known.
    if (!this.#isNews(parse(unverifiedPayload(statement)), statement)) return false;
    const revocation = this.#read(statement);
    if (revocation.issuer !== this.#ports.hub.hubId) this.#requireBounds(revocation);
    if (!this.#add(revocation, statement)) return false;
    attemptWrite(
      () => this.#write(this.#keyOf(revocation)),
      (problem) => this.#ports.logger.warn('revocation.not_written', { token_id: revocation.tokenId, problem }),
    );
    return true;
  }

  statements(): readonly Uint8Array[] {
    return [...this.#statements.values()];
  }

  /** Returns the id of the first revoked link in the token's chain. Revocations by hubs that may not revoke the link are ignored. */
  firstRevoked(token: RevocableToken): string | undefined {
    return token.chain.find((id, index) => {
      const byIssuer = this.#revoked.get(id);
      return byIssuer !== undefined && [...byIssuer.keys()].some((issuer) => this.#mayEnd(issuer, token, index));
    });
  }

  /** Calls `listener` for each new statement, even if its signer may not revoke the token. Returns a function that unsubscribes. */
  onRevoked(listener: (tokenId: string, issuer: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#unwritten.size > 0) this.#writeAgain();
    this.#cancelWrite?.();
    this.#listeners.clear();
  }

  /** Returns whether a hub may revoke a link. It may if it is this hub, issued the root, or holds the key of this or an earlier link. */
  #mayEnd(hubId: string, { issuer, keys }: RevocableToken, index: number): boolean {
    return hubId === this.#ports.hub.hubId || hubId === issuer || keys.slice(0, index + 1).some((key) => hubIdOf(key) === hubId);
  }

  #requireBounds({ tokenId, issuer, expiresAt }: Revocation): void {
    if (this.#ports.time.isTrusted() && expiresAt * 1000 > this.#ports.time.now() + MAX_TTL_MS + KEPT_AFTER_END_MS)
      throw new AtmoError('VALIDATION_ERROR', `The statement of ${issuer} is about a token that would last longer than any token does`);
    const known = this.#revoked.values().reduce((count, byIssuer) => count + (byIssuer.has(issuer) ? 1 : 0), 0);
    if (known < MAX_OF_OTHER_HUB || this.#isKnown({ tokenId, issuer })) return;
    throw new AtmoError('RESOURCE_EXCEEDED', `${issuer} has ended ${known} tokens; no more are remembered until some of them expire`);
  }

  /** Adds a revocation, which still has to be written. Returns false if its token has expired, as far as the clock can be trusted. */
  #add(revocation: Revocation, statement: Uint8Array): boolean {
    const { tokenId, issuer, expiresAt } = revocation;
    const key = this.#keyOf(revocation);
    this.#deleteEnded();
    if (this.#ports.time.isTrusted() && this.#isOver(expiresAt)) return false;
    const isNew = !this.#isKnown(revocation);
    this.#note(tokenId, issuer, expiresAt);
    this.#statements.set(key, Uint8Array.from(statement));
    this.#unwritten.add(key);
    // The listeners are called before the write, so that the revocation takes effect even if the disk is full. They are called once, since
    // one of them has the neighbours send their statements.
    if (isNew) for (const listener of this.#listeners) this.#notify(listener, revocation);
    return true;
  }

  /**
   * Writes a statement, and then the end into the record of the token: before the revocation is stored the record must not say so, since nobody
   * would revoke the token again. Throws STORAGE_FAILED if the disk refuses; the hub tries again later.
   */
  #write(key: string): void {
    const statement = this.#statements.get(key);
    try {
      // No time to live is set: the store measures it by the machine's clock, and a wrong clock could end a revocation too early.
      if (statement) this.#ports.store.set(SPACE, key, Buffer.from(statement).toString('base64url'));
      this.#endRecord(key);
      this.#unwritten.delete(key);
    } catch (error) {
      this.#planWrite(key);
      throw error;
    }
  }

  /** Ends the record of a token that this hub revoked. The keys of statements by other hubs are no ids of tokens. */
  #endRecord(key: string): void {
    if (TOKEN_ID.test(key)) this.#ports.records.end(key);
  }

  #planWrite(key: string): void {
    this.#unwritten.add(key);
    this.#cancelWrite ??= this.#ports.clock.after(WRITE_AGAIN_MS, () => this.#writeAgain());
  }

  #writeAgain(): void {
    this.#cancelWrite = undefined;
    // The first failure was reported, and `#write` plans the next attempt.
    attemptWrite(() => {
      for (const key of this.#unwritten) this.#write(key);
    });
  }

  #note(tokenId: string, issuer: string, expiresAt: number): void {
    const byIssuer = this.#revoked.get(tokenId) ?? new Map<string, number>();
    this.#revoked.set(tokenId, byIssuer.set(issuer, expiresAt));
  }

  /**
   * Returns whether a statement is to be kept. Of two about one token by one hub, all hubs keep the one that lasts longer, or else the one whose
   * bytes are smaller: hubs that kept different ones would send them to each other without end.
   */
  #isNews(revocation: Revocation, statement: Uint8Array): boolean {
    const { tokenId, issuer, expiresAt } = revocation;
    const knownUntil = this.#revoked.get(tokenId)?.get(issuer);
    if (knownUntil === undefined) return true;
    if (expiresAt !== knownUntil) return expiresAt > knownUntil;
    const kept = this.#statements.get(this.#keyOf(revocation));
    return kept === undefined || Buffer.compare(statement, kept) < 0;
  }

  #isKnown({ tokenId, issuer }: Pick<Revocation, 'tokenId' | 'issuer'>): boolean {
    return this.#revoked.get(tokenId)?.has(issuer) ?? false;
  }

  #isWritten(revocation: Pick<Revocation, 'tokenId' | 'issuer'>): boolean {
    return this.#isKnown(revocation) && !this.#unwritten.has(this.#keyOf(revocation));
  }

  #keyOf({ tokenId, issuer }: Pick<Revocation, 'tokenId' | 'issuer'>): string {
    return issuer === this.#ports.hub.hubId ? tokenId : `${tokenId}.${issuer}`;
  }

  /** Calls a listener. An error of the listener does not affect the revocation. */
  #notify(listener: (tokenId: string, issuer: string) => void, { tokenId, issuer }: Revocation): void {
    try {
      listener(tokenId, issuer);
    } catch (error) {
      this.#ports.logger.error('revocation.listener_failed', { token_id: tokenId, problem: String(error) });
    }
  }

  /** Deletes revocations of expired tokens. Does nothing while the clock is not trusted, because a valid token could seem expired. */
  #deleteEnded(): void {
    if (!this.#ports.time.isTrusted()) return;
    for (const [tokenId, byIssuer] of this.#revoked) {
      for (const [issuer, expiresAt] of byIssuer) {
        if (!this.#isOver(expiresAt)) continue;
        const key = this.#keyOf({ tokenId, issuer });
        this.#deleteStored(key);
        this.#statements.delete(key);
        this.#unwritten.delete(key);
        byIssuer.delete(issuer);
      }
      if (byIssuer.size === 0) this.#revoked.delete(tokenId);
    }
  }

  /** Deletes a statement from the store. What the disk refuses to delete is deleted at the next start: it must not delay a revocation. */
  #deleteStored(key: string): void {
    attemptWrite(
      () => void this.#ports.store.delete(SPACE, key),
      (problem) => this.#ports.logger.warn('revocation.not_deleted', { key, problem }),
    );
  }

  #isOver(expiresAt: number): boolean {
    return expiresAt * 1000 + KEPT_AFTER_END_MS <= this.#ports.time.now();
  }

  /** Reads a stored statement. Signatures of other hubs are not checked again, because the keys of these hubs may be unavailable now. */
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
