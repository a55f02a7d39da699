import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { type Clock, isoTime, type SettableTime, type TimeSource, type TimeStatus, type TrustedTime } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';

interface TrustedClockServices {
  readonly clock: Clock;
  readonly store: KeyValueStore;
  readonly evidence: ClockEvidence;
}

interface TrustedClockOptions {
  /** `auto` searches for evidence that the machine's clock is right, `always` trusts that clock, `never` trusts only the owner's time. */
  readonly trust: 'auto' | 'always' | 'never';
  /** Milliseconds since 1970. */
  readonly buildTimeMs: number;
}

/** A time in milliseconds since 1970, with the monotonic clock's value at that time. */
interface Mark {
  readonly timeMs: number;
  readonly monotonicMs: number;
}

const SPACE = 'clock';
const SAVE_EVERY_MS = 600_000;
const LOOK_UNTRUSTED_MS = 10_000;
const LOOK_TRUSTED_MS = 60_000;
/** Permitted difference between clocks in a network (tokens allow the same skew). */
const TOLERANCE_MS = 60_000;
const MAX_AHEAD_MS = 24 * 3_600_000;
/** A time that is more than 20 years after the hub's build is rejected as a mistake. */
const MAX_AGE_MS = 20 * 365 * 24 * 3_600_000;

/**
 * The hub's time on boards whose clock may be wrong after a start. The time is never before a floor, which is the later of two times:
 * `proven` (from the build, the network or the owner) and `assumed` (from a hardware clock, a host or an issuer of tokens). Once the
 * network or the owner provides the time, `assumed` no longer counts.
 */
export class TrustedClock implements TrustedTime, SettableTime, Service {
  readonly #ports: TrustedClockServices;
  readonly #options: TrustedClockOptions;
  #proven: Mark;
  #assumed: Mark;
  /** The time that the owner set. It advances with the monotonic clock, independent of the machine's clock. */
  #ownerTime: Mark | undefined;
  #found: TimeSource = 'nothing';
  #isRunning = false;
  readonly #cancel = new Map<'look' | 'save', () => void>();

  constructor(ports: TrustedClockServices, options: TrustedClockOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#proven = { timeMs: options.buildTimeMs, monotonicMs: ports.clock.monotonic() };
    this.#assumed = this.#proven;
  }

  /** Loads the saved floor and searches for evidence. Rejects with STORAGE_FAILED if the floor cannot be read. */
  async start(): Promise<void> {
    this.#isRunning = true;
    this.#load();
    await this.#look();
    this.#saveLater();
  }

  now(): number {
    return Math.floor(Math.max(this.#shownMs(), this.#floorMs()));
  }

  isTrusted(): boolean {
    return this.#source() !== 'nothing' && this.#shownMs() >= this.#floorMs() - TOLERANCE_MS;
  }

  status(): TimeStatus {
    return {
      nowMs: this.now(),
      isTrusted: this.isTrusted(),
      source: this.#source(),
      systemMs: this.#ports.clock.now(),
      floorMs: Math.floor(this.#floorMs()),
    };
  }

  /**
   * Receives the issue time (milliseconds since 1970) of a verified token of a trusted issuer, and advances the clock to it. A trusted
   * clock ignores the issue time; an untrusted clock ignores it if it is more than 24 h after the proven floor.
   */
  observeIssuedAt(timeMs: number): void {
    if (this.isTrusted() || timeMs > this.#passed(this.#proven) + MAX_AHEAD_MS) return;
    if (timeMs > this.#passed(this.#assumed)) this.#assumed = this.#mark(timeMs);
  }

  /**
   * Sets the owner's time, even if it is before the floor. The hub uses this time until the network provides the time. It survives a
   * restart of the hub, but not of the machine. If the network or the configuration confirms the machine's clock, only the floor is set, to
   * that clock's time. In this case, if `timeMs` differs from that clock by more than a minute, throws CONFLICT and changes nothing.
   */
  set(timeMs: number): void {
    const { buildTimeMs } = this.#options;
    if (!Number.isSafeInteger(timeMs) || timeMs < buildTimeMs || timeMs > buildTimeMs + MAX_AGE_MS) {
      throw new AtmoError(
        'VALIDATION_ERROR',
        `The time has to lie after ${isoTime(buildTimeMs)}, when this hub was built, and within 20 years of it`,
      );
    }
    if (this.#isSystemRight()) this.#requireSystemTime(timeMs);
    else this.#ownerTime = this.#mark(timeMs);
    this.#proven = this.#mark(this.#shownMs());
    this.#assumed = this.#proven;
    this.#save();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    for (const cancel of this.#cancel.values()) cancel();
    this.#cancel.clear();
    this.#saveIfPossible();
  }

  #source(): TimeSource {
    if (this.#options.trust === 'always') return 'configuration';
    return this.#ownerTime ? 'owner' : this.#found;
  }

  /** Returns whether the network or the owner's configuration confirms the machine's clock. */
  #isSystemRight(): boolean {
    const source = this.#source();
    return source === 'network' || source === 'configuration';
  }

  #shownMs(): number {
    return this.#ownerTime && !this.#isSystemRight() ? this.#passed(this.#ownerTime) : this.#ports.clock.now();
  }

  #floorMs(): number {
    const provenMs = this.#passed(this.#proven);
    const isProof = this.#isSystemRight() || this.#ownerTime !== undefined;
    return isProof ? provenMs : Math.max(provenMs, this.#passed(this.#assumed));
  }

  #requireSystemTime(timeMs: number): void {
    if (Math.abs(timeMs - this.#ports.clock.now()) <= TOLERANCE_MS) return;
    throw new AtmoError(
      'CONFLICT',
      `The machine's clock is kept by the ${this.#source()} and shows ${isoTime(this.#ports.clock.now())}; set it there, or confirm that time`,
    );
  }

  async #look(): Promise<void> {
    if (this.#options.trust !== 'auto') return;
    const found = (await this.#ports.evidence.detectSource()) ?? 'nothing';
    if (!this.#isRunning) return;
    if (found === 'network') this.#ownerTime = undefined;
    this.#found = found;
    if (found === 'network') return;
    const isSettled = this.isTrusted() && !this.#ownerTime;
    this.#after('look', isSettled ? LOOK_TRUSTED_MS : LOOK_UNTRUSTED_MS, () => void this.#look());
  }

  #saveLater(): void {
    this.#after('save', SAVE_EVERY_MS, () => {
      this.#saveLater();
      this.#saveIfPossible();
    });
  }

  /** Saves the floor. Ignores an error, because other modules report a full disk, and a stop must not fail because of it. */
  #saveIfPossible(): void {
    try {
      this.#save();
    } catch {
      // The next attempt, or the next start, saves it.
    }
  }

  /** Saves the floor. If the clock is trusted, the floor first becomes the current time; otherwise it advances by the elapsed time. */
  #save(): void {
    if (this.isTrusted()) {
      const shown = this.#mark(this.#shownMs());
      if (this.#isSystemRight() || this.#ownerTime) this.#proven = shown;
      this.#assumed = shown;
    }
    this.#ports.store.set(SPACE, 'floor', {
      proven_ms: Math.floor(this.#passed(this.#proven)),
      assumed_ms: Math.floor(this.#passed(this.#assumed)),
    });
    if (!this.#ownerTime) this.#ports.store.delete(SPACE, 'owner');
    else {
      const timeMs = Math.floor(this.#passed(this.#ownerTime));
      this.#ports.store.set(SPACE, 'owner', {
        time_ms: timeMs,
        uptime_ms: this.#ports.evidence.uptimeMs(),
        boot_id: this.#ports.evidence.bootId(),
      });
    }
  }

  #load(): void {
    const floor = this.#ports.store.get(SPACE, 'floor');
    const provenMs = Math.max(this.#options.buildTimeMs, numberOf(floor, 'proven_ms'));
    this.#proven = this.#mark(provenMs);
    this.#assumed = this.#mark(Math.max(provenMs, numberOf(floor, 'assumed_ms')));
    const owner = this.#ports.store.get(SPACE, 'owner');
    const bootId = this.#ports.evidence.bootId();
    if (!isJsonObject(owner) || bootId === '' || owner.boot_id !== bootId) return;
    this.#ownerTime = this.#mark(numberOf(owner, 'time_ms') + this.#ports.evidence.uptimeMs() - numberOf(owner, 'uptime_ms'));
  }

  #mark(timeMs: number): Mark {
    return { timeMs, monotonicMs: this.#ports.clock.monotonic() };
  }

  #passed({ timeMs, monotonicMs }: Mark): number {
    return timeMs + this.#ports.clock.monotonic() - monotonicMs;
  }

  #after(name: 'look' | 'save', delayMs: number, work: () => void): void {
    this.#cancel.set(name, this.#ports.clock.after(delayMs, work));
  }
}

function numberOf(stored: Json | undefined, name: string): number {
  const value = isJsonObject(stored) ? stored[name] : undefined;
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** Port: finds out whether the machine's clock can be trusted. */
export interface ClockEvidence {
  /** Returns the source that confirms the machine's clock; undefined if there is none. Never rejects. */
  detectSource(): Promise<'network' | 'hardware' | 'host' | undefined>;
  /** Returns an id that stays the same until the machine restarts. */
  bootId(): string;
  /** Returns the milliseconds since the machine started; a change of the clock does not affect them. */
  uptimeMs(): number;
}

/** The parts of the system from which SystemClockEvidence reads. Tests replace them. */
interface SystemParts {
  readonly root?: string;
  readonly isKernelSynchronised?: () => Promise<boolean>;
  readonly systemMs?: () => number;
}

/** Return value of adjtimex(2) if the clock is not synchronised. */
const TIME_ERROR = 5;
/** `sizeof(struct timex)` on 64-bit Linux. With a struct of zeros, adjtimex only reads the state of the clock. */
const TIMEX_BYTES = 208;
/**
 * Permitted difference in milliseconds between hardware clock and system clock. A hardware clock is wrong by years after a loss of power,
 * and otherwise by about a second.
 */
const HARDWARE_TOLERANCE_MS = 120_000;

/** Checks the clock of a Linux machine. The sources, in order of preference: kernel, systemd-timesyncd, hardware clock, host. */
export class SystemClockEvidence implements ClockEvidence {
  readonly #parts: Required<SystemParts>;

  constructor({ root = '/', isKernelSynchronised = queryKernel, systemMs = Date.now }: SystemParts = {}) {
    this.#parts = { root, isKernelSynchronised, systemMs };
  }

  async detectSource(): Promise<'network' | 'hardware' | 'host' | undefined> {
    if (await this.#parts.isKernelSynchronised()) return 'network';
    // systemd-timesyncd creates this file at the first sync after a boot. It is checked because a sandboxed service may not call adjtimex.
    if (existsSync(this.#path('run/systemd/timesync/synchronized'))) return 'network';
    const clocks = this.#path('sys/class/rtc');
    // Containers and most virtual machines have no RTC device, because their host provides the time.
    if (!existsSync(clocks)) return 'host';
    return this.#agreesWithOneOf(clocks) ? 'hardware' : undefined;
  }

  bootId(): string {
    return readText(this.#path('proc/sys/kernel/random/boot_id')) ?? '';
  }

  uptimeMs(): number {
    return Math.round(uptime() * 1000);
  }

  /** Returns whether a hardware clock agrees with the system's time. A hardware clock without a battery is wrong after a start. */
  #agreesWithOneOf(clocks: string): boolean {
    return readdirSync(clocks).some((name) => {
      const text = readText(join(clocks, name, 'since_epoch'));
      return text !== undefined && Math.abs(Number(text) * 1000 - this.#parts.systemMs()) <= HARDWARE_TOLERANCE_MS;
    });
  }

  #path(path: string): string {
    return join(this.#parts.root, path);
  }
}

/** Returns whether the kernel reports a synchronised clock; false if the call is not permitted. */
async function queryKernel(): Promise<boolean> {
  try {
    const { default: koffi } = await import('koffi');
    const adjtimex = koffi.load(null).func('int adjtimex(void *timex)');
    const state: number = adjtimex(Buffer.alloc(TIMEX_BYTES));
    return state >= 0 && state !== TIME_ERROR;
  } catch {
    return false;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

// The bundler sets the build time; it is undefined if the hub runs from its sources.
declare const ATMO_BUILD_TIME_MS: number | undefined;

/** Returns the build time of this program in milliseconds since 1970. A clock with an earlier time is wrong. */
export function buildTimeMs(): number {
  return typeof ATMO_BUILD_TIME_MS === 'number' ? ATMO_BUILD_TIME_MS : Math.floor(statSync(import.meta.filename).mtimeMs);
}
