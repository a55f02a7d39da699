import { CREDIT_WINDOW_BYTES } from './credit-window.ts';

/** Room is given back in pieces of this size: small answers need no frame for it. */
const GRANT_BYTES = CREDIT_WINDOW_BYTES / 4;

/** The receiver's view of one direction of one request: what came, what was read, and how much room to give back. */
export class CreditLedger {
  /** Came and was not given back yet. */
  #owed = 0;
  #read = 0;

  /** False when the sender has sent more than it had room for. */
  came(bytes: number): boolean {
    this.#owed += bytes;
    return this.#owed <= CREDIT_WINDOW_BYTES;
  }

  /** Bytes of room to tell the sender of, now that so many more were read; 0 while it is not worth a frame. */
  read(bytes: number): number {
    this.#read += bytes;
    if (this.#read < GRANT_BYTES) return 0;
    const granted = this.#read;
    this.#read = 0;
    this.#owed -= granted;
    return granted;
  }
}
