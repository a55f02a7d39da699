import type { Clock } from '../../core/clock.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { type GpioChip, type GpioEdge, type GpioInput, type GpioInputRequest, GpioLine, offsetOf } from './gpio-chip.ts';
import type { GpioInputConfig } from './gpio-config.ts';

interface InputCollaborators {
  readonly clock: Clock;
  /** Emits a warning about a line. `event` is a name such as `gpio.changes_limited`. */
  readonly warn: (event: string, line: string, message: string) => void;
}

/** An input with a state, such as a door contact. It emits each change, up to a maximum rate. */
export class StateInput extends GpioLine {
  readonly #parts: InputCollaborators;
  readonly #config: GpioInputConfig;
  readonly #guard: EdgeRateLimit;

  constructor(parts: InputCollaborators, name: string, config: GpioInputConfig) {
    super(name, config);
    this.#parts = parts;
    this.#config = config;
    const { clock, warn } = parts;
    this.#guard = new EdgeRateLimit({
      clock,
      emitState: () => this.emit(),
      warn: () => warn('gpio.changes_limited', name, `${name} changes too fast to tell every change; is its wire connected, its bias set?`),
    });
  }

  override detach(problem: string): void {
    this.#guard.reset();
    super.detach(problem);
  }

  protected take(chip: GpioChip): GpioInput {
    return chip.requestInput(inputRequest(chip, this.#config, 'both'), (change) => this.#onChange(change));
  }

  #onChange({ edge, ageMs, missed }: GpioEdge): void {
    const { clock, warn } = this.#parts;
    if (missed > 0) warn('gpio.changes_missed', this.name, `${this.name}: ${missed} changes came faster than they could be read`);
    const atMs = Math.round(clock.now() - ageMs);
    this.#guard.pass(() => this.emit({ address: this.sensor.address, value: edge === 'rising', atMs }));
  }
}

function inputRequest(chip: GpioChip, config: GpioInputConfig, defaultEdge: 'both' | 'rising'): GpioInputRequest {
  const { line, activeLow: isActiveLow, bias, debounceMs, edge = defaultEdge } = config;
  return { offset: offsetOf(chip, line), isActiveLow, bias, debounceMs, edge };
}

const SPACE = 'gpio-pulses';

/**
 * An input that counts the pulses of a meter. Its value is the sum of all counted pulses, in the meter's unit. Pulses that the kernel
 * dropped are included, since the kernel numbers pulses. Pulses while the hub did not run are missing. The input emits no samples. It is
 * read at intervals, because a history of every pulse would wear out the SD card.
 */
export class PulseInput extends GpioLine {
  readonly #store: KeyValueStore;
  readonly #config: GpioInputConfig & { readonly countsPerUnit: number };
  #count: number;
  #savedCount: number;

  constructor({ store }: { readonly store: KeyValueStore }, name: string, config: GpioInputConfig & { readonly countsPerUnit: number }) {
    super(name, config);
    this.#store = store;
    this.#config = config;
    const saved = store.get(SPACE, name);
    this.#count = typeof saved === 'number' ? saved : 0;
    this.#savedCount = this.#count;
  }

  override detach(problem: string): void {
    super.detach(problem);
    // If this fails, the next save of all meters tries again.
    attemptWrite(() => this.save());
  }

  save(): void {
    if (this.#count === this.#savedCount) return;
    this.#store.set(SPACE, this.name, this.#count);
    this.#savedCount = this.#count;
  }

  protected take(chip: GpioChip): GpioInput {
    return chip.requestInput(inputRequest(chip, this.#config, 'rising'), ({ missed }) => {
      this.#count += 1 + missed;
    });
  }

  protected override read(): number {
    return this.#count / this.#config.countsPerUnit;
  }
}

/** Maximum number of changes per second. Hands, doors and relays cause far fewer changes. An unconnected wire causes more. */
const MOST_A_SECOND = 20;
const SECOND_MS = 1000;

interface EdgeRateLimitCollaborators {
  readonly clock: Clock;
  readonly emitState: () => void;
  /** Warns people that the line changes too often. */
  readonly warn: () => void;
}

/** Emits changes up to a maximum rate. Above this rate, emits only the state at the end of each second. */
class EdgeRateLimit {
  readonly #parts: EdgeRateLimitCollaborators;
  #emitted = 0;
  #hasMore = false;
  #cancel: (() => void) | undefined;

  constructor(parts: EdgeRateLimitCollaborators) {
    this.#parts = parts;
  }

  /** Emits a change. Above the maximum rate, drops the change instead. */
  pass(emit: () => void): void {
    this.#cancel ??= this.#parts.clock.after(SECOND_MS, () => this.#endSecond());
    this.#emitted += 1;
    if (this.#emitted <= MOST_A_SECOND) {
      emit();
      return;
    }
    if (!this.#hasMore) this.#parts.warn();
    this.#hasMore = true;
  }

  /** Resets the limit, and cancels the emission at the end of the current second. */
  reset(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#emitted = 0;
    this.#hasMore = false;
  }

  #endSecond(): void {
    const isBehind = this.#hasMore;
    this.reset();
    if (isBehind) this.#parts.emitState();
  }
}
