import { createHmac, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Principal, TokenFacts } from '../../core/access/principal.ts';
import { rawPublicKey } from '../../wire/ed25519-key.ts';
import { originOf } from './agent-origin.ts';
import { unsealed } from './token-text.ts';

const CONTEXT = 'atmosphere-edge token seal v1';
const KEY_BYTES = 32;
const SEAL_BYTES = 16;

/**
 * What a token that is bound to the hub's own key has behind it, a dot between: that the hub gave out this very text. A chain
 * holds the tokens that it comes from, and other hubs see it with every call; without a seal nobody can use what they find.
 */
export class TokenSeal {
  readonly #key: Uint8Array;
  readonly #hubKey: string;

  /** `hubKey`: the hub's private key, from which HKDF (RFC 5869) derives that of the seals. */
  constructor(hubKey: KeyObject) {
    const secret = hubKey.export({ type: 'pkcs8', format: 'der' });
    this.#hubKey = rawPublicKey(hubKey);
    this.#key = new Uint8Array(hkdfSync('sha256', secret, new Uint8Array(0), CONTEXT, KEY_BYTES));
  }

  /** The text as its bearer gets it: the first 16 bytes of HMAC-SHA-256 (RFC 2104) behind it, base64url. */
  seal(text: string): string {
    return `${text}.${this.#sealOf(text)}`;
  }

  /**
   * False for a token that is bound to this hub's key and does not have what proves that its bearer got it. A token that this hub signed
   * needs the hub's seal; a chain that somebody shortened, or that another hub saw, does not have it. A token that another hub signed is
   * refused, since nothing tells its bearer from a thief. A token that an agent signed needs a proof of possession of the agent's key.
   */
  isAsGivenOut(text: string, principal: Principal & { readonly token: TokenFacts }): boolean {
    const { keys } = principal.token;
    if (keys.at(-1) !== this.#hubKey) return true;
    const isRootHere = keys.length === 1 && originOf(principal) === undefined;
    return isRootHere || keys.at(-2) === this.#hubKey ? this.isSealed(text) : keys.length > 1;
  }

  /** True for what `seal` has made. */
  isSealed(text: string): boolean {
    const [given, expected] = [text, this.seal(unsealed(text))].map((each) => Buffer.from(each));
    return given !== undefined && expected !== undefined && given.length === expected.length && timingSafeEqual(given, expected);
  }

  #sealOf(text: string): string {
    return createHmac('sha256', this.#key).update(text, 'utf8').digest().subarray(0, SEAL_BYTES).toString('base64url');
  }
}
