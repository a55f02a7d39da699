import {
  createCipheriv,
  createDecipheriv,
  createECDH,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { join } from 'node:path';
import { canonicalJson } from '../codec/canonical-json.ts';
import { hubIdOf, rawPublicKey } from '../codec/public-key.ts';
import { AtmoError } from '../core/errors.ts';
import type { OnRepaired } from '../core/files/recoverable-file.ts';
import type { HubId } from '../core/ids.ts';
import type { Json } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import { openKeyFile } from './secret-file.ts';

/** File name of the hub's private key in the state directory. */
const HUB_KEY_FILE = 'hub.key';
const SEAL_CONTEXT = 'atmosphere-edge secret seal v1';
const PUSH_CONTEXT = 'atmosphere-edge web push v1';
const ENCRYPTION_CONTEXT = 'atmosphere-edge state encryption v1';
const DERIVED_BYTES = 32;
/** AES-256 in Galois/Counter Mode (NIST SP 800-38D), with a random nonce of 96 bits and a tag of 128 bits. */
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

interface OpenHubKey {
  readonly privateKey: KeyObject;
  readonly hubId: HubId;
  readonly publicKey: string;
  readonly sealKey: KeyObject;
  readonly encryptionKey: Uint8Array;
}

/** The hub's only Ed25519 key, in `hub.key` (mode 0600). The hub's id is derived from it, and it signs the hub's tokens. */
export class HubKey implements Service {
  readonly #path: string;
  readonly #onRepaired: OnRepaired;
  #open: OpenHubKey | undefined;

  constructor(stateDirectory: string, onRepaired: OnRepaired) {
    this.#path = join(stateDirectory, HUB_KEY_FILE);
    this.#onRepaired = onRepaired;
  }

  /**
   * Reads the key file, or creates it at the first start. Rejects with STORAGE_FAILED if others can read the file or if it is malformed.
   */
  async start(): Promise<void> {
    const privateKey = openKeyFile({ path: this.#path, endsWithIt: 'every token that this hub issued', onRepaired: this.#onRepaired });
    const publicKey = rawPublicKey(privateKey);
    this.#open = {
      privateKey,
      hubId: hubIdOf(publicKey),
      publicKey,
      sealKey: createSecretKey(derivedKey(privateKey, SEAL_CONTEXT)),
      encryptionKey: derivedKey(privateKey, ENCRYPTION_CONTEXT),
    };
  }

  /** Returns `hub-` and the first 16 hex digits of the SHA-256 of the raw public key. */
  get hubId(): HubId {
    return this.#started().hubId;
  }

  /** Returns the raw public key: 32 bytes in base64url. */
  get publicKey(): string {
    return this.#started().publicKey;
  }

  get privateKey(): KeyObject {
    return this.#started().privateKey;
  }

  /**
   * Returns a hash with which secrets can be compared but not read. It is the HMAC-SHA-256 (64 hex digits) of the value's canonical JSON
   * (RFC 8785); its key is derived from the hub's key. Equal secrets have equal hashes while the hub keeps its key. Throws VALIDATION_ERROR
   * if JSON cannot represent the value.
   */
  sealSecret(value: unknown): string {
    return createHmac('sha256', this.#started().sealKey)
      .update(canonicalJson(value as Json), 'utf8')
      .digest('hex');
  }

  /**
   * Returns the P-256 key pair with which the hub identifies itself to push services (RFC 8292), both raw in base64url. It is derived from
   * the hub's key: a restored hub has the same pair, so that the subscriptions of browsers stay valid.
   */
  get pushKey(): { readonly publicKey: string; readonly privateKey: string } {
    const pair = createECDH('prime256v1');
    // ECDH.getPrivateKey leaves out leading zero bytes, and web-push refuses a key that has not 32 bytes.
    const privateKey = Buffer.from(derivedKey(this.#started().privateKey, PUSH_CONTEXT));
    pair.setPrivateKey(privateKey);
    return { publicKey: pair.getPublicKey('base64url'), privateKey: privateKey.toString('base64url') };
  }

  /** Encrypts a text for this hub's own store. It can be decrypted only with the same `boundTo`. Returns nonce, tag and text in base64url. */
  encrypt(text: string, boundTo: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#started().encryptionKey, nonce).setAAD(Buffer.from(boundTo, 'utf8'));
    const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), content]).toString('base64url');
  }

  /** Returns the text that `encrypt` encrypted; undefined if it was altered, bound to something else, or encrypted with another key. */
  decrypt(encrypted: string, boundTo: string): string | undefined {
    const bytes = Buffer.from(encrypted, 'base64url');
    const [nonce, tag] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)];
    if (tag.length < TAG_BYTES) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#started().encryptionKey, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(boundTo, 'utf8')).setAuthTag(tag);
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
    } catch {
      return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open = undefined;
  }

  #started(): OpenHubKey {
    if (this.#open) return this.#open;
    throw new AtmoError('INTERNAL_ERROR', "The hub's key was used before it was read or after the hub stopped");
  }
}

/** Derives 32 bytes from a private key with HKDF-SHA-256 (RFC 5869). Each use of the key has its own `context`. */
export function derivedKey(key: KeyObject, context: string): Uint8Array {
  const secret = key.export({ type: 'pkcs8', format: 'der' });
  return new Uint8Array(hkdfSync('sha256', secret, new Uint8Array(0), context, DERIVED_BYTES));
}
