import type { Logger } from '../../../core/logger.ts';
import type { Service } from '../../../core/service.ts';
import type { KeyValueStore } from '../../../core/storage/key-value-store.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { canonicalJson } from '../../../wire/canonical-json.ts';
import type { UsageCounter } from './usage-counter.ts';

const SPACE = 'usage';
const KEY = 'totals';
/** A write every five minutes is 5 MB a day for 200 tools; every minute would be most of what a day may write. */
const WRITE_EVERY_MS = 300_000;

interface KeeperCollaborators {
  readonly usage: UsageCounter;
  readonly store: KeyValueStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Keeps the usage counters over restarts; a hub that dies forgets the last five minutes of counting. */
export class UsageKeeper implements Service {
  readonly #collaborators: KeeperCollaborators;
  #written = '';
  #stop: (() => void) | undefined;

  constructor(collaborators: KeeperCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Takes over what the last process counted. */
  async start(): Promise<void> {
    const { usage, store } = this.#collaborators;
    usage.restore(store.get(SPACE, KEY));
    this.#written = canonicalJson(usage.snapshot());
    this.#writeLater();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#stop) return;
    this.#stop();
    this.#stop = undefined;
    this.#write();
  }

  #writeLater(): void {
    this.#stop = this.#collaborators.clock.after(WRITE_EVERY_MS, () => {
      this.#write();
      this.#writeLater();
    });
  }

  /** Counting never stands in the way of calls: a full disk is logged. */
  #write(): void {
    const { usage, store, logger } = this.#collaborators;
    const snapshot = usage.snapshot();
    const text = canonicalJson(snapshot);
    if (text === this.#written) return;
    try {
      store.set(SPACE, KEY, snapshot);
      this.#written = text;
    } catch (error) {
      logger.warn('usage.not_kept', { reason: error instanceof Error ? error.message : 'unknown' });
    }
  }
}
