import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AtmoError } from '../../src/core/errors.ts';

const BASICS = ['--batch', '--quiet', '--no-tty'];
/** Signals that end a program. */
const ENDINGS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The owner's OpenPGP key, used through gpg. */
export class SigningKey implements Disposable {
  /** Folder of gpg that holds the key; undefined: the folder of the user who runs this. */
  readonly #home: string | undefined;
  readonly #fingerprint: string;

  readonly #stopWatch: () => void;

  private constructor(home: string | undefined, fingerprint: string, stopWatch: () => void) {
    this.#home = home;
    this.#fingerprint = fingerprint;
    this.#stopWatch = stopWatch;
  }

  /**
   * Opens the key that `name` means: a file with an exported secret key, else the id of a key in the user's keyring. A key from a file is
   * kept in a folder of its own until `[Symbol.dispose]` or a signal that ends the program, in memory where the user has such a folder
   * (XDG_RUNTIME_DIR). Throws NOT_FOUND if there is no such secret key.
   */
  static open(name: string): SigningKey {
    if (!existsSync(name)) return new SigningKey(undefined, fingerprintOf(undefined, name), () => {});
    // A socket of gpg-agent lies in the folder, so its path has to be short.
    const { XDG_RUNTIME_DIR: inMemory = '' } = process.env;
    const home = mkdtempSync(join(existsSync(inMemory) ? inMemory : tmpdir(), 'atmo-gpg-'));
    const stopWatch = onEnding(() => removeHome(home));
    try {
      gpg(home, ['--import', name]);
      return new SigningKey(home, fingerprintOf(home, undefined), stopWatch);
    } catch (error) {
      stopWatch();
      removeHome(home);
      throw error;
    }
  }

  /**
   * Returns a text that this key has signed with a signature around it, without the signature. Throws PERMISSION_DENIED if another key
   * signed it, or if it was changed since.
   */
  verified(text: string): string {
    const { stdout, stderr, status } = spawnSync('gpg', [...BASICS, ...homeOption(this.#home), '--status-fd', '2', '--decrypt'], {
      input: text,
      encoding: 'utf8',
    });
    const isOfThisKey = new RegExp(`^\\[GNUPG:\\] VALIDSIG .*\\b${this.#fingerprint}$`, 'm').test(stderr);
    if (status === 0 && isOfThisKey) return stdout;
    throw new AtmoError('PERMISSION_DENIED', 'This key did not sign the text, or it was changed since');
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
    if (this.#home !== undefined) removeHome(this.#home);
    this.#stopWatch();
  }

  #run(action: readonly string[], text: string): string {
    return gpg(this.#home, ['--local-user', this.#fingerprint, '--digest-algo', 'SHA512', ...action], text);
  }
}

/** Ends the agent of gpg that holds the key in memory, and deletes the key. */
function removeHome(home: string): void {
  spawnSync('gpgconf', ['--homedir', home, '--kill', 'all'], { stdio: 'ignore' });
  rmSync(home, { recursive: true, force: true });
}

/** Calls `work` before a signal ends the program. Returns a function that ends this. */
function onEnding(work: () => void): () => void {
  const stop = () => {
    for (const signal of ENDINGS) process.off(signal, end);
  };
  const end = (signal: NodeJS.Signals) => {
    work();
    stop();
    process.kill(process.pid, signal);
  };
  for (const signal of ENDINGS) process.on(signal, end);
  // A signal that came while gpg ran is delivered in the next turn; without this function it would be lost.
  return () => void setImmediate(stop);
}

function fingerprintOf(home: string | undefined, name: string | undefined): string {
  const lines = gpg(home, ['--with-colons', '--list-secret-keys', ...(name === undefined ? [] : [name])]);
  const [, fingerprint] = /^fpr:(?:[^:]*:){8}([0-9A-F]+):/m.exec(lines) ?? [];
  if (fingerprint === undefined) throw new AtmoError('NOT_FOUND', 'The file of --key has no secret key');
  return fingerprint;
}

function homeOption(home: string | undefined): readonly string[] {
  return home === undefined ? [] : ['--homedir', home];
}

function gpg(home: string | undefined, args: readonly string[], input = ''): string {
  try {
    return execFileSync('gpg', [...BASICS, ...homeOption(home), ...args], { input, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { code, stderr = '' } = error as { code?: string; stderr?: string };
    const reason = code === 'ENOENT' ? 'gpg is not installed: apt install gnupg' : stderr.trim();
    throw new AtmoError('NOT_FOUND', `The key of --key cannot be used: ${reason}`, {}, { cause: error });
  }
}
