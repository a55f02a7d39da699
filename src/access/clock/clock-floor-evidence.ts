import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';

/** Port: what the machine knows about its clock. */
export interface ClockEvidence {
  /** Why the machine's clock may be right; undefined when nothing speaks for it. Never fails. */
  look(): Promise<'network' | 'hardware' | 'host' | undefined>;
  /** The same until the machine starts again. */
  bootId(): string;
  /** Milliseconds since the machine started; setting its clock changes nothing about them. */
  uptimeMs(): number;
}

/** Where a test puts other files and another kernel. */
interface SystemParts {
  readonly root?: string;
  readonly isKernelSynchronised?: () => Promise<boolean>;
  readonly systemMs?: () => number;
}

/** adjtimex(2): the answer of a clock that nobody keeps. */
const TIME_ERROR = 5;
/** `sizeof(struct timex)` on 64-bit Linux; all zero asks and changes nothing. */
const TIMEX_BYTES = 208;
/** A hardware clock that was without power is years off; one that works is a second off. */
const HARDWARE_TOLERANCE_MS = 120_000;

/** The evidence of a Linux machine, best first: kernel, systemd-timesyncd, hardware clock, host. */
export class SystemClockEvidence implements ClockEvidence {
  readonly #root: string;
  readonly #isKernelSynchronised: () => Promise<boolean>;
  readonly #systemMs: () => number;

  constructor({ root = '/', isKernelSynchronised = askKernel, systemMs = Date.now }: SystemParts = {}) {
    this.#root = root;
    this.#isKernelSynchronised = isKernelSynchronised;
    this.#systemMs = systemMs;
  }

  async look(): Promise<'network' | 'hardware' | 'host' | undefined> {
    if (await this.#isKernelSynchronised()) return 'network';
    // Sandboxed services may not ask the kernel; timesyncd touches this file at its first answer after each boot.
    if (existsSync(this.#path('run/systemd/timesync/synchronized'))) return 'network';
    const clocks = this.#path('sys/class/rtc');
    // Containers and most virtual machines have no such class: their host keeps the time.
    if (!existsSync(clocks)) return 'host';
    return this.#agreesWithOneOf(clocks) ? 'hardware' : undefined;
  }

  bootId(): string {
    return readText(this.#path('proc/sys/kernel/random/boot_id')) ?? '';
  }

  uptimeMs(): number {
    return Math.round(uptime() * 1000);
  }

  /** True when a hardware clock shows the time that the system does: one whose battery is missing does not. */
  #agreesWithOneOf(clocks: string): boolean {
    return readdirSync(clocks).some((name) => {
      const text = readText(join(clocks, name, 'since_epoch'));
      return text !== undefined && Math.abs(Number(text) * 1000 - this.#systemMs()) <= HARDWARE_TOLERANCE_MS;
    });
  }

  #path(path: string): string {
    return join(this.#root, path);
  }
}

/** False also where the kernel may not be asked. */
async function askKernel(): Promise<boolean> {
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
