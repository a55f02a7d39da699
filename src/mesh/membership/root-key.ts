import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { openBox, sealBox } from '../../codec/passphrase-encryption.ts';
import { rawPublicKey, type SigningKey } from '../../codec/public-key.ts';
import { AtmoError } from '../../core/errors.ts';

const PREFIX = 'atmo-root1.';
const LEAST_PASSPHRASE = 10;

/** File of the sealed root key in the state directory. Only the user account of the hub can read it (mode 0600). */
export interface RootKeyFile {
  /** Path of the file, for messages to the owner. */
  readonly path: string;
  /** Returns the text; undefined if there is no file. Throws STORAGE_FAILED if reading fails or other users can read the file. */
  read(): string | undefined;
  /** Replaces the text. After a crash, the file has either the old or the new text. Throws STORAGE_FAILED if writing fails. */
  write(text: string): void;
  remove(): void;
}

/** Encryption with a passphrase. `sealBox` and `openBox` implement it; tests use a faster one. */
export interface PassphraseBox {
  seal(content: Uint8Array, passphrase: string): Promise<Uint8Array>;
  open(box: Uint8Array, passphrase: string): Promise<Uint8Array>;
}

const SEALED_BOX: PassphraseBox = { seal: sealBox, open: openBox };

/** Returns whether a text has the form of a sealed root key. */
export function isSealedRootKey(text: string): boolean {
  const sealed = text.trim();
  const box = sealed.slice(PREFIX.length);
  return sealed.startsWith(PREFIX) && Buffer.from(box, 'base64url').toString('base64url') === box;
}

/** Stores the root key of a mesh. The key is encrypted with a passphrase, so that a thief of the hub cannot use it. */
export class RootKey {
  readonly #file: RootKeyFile;
  readonly #box: PassphraseBox;

  constructor(file: RootKeyFile, box: PassphraseBox = SEALED_BOX) {
    this.#file = file;
    this.#box = box;
  }

  isHere(): boolean {
    return this.#file.read() !== undefined;
  }

  /** Creates a root key. Rejects with VALIDATION_ERROR (short passphrase), CONFLICT (a key exists) or STORAGE_FAILED (the disk fails). */
  async make(passphrase: string): Promise<SigningKey> {
    if ([...passphrase].length < LEAST_PASSPHRASE) {
      throw new AtmoError(
        'VALIDATION_ERROR',
        `A passphrase has at least ${LEAST_PASSPHRASE} characters; five words that nobody guesses are good`,
      );
    }
    const { privateKey } = generateKeyPairSync('ed25519');
    const sealed = await this.#box.seal(privateKey.export({ type: 'pkcs8', format: 'der' }), passphrase);
    this.#place(`${PREFIX}${Buffer.from(sealed).toString('base64url')}`);
    return { privateKey, publicKey: rawPublicKey(privateKey) };
  }

  /** Decrypts the stored key. Rejects with NOT_FOUND if the key is not on this hub, PERMISSION_DENIED if the passphrase is wrong. */
  async open(passphrase: string): Promise<SigningKey> {
    return this.openText(this.text(), passphrase);
  }

  /** Decrypts an exported key. Rejects with VALIDATION_ERROR if the text is no key, PERMISSION_DENIED if the passphrase is wrong. */
  async openText(exported: string, passphrase: string): Promise<SigningKey> {
    const text = exported.trim();
    const box = Buffer.from(text.slice(PREFIX.length), 'base64url');
    if (!isSealedRootKey(text)) {
      throw new AtmoError('VALIDATION_ERROR', `This is no exported root key: it begins with ${PREFIX} and is one line`);
    }
    const der = Buffer.from(await this.#box.open(box, passphrase));
    const privateKey = createPrivateKey({ key: der, type: 'pkcs8', format: 'der' });
    der.fill(0);
    return { privateKey, publicKey: rawPublicKey(privateKey) };
  }

  /** Returns the sealed root key as one line. Throws NOT_FOUND if the key is not on this hub, STORAGE_FAILED if the disk fails. */
  text(): string {
    const text = this.#file.read();
    if (text !== undefined) return text.trim();
    throw new AtmoError(
      'NOT_FOUND',
      'The root key of the mesh is not on this hub. Do this on the hub that made the mesh, or bring the exported key here: atmo mesh import-root FILE',
    );
  }

  /** Stores a root key from another hub. Throws CONFLICT if a key exists, STORAGE_FAILED if the disk fails. */
  adopt(text: string): void {
    this.#place(text.trim());
  }

  /** Deletes the root key. Without an exported copy, the mesh can never have a new inviter. */
  remove(): void {
    this.#file.remove();
  }

  #place(text: string): void {
    if (this.isHere()) {
      throw new AtmoError(
        'CONFLICT',
        `There is a root key of a mesh in ${this.#file.path}. It belongs to a mesh that was made here; use its passphrase`,
      );
    }
    this.#file.write(`${text}\n`);
  }
}
