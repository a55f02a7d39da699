import { closeSync, writeSync } from 'node:fs';
import koffi from 'koffi';

const O_RDWR = 0o2;
const O_NOCTTY = 0o400;
const NAME_BYTES = 64;

const libc = koffi.load('libc.so.6');
const openMaster = libc.func('int posix_openpt(int flags)');
const grant = libc.func('int grantpt(int fd)');
const unlock = libc.func('int unlockpt(int fd)');
const nameOf = libc.func('int ptsname_r(int fd, _Out_ uint8_t *name, size_t bytes)');

/** A serial port without a wire (pty(7)): what is written here arrives at whoever opened `path`; disposing it pulls the plug. */
export class PseudoTerminal implements Disposable {
  readonly path: string;
  readonly #fd: number;

  constructor() {
    this.#fd = openMaster(O_RDWR | O_NOCTTY);
    const name = Buffer.alloc(NAME_BYTES);
    const failed = [grant(this.#fd), unlock(this.#fd), nameOf(this.#fd, name, NAME_BYTES)].some((status) => status !== 0);
    if (this.#fd < 0 || failed) throw new TypeError('This machine gives no pseudo terminal');
    this.path = name.toString('utf8', 0, name.indexOf(0));
  }

  write(text: string): void {
    writeSync(this.#fd, text);
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}
