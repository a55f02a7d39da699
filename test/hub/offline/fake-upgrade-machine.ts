import type { Installation, ServiceLook, UpgradeMachine } from '../../../src/hub/offline/upgrade-watch.ts';
import type { UpgradeRecord } from '../../../src/hub/upgrade-record.ts';
import { ManualClock } from '../../manual-clock.ts';

/** How a version of the hub behaves on the machine. */
export type Behaviour = 'good' | 'ends' | 'hangs' | 'fails' | 'stopped' | 'slow' | 'queued';

class PowerCut extends Error {}

/** A clock on which whoever waits does not wait. */
export class SkippingClock extends ManualClock {
  override after(delayMs: number, callback: () => void): () => void {
    setImmediate(() => {
      this.advance(delayMs);
      callback();
    });
    return () => undefined;
  }
}

/** How long a start waits for the network and the time, for which nothing answers. */
const QUEUED_MS = 600_000;

/** What a machine holds that outlives a power cut, and what runs there. */
export interface Disk {
  record: UpgradeRecord | undefined;
  /** What the package's scripts set aside. */
  before?: UpgradeRecord;
  installed: Installation;
  /** dpkg died while it unpacked, so that it cannot finish. */
  isDamaged?: boolean;
  kept: string | undefined;
  unit: 'installed' | 'kept';
  /** From which files the hub runs: after a start of the machine from those that its unit names. `nothing`: dpkg has stopped it. */
  runs: 'installed' | 'kept' | 'nothing';
  avoided: readonly string[];
  minimum: string;
}

export const FROM = '0.1.0';
export const TO = '0.2.0';
export const complete = (version: string): Installation => ({ version, phase: 'complete' });
export const upgraded = (): Disk => ({
  record: { step: 'watching', from: FROM, to: TO },
  installed: complete(TO),
  kept: FROM,
  unit: 'installed',
  runs: 'installed',
  avoided: [],
  minimum: '0.0.1',
});

export class FakeUpgradeMachine implements UpgradeMachine {
  readonly disk: Disk;
  readonly acts: string[] = [];
  /** The machine loses its power at this change, before or after it took place, and changes nothing more. */
  cutAt = Number.POSITIVE_INFINITY;
  /** What others do with dpkg, once for each time that they are found at it. */
  others: (() => void)[] = [];
  starts: readonly number[] = [];
  /** What becomes of each attempt to install the kept version; the rest succeeds. */
  attempts: ('failed' | 'not packed')[] = [];
  /** Ends of the hub that systemd has counted before. */
  endsBefore = 0;
  /** At how many looks the hub that is stopped still ends its calls. */
  drains = 0;
  readonly #behaviours: Readonly<Record<string, Behaviour>>;
  readonly #clock: ManualClock;
  #startedMs: number;
  #moments = 0;

  constructor(disk: Disk, behaviours: Readonly<Record<string, Behaviour>>, clock: ManualClock) {
    this.disk = disk;
    this.#behaviours = behaviours;
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  /** The version whose files the service runs. */
  get running(): string | undefined {
    const { runs, kept, installed } = this.disk;
    return { installed: installed.version, kept, nothing: undefined }[runs];
  }

  get isOff(): boolean {
    return this.#moments >= this.cutAt;
  }

  get moments(): number {
    return this.#moments;
  }

  record(): UpgradeRecord | undefined {
    return this.disk.record;
  }

  note(record: UpgradeRecord): void {
    this.#change(`note ${record.step}`, (disk) => {
      disk.record = record;
    });
  }

  recordBefore(): UpgradeRecord | undefined {
    return this.disk.before;
  }

  restoreRecord(): void {
    this.#change('restore record', (disk) => {
      disk.record = disk.before;
    });
  }

  startsMs(): readonly number[] {
    return this.starts;
  }

  async look(): Promise<ServiceLook> {
    const sinceMs = this.#clock.now() - this.#startedMs;
    const behaviour = this.running === undefined ? 'fails' : (this.#behaviours[this.running] ?? 'good');
    if (behaviour === 'ends') return { state: 'starting', answers: false, pid: 0, restarts: Math.floor(sinceMs / 6_000) };
    if (behaviour === 'fails') return { state: 'failed', answers: false, pid: 0, restarts: 0 };
    if (behaviour === 'stopped') return { state: 'stopped', answers: false, pid: 0, restarts: this.endsBefore };
    if (behaviour === 'queued' && sinceMs < QUEUED_MS) return { state: 'queued', answers: false, pid: 0, restarts: 0 };
    if (behaviour === 'queued') return { state: 'running', answers: sinceMs >= QUEUED_MS + 50_000, pid: 7, restarts: 0 };
    const answers = behaviour === 'good' ? sinceMs >= 2_000 : behaviour === 'slow' && sinceMs >= 100_000;
    return { state: answers ? 'running' : 'starting', answers, pid: 7, restarts: 0 };
  }

  async installed(): Promise<Installation> {
    return this.disk.installed;
  }

  async configure(): Promise<'done' | 'busy'> {
    if (this.#isBusy()) return 'busy';
    this.#change('configure', (disk) => {
      if (disk.installed.phase !== 'complete' && !disk.isDamaged) disk.installed = complete(disk.installed.version);
    });
    this.#startedMs = this.#clock.now();
    return 'done';
  }

  async isBelowMinimum(version: string): Promise<boolean> {
    return version < this.disk.minimum;
  }

  async raiseMinimum(): Promise<void> {
    this.#change('raise minimum', (disk) => {
      disk.minimum = disk.installed.version;
    });
  }

  hasKept(version: string): boolean {
    return this.disk.kept === version;
  }

  async runKept(): Promise<void> {
    if (this.disk.unit !== 'kept') {
      this.#change('unit of kept', (disk) => {
        disk.unit = 'kept';
      });
    }
    await this.#runFrom('kept');
  }

  async installKept(): Promise<'done' | 'busy' | 'failed'> {
    if (this.#isBusy()) return 'busy';
    const outcome = this.attempts.shift();
    if (outcome === 'not packed') throw new Error('No space left on device');
    if (outcome === 'failed') return 'failed';
    this.#change('unpack kept', (disk) => {
      disk.installed = { version: FROM, phase: 'incomplete' };
    });
    this.#change('install kept', (disk) => {
      disk.installed = complete(disk.kept ?? '');
    });
    return 'done';
  }

  avoid(version: string): void {
    this.#change('avoid', (disk) => {
      disk.avoided = [...new Set([...disk.avoided, version])];
    });
  }

  allow(version: string): void {
    this.#change('allow', (disk) => {
      disk.avoided = disk.avoided.filter((one) => one !== version);
    });
  }

  async runInstalled(): Promise<void> {
    if (this.disk.unit !== 'installed') {
      this.#change('unit of installed', (disk) => {
        disk.unit = 'installed';
      });
    }
    await this.#runFrom('installed');
  }

  async isKeptInUse(): Promise<boolean> {
    this.drains -= 1;
    return this.disk.runs === 'kept' || this.drains >= 0;
  }

  discardKept(): void {
    if (this.disk.runs === 'kept' || this.drains > 0) throw new Error('The hub still runs from the kept files');
    this.#change('discard kept', (disk) => {
      disk.kept = undefined;
    });
  }

  async #runFrom(files: Disk['runs']): Promise<void> {
    if (this.disk.runs === files) return;
    this.#change(`run ${files}`, (disk) => {
      disk.runs = files;
    });
    this.#startedMs = this.#clock.now();
  }

  #isBusy(): boolean {
    const act = this.others.shift();
    act?.();
    return act !== undefined;
  }

  #change(name: string, effect: (disk: Disk) => void): void {
    this.#moment();
    effect(this.disk);
    this.acts.push(name);
    this.#moment();
  }

  #moment(): void {
    this.#moments += 1;
    if (this.isOff) throw new PowerCut();
  }
}
