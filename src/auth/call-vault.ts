import { hubIdOf } from '../codec/public-key.ts';
import type { CallVault, VaultContent } from '../core/auth/call-vault.ts';
import type { Principal, TokenAuthority } from '../core/auth/principal.ts';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type JsonObject, present, tryParseJson } from '../core/json.ts';
import type { HubKey } from './hub-key.ts';
import type { OwnerAuthenticator } from './owner-token.ts';

interface VaultParts {
  readonly key: Pick<HubKey, 'encrypt' | 'decrypt'>;
  readonly tokens: Pick<TokenAuthority, 'principalOf'>;
  readonly owner: Pick<OwnerAuthenticator, 'mark' | 'principalOf'>;
  /** Says whether a hub is a member of the mesh now. */
  readonly members: { has(hubId: string): boolean };
}

/**
 * Encrypts waiting calls with a key that is derived from the hub's key. Nothing about the caller's rights is stored: its token is verified
 * again when the call is opened. A call that came from another hub also needs that this hub still is a member. The owner's token is not
 * stored, only a mark that changes with the token.
 */
export class HubCallVault implements CallVault {
  readonly #parts: VaultParts;

  constructor(parts: VaultParts) {
    this.#parts = parts;
  }

  seal(jobId: string, { call, principal }: VaultContent): string {
    return this.#parts.key.encrypt(JSON.stringify({ call, caller: this.#callerOf(principal) }), jobId);
  }

  open(jobId: string, sealed: string): VaultContent {
    const text = this.#parts.key.decrypt(sealed, jobId);
    const content = text === undefined ? undefined : tryParseJson(text);
    if (isJsonObject(content) && isJsonObject(content.call) && isJsonObject(content.caller)) {
      return { call: content.call, principal: this.#principalOf(content.caller) };
    }
    throw new AtmoError('STORAGE_FAILED', `The call of the job ${jobId} cannot be read any more: it was altered, or the hub has a new key`);
  }

  #callerOf({ kind, token, id }: Principal): JsonObject {
    if (token) return present({ token: token.text, sender: this.#senderOf(token.keys) });
    if (kind === 'owner') return { owner: this.#parts.owner.mark() };
    throw new AtmoError('NOT_SUPPORTED', `A call of ${id} cannot wait for approval, because it came without a token`);
  }

  /** Returns the member of the mesh that holds the token's last key, and so sent the call; undefined for other tokens. */
  #senderOf(keys: readonly string[]): string | undefined {
    const last = keys.at(-1);
    const hubId = last === undefined ? undefined : hubIdOf(last);
    return hubId !== undefined && this.#parts.members.has(hubId) ? hubId : undefined;
  }

  #principalOf({ token, owner, sender }: JsonObject): Principal {
    if (typeof sender === 'string' && !this.#parts.members.has(sender)) {
      throw new AtmoError('TOKEN_INVALID', `${sender}, which sent the call, is no member of the mesh any more; nothing was done`);
    }
    if (typeof token === 'string') return this.#parts.tokens.principalOf(token);
    const principal = typeof owner === 'string' ? this.#parts.owner.principalOf(owner) : undefined;
    if (principal) return principal;
    throw new AtmoError('TOKEN_INVALID', "The owner's token was replaced while the call waited; nothing was done, call it again");
  }
}
