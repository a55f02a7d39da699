import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { EventBus } from '../../core/events.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { atWallTime } from '../../core/local-time.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';

const SPACE = 'house.flags';
const MAX_FLAGS = 64;

/** The value of a flag. */
export type FlagValue = boolean | number | string;

/** A flag of the house, such as `vacation_mode`. Times are in milliseconds since 1970. */
export interface Flag {
  readonly name: string;
  readonly value: FlagValue;
  /** Id of the principal that set the value. */
  readonly setBy: string;
  readonly sinceMs: number;
  /** When the flag ends; absent if it stays until somebody changes it. */
  readonly untilMs?: number;
}

interface FlagPorts {
  readonly clock: Clock;
  readonly store: KeyValueStore;
  readonly events: EventBus;
}

/** Stores the flags of the house. A flag that ends is not set any more. */
export class FlagStore implements Disposable {
  readonly #ports: FlagPorts;
  readonly #flags = new Map<string, Flag>();
  readonly #cancels = new Map<string, () => void>();

  constructor(ports: FlagPorts) {
    this.#ports = ports;
  }

  load(): void {
    for (const { value } of this.#ports.store.entries(SPACE)) {
      // The cast is safe because only this class writes flags.
      if (isJsonObject(value)) this.#remember(value as unknown as Flag);
    }
  }

  [Symbol.dispose](): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels.clear();
  }

  /** Returns the flags that are set, sorted by name. */
  list(): readonly Flag[] {
    return [...this.#flags.values()].filter((flag) => this.#isSet(flag)).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(name: string): Flag | undefined {
    const flag = this.#flags.get(name);
    return flag && this.#isSet(flag) ? flag : undefined;
  }

  /** Sets a flag. Throws VALIDATION_ERROR (its end is in the past), RESOURCE_EXCEEDED (too many flags) or STORAGE_FAILED. */
  set(flag: Omit<Flag, 'sinceMs'>): Flag {
    const { clock, store } = this.#ports;
    const nowMs = clock.now();
    if (flag.untilMs !== undefined && flag.untilMs <= nowMs) throw new AtmoError('VALIDATION_ERROR', 'The end of the flag is in the past');
    if (!this.#flags.has(flag.name) && this.list().length >= MAX_FLAGS) {
      throw new AtmoError('RESOURCE_EXCEEDED', `The house has ${MAX_FLAGS} flags, which is the most; end one with clear_flag first`);
    }
    const before = this.get(flag.name);
    const set = { ...flag, sinceMs: before?.value === flag.value ? before.sinceMs : nowMs };
    store.set(SPACE, flag.name, set as unknown as Json, flag.untilMs === undefined ? {} : { ttlMs: flag.untilMs - nowMs });
    this.#remember(set);
    this.#emit(flag.name, before);
    return set;
  }

  /** Ends a flag. Returns false if it was not set. Throws STORAGE_FAILED. */
  clear(name: string): boolean {
    const before = this.get(name);
    this.#ports.store.delete(SPACE, name);
    this.#forget(name);
    if (before) this.#emit(name, before);
    return before !== undefined;
  }

  #isSet({ untilMs = Infinity }: Flag): boolean {
    return untilMs > this.#ports.clock.now();
  }

  #remember(flag: Flag): void {
    this.#forget(flag.name);
    this.#flags.set(flag.name, flag);
    const { untilMs } = flag;
    if (untilMs === undefined) return;
    const end = () => {
      this.#forget(flag.name);
      this.#emit(flag.name, flag);
    };
    this.#cancels.set(flag.name, atWallTime(this.#ports.clock, untilMs, end));
  }

  #forget(name: string): void {
    this.#cancels.get(name)?.();
    this.#cancels.delete(name);
    this.#flags.delete(name);
  }

  #emit(name: string, before: Flag | undefined): void {
    const value = this.get(name)?.value ?? null;
    this.#ports.events.emit('house.changed', `flag/${name}`, { flag: name, value, before: before?.value ?? null });
  }
}
