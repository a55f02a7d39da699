import { isJsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { ChainLink } from './audit-chain.ts';

const SPACE = 'audit';
const KEY = 'head';

/** Where the chain stood, kept in another file than the chain. */
interface Anchor {
  readonly head: ChainLink;
  /** No intent before this row was without an outcome. */
  readonly openFromSeq: number;
}

/** Keeps the head of the chain outside of audit.db: rows that are cut off there are missed here. */
export class AuditAnchor {
  readonly #store: KeyValueStore;
  #kept: Anchor | undefined;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  read(): Anchor | undefined {
    this.#kept ??= this.#load();
    return this.#kept;
  }

  /** Throws STORAGE_FAILED. The head must be on the disk already, else a power cut would look like a cut journal. */
  write(anchor: Anchor): void {
    const kept = this.read();
    if (kept?.head.hash === anchor.head.hash && kept.openFromSeq === anchor.openFromSeq) return;
    this.#store.set(SPACE, KEY, { seq: anchor.head.seq, hash: anchor.head.hash, open_from: anchor.openFromSeq });
    this.#kept = anchor;
  }

  #load(): Anchor | undefined {
    const kept = this.#store.get(SPACE, KEY);
    if (!isJsonObject(kept)) return undefined;
    const { seq, hash, open_from: openFromSeq } = kept;
    if (typeof seq !== 'number' || typeof hash !== 'string') return undefined;
    return { head: { seq, hash }, openFromSeq: typeof openFromSeq === 'number' ? openFromSeq : 0 };
  }
}
