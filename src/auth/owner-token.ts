import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { type Authenticated, type Authenticator, type Credentials, OWNER, type Principal } from '../core/auth/principal.ts';
import { AtmoError } from '../core/errors.ts';
import type { OnRepaired } from '../core/files/recoverable-file.ts';
import type { Service } from '../core/lifecycle.ts';
import { deletionHint, readSecretFile, type SecretFile, writeSecretFile } from './secret-file.ts';

/** File name of the owner's token in the state directory. */
const OWNER_TOKEN_FILE = 'owner.token';
const TOKEN = /^at0\.[A-Za-z0-9_-]{43}$/;

/**
 * The owner's token: `at0.` and 32 random bytes in base64url. The first start writes it to `owner.token` (mode 0600). Only this file and
 * its backup contain the token; memory holds its SHA-256. If the file was changed or deleted, the next start replaces the token.
 */
export class OwnerCredential implements Service {
  readonly #file: SecretFile;
  #digest: Buffer | undefined;
  #generation = 0;
  #isNotAsWritten = false;

  constructor(stateDirectory: string, onRepaired: OnRepaired) {
    const path = join(stateDirectory, OWNER_TOKEN_FILE);
    const ifOthersReadIt = `${deletionHint(path)} instead: the next start writes a new one`;
    const onFound: OnRepaired = (repair) => {
      this.#isNotAsWritten = true;
      onRepaired({ ...repair, instead: 'a new token is in its place, and the old one has ended' });
    };
    this.#file = { path, ifOthersReadIt, isWhole: (text) => TOKEN.test(text.trim()), onRepaired: onFound };
  }

  /** Returns a number that changes with each replacement of the token. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * Reads the token file, or creates it at the first start. Rejects with STORAGE_FAILED if others can read the file or if it is malformed.
   */
  async start(): Promise<void> {
    const token = readToken(this.#file);
    // The backup is not used: the owner may have deleted the file because the token had leaked. A new token is always safe.
    if (token === undefined || this.#isNotAsWritten) this.rotate();
    else this.#digest = digestOf(token);
  }

  /** Returns whether the text is the owner's token. The comparison takes constant time. */
  matches(credential: string): boolean {
    return this.#digest !== undefined && timingSafeEqual(digestOf(credential), this.#digest);
  }

  /** Replaces the token; the old token is invalid at once. If the file cannot be written, throws STORAGE_FAILED and changes nothing. */
  rotate(): void {
    const token = `at0.${randomBytes(32).toString('base64url')}`;
    writeSecretFile(this.#file, `${token}\n`);
    this.#digest = digestOf(token);
    this.#generation += 1;
  }

  /** Returns a text that changes with each replacement of the token and does not reveal it. */
  mark(): string {
    return createHash('sha256')
      .update(this.#digest ?? '')
      .digest('hex');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#digest = undefined;
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

function readToken(file: SecretFile): string | undefined {
  const { path } = file;
  const token = readSecretFile(file)?.trim();
  if (token === undefined || TOKEN.test(token)) return token;
  throw new AtmoError('STORAGE_FAILED', `${path} does not hold an owner's token; ${deletionHint(path)}: the next start writes a new one`, {
    path,
  });
}

/** Authenticates the owner's token. Each new token gets a new principal object. The principals of replaced tokens are no longer valid. */
export class OwnerAuthenticator implements Authenticator {
  readonly #credential: Pick<OwnerCredential, 'matches' | 'generation' | 'mark'>;
  readonly #generationOf = new WeakMap<Principal, number>();
  #principal: Principal = OWNER;

  constructor(credential: Pick<OwnerCredential, 'matches' | 'generation' | 'mark'>) {
    this.#credential = credential;
  }

  /** Rejects with UNAUTHENTICATED if there is no credential, and with TOKEN_INVALID if it is not the owner's token. */
  async authenticate({ bearer: credential }: Credentials): Promise<Authenticated> {
    if (!credential) {
      throw new AtmoError(
        'UNAUTHENTICATED',
        'No token came with the request; send "Authorization: Bearer TOKEN" with one that the owner made',
      );
    }
    if (!this.#credential.matches(credential)) {
      throw new AtmoError(
        'TOKEN_INVALID',
        "This is neither an agent's token (at1.…) nor the owner's as it is now; that one is in owner.token in the hub's state directory",
      );
    }
    return { principal: this.#current() };
  }

  /** Returns a text with which `principalOf` finds the owner again, also after a restart. */
  mark(): string {
    return this.#credential.mark();
  }

  /** Returns the owner if the token is still the one at the time of the mark; otherwise undefined. */
  principalOf(mark: string): Principal | undefined {
    return mark === this.mark() ? this.#current() : undefined;
  }

  /** Returns false if the principal's token was replaced, and otherwise true. */
  isStillValid(principal: Principal): boolean {
    const generation = this.#generationOf.get(principal);
    return generation === undefined || generation === this.#credential.generation;
  }

  #current(): Principal {
    const { generation } = this.#credential;
    if (this.#generationOf.get(this.#principal) === generation) return this.#principal;
    this.#principal = { ...OWNER };
    this.#generationOf.set(this.#principal, generation);
    return this.#principal;
  }
}
