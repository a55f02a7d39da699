import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { KeptFile, type OnRepaired } from '../../core/storage/kept-file.ts';

type FileName = 'ca.crt' | 'ca.key' | 'server.crt' | 'server.key';

/** The folder of the hub's own certificates and keys; everything in it is its user's alone. */
export class TlsFiles {
  readonly #directory: string;
  readonly #onRepaired: OnRepaired;

  constructor(directory: string, onRepaired: OnRepaired) {
    this.#directory = directory;
    this.#onRepaired = onRepaired;
  }

  path(name: FileName): string {
    return join(this.#directory, name);
  }

  /** Undefined when there is none. STORAGE_FAILED when other users could read it too. */
  read(name: FileName): string | undefined {
    const path = this.path(name);
    return guarded(path, () => {
      const found = statSync(path, { throwIfNoEntry: false });
      const mode = found?.isFile() ? found.mode : 0;
      if ((mode & 0o077) === 0) return this.#kept(name).read();
      throw new AtmoError(
        'STORAGE_FAILED',
        `${path} can be read by other users (mode ${(mode & 0o777).toString(8)}). Run chmod 600 ${path}; if others were on this machine, delete the folder instead: the next start makes new certificates`,
        { path },
      );
    });
  }

  /** On the disk when it returns; a crash leaves the old text or the new one. */
  write(name: FileName, text: string): void {
    const path = this.path(name);
    guarded(path, () => {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      this.#kept(name).write(text);
    });
  }

  #kept(name: FileName): KeptFile {
    const isWhole = name.endsWith('.key') ? isKey : isCertificate;
    return new KeptFile({ path: this.path(name), isWhole, onRepaired: this.#onRepaired });
  }
}

function guarded<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof AtmoError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AtmoError(
      'STORAGE_FAILED',
      `${path} cannot be read or written; free space or mend its permissions (${reason})`,
      { path },
      { cause },
    );
  }
}

function isKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private';
  } catch {
    return false;
  }
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}
