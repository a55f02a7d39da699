import type { AtmoError } from '../../core/errors.ts';

/** Bytes of a request's body, or of its answer with all parts, that may be on their way unread. */
export const CREDIT_WINDOW_BYTES = 262_144;

interface Waiting {
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: AtmoError) => void;
}

/** The sender's view of what its peer still has room for, in one direction of one request. */
export class CreditWindow {
  readonly #waiting: Waiting[] = [];
  #room = CREDIT_WINDOW_BYTES;
  /** Makes the error: most requests end without anybody who hears of it. */
  #end: (() => AtmoError) | undefined;

  /** Undefined when the bytes may be sent at once; else resolves when they may, and rejects when the request has ended. */
  take(bytes: number): Promise<void> | undefined {
    if (this.#end) return Promise.reject(this.#end());
    if (this.#waiting.length === 0 && this.#room >= bytes) {
      this.#room -= bytes;
      return undefined;
    }
    return new Promise((resolve, reject) => this.#waiting.push({ bytes, resolve, reject }));
  }

  /** More room; never more than the whole window, whatever the peer says. */
  grant(bytes: number): void {
    this.#room = Math.min(CREDIT_WINDOW_BYTES, this.#room + bytes);
    for (let next = this.#waiting[0]; next && next.bytes <= this.#room; next = this.#waiting[0]) {
      this.#room -= next.bytes;
      this.#waiting.shift();
      next.resolve();
    }
  }

  /** Throws why the request has ended, where it has. */
  check(): void {
    if (this.#end) throw this.#end();
  }

  /** Whoever waits hears why there will be no more room. */
  end(reason: () => AtmoError): void {
    this.#end ??= reason;
    for (const { reject } of this.#waiting.splice(0)) reject(reason());
  }
}
