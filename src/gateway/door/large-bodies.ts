import { familyOf } from '../../core/access/agent-id.ts';
import { type Principal, principalKey } from '../../core/access/principal.ts';
import { AtmoError } from '../../core/errors.ts';

/** Bodies above the common bound that are held in memory at once; of one account it is one. */
const MAX_AT_ONCE = 2;
/** What becomes of a body on its way to a tool: bytes, text, values and what is sent on. */
const COPIES = 4;
const RETRY_MS = 2_000;

/** Places for the few bodies that are larger than the common bound, so that a crowd of them never fills the memory of a small board. */
export class LargeBodies {
  readonly #availableMemory: () => number;
  readonly #accounts = new Set<string>();

  constructor(availableMemory: () => number = () => process.availableMemory()) {
    this.#availableMemory = availableMemory;
  }

  /** Takes a place until it is disposed of. RESOURCE_EXCEEDED with `retry_after_ms` while there is none, or too little memory. */
  enter(principal: Principal, bytes: number): Disposable {
    const account = familyOf(principalKey(principal));
    if (this.#accounts.has(account)) throw busy('Your last request with a large body is not answered yet');
    if (this.#accounts.size >= MAX_AT_ONCE) throw busy(`The hub takes ${MAX_AT_ONCE} large bodies at once, and they are here`);
    if (this.#availableMemory() < COPIES * bytes) throw busy(`The hub has too little memory for a body of ${bytes} bytes at the moment`);
    this.#accounts.add(account);
    return { [Symbol.dispose]: () => void this.#accounts.delete(account) };
  }
}

function busy(why: string): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `${why}; send it again later`, { retry_after_ms: RETRY_MS });
}
