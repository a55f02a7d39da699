import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AtmoError } from '../../src/core/errors.ts';

/** The owner's OpenPGP key, used through gpg. */
export class SigningKey implements Disposable {
  /** Folder of gpg that holds the key; undefined: the folder of the user who runs this. */
  readonly #home: string | undefined;
  readonly #fingerprint: string;

  private constructor(home: string | undefined, fingerprint: string) {
    this.#home = home;
    this.#fingerprint = fingerprint;
  }

  /**
   * Opens the key that `name` means: a file with an exported secret key, else the id of a key in the user's keyring. A key from a file is
   * kept in a folder of its own until `[Symbol.dispose]`. Throws NOT_FOUND if there is no such secret key.
   */
  static open(name: string): SigningKey {
    if (!existsSync(name)) return new SigningKey(undefined, fingerprintOf(undefined, name));
    // A socket of gpg-agent lies in the folder, so its path has to be short.
    const home = mkdtempSync(join(tmpdir(), 'atmo-gpg-'));
    try {
      gpg(home, ['--import', name]);
      return new SigningKey(home, fingerprintOf(home, undefined));
    } catch (error) {
      rmSync(home, { recursive: true, force: true });
      throw error;
    }
  }

  /** Returns the text with its signature around it. */
  clearSign(text: string): string {
    return this.#run(['--clear-sign'], text);
  }

  /** Returns a signature of the text, armored. */
  sign(text: string): string {
    return this.#run(['--armor', '--detach-sign'], text);
  }

  /** Returns the public key, armored. */
  publicKey(): string {
    return gpg(this.#home, ['--armor', '--export', this.#fingerprint]);
  }

  [Symbol.dispose](): void {
    if (this.#home === undefined) return;
    execFileSync('gpgconf', ['--homedir', this.#home, '--kill', 'all'], { stdio: 'ignore' });
    rmSync(this.#home, { recursive: true, force: true });
  }

  #run(action: readonly string[], text: string): string {
    return gpg(this.#home, ['--local-user', this.#fingerprint, '--digest-algo', 'SHA512', ...action], text);
  }
}

function fingerprintOf(home: string | undefined, name: string | undefined): string {
  const lines = gpg(home, ['--with-colons', '--list-secret-keys', ...(name === undefined ? [] : [name])]);
  const [, fingerprint] = /^fpr:(?:[^:]*:){8}([0-9A-F]+):/m.exec(lines) ?? [];
  if (fingerprint === undefined) throw new AtmoError('NOT_FOUND', 'The file of --key has no secret key');
  return fingerprint;
}

function gpg(home: string | undefined, args: readonly string[], input = ''): string {
  const ownHome = home === undefined ? [] : ['--homedir', home];
  try {
    return execFileSync('gpg', ['--batch', '--quiet', '--no-tty', ...ownHome, ...args], { input, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { code, stderr = '' } = error as { code?: string; stderr?: string };
    const reason = code === 'ENOENT' ? 'gpg is not installed: apt install gnupg' : stderr.trim();
    throw new AtmoError('NOT_FOUND', `The key of --key cannot be used: ${reason}`, {}, { cause: error });
  }
}
