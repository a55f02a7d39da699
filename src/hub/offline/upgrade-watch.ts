import { type Clock, isoTime, pause } from '../../core/clock.ts';
import { isOpen, type OpenUpgrade, type UpgradeObstacle, type UpgradeReason, type UpgradeRecord } from '../upgrade-record.ts';

const LOOK_MS = 1_000;
/** A hub has come up when its health page has answered for this long from one process. */
const STEADY_MS = 10_000;
const SHORTEST_LIMIT_MS = 60_000;
const LONGEST_LIMIT_MS = 300_000;
/** The first start of a new version compiles its code and migrates databases: it may take this many times as long as the slowest earlier one. */
const LIMIT_FACTOR = 3;
/** A hub that ended this often does not come up any more. */
const MOST_ENDS = 3;
const BUSY_MS = 5_000;
const INSTALL_TRIES = 3;

/** What the machine says about the service of the hub at one moment. */
export interface ServiceLook {
  /**
   * `queued`: it starts when the services that it waits for have started, as at the start of the machine. `stopped`: somebody stopped it, or
   * it is not meant to run.
   */
  readonly state: 'running' | 'starting' | 'queued' | 'stopped' | 'failed';
  /** Whether its health page answers. Devices and networks do not count. */
  readonly answers: boolean;
  /** Process of the hub; 0 if there is none. */
  readonly pid: number;
  /** How often it ended and was started again since somebody started it. */
  readonly restarts: number;
}

/** What dpkg says of the package. */
export interface Installation {
  readonly version: string;
  /**
   * `configuring`: its files are all there and its postinst has begun, at the end of which it is `complete`. `incomplete`: dpkg is at work on
   * its files or has not begun to configure it.
   */
  readonly phase: 'incomplete' | 'configuring' | 'complete';
}

/** Port: the machine with the package. Every action may be repeated: a power cut may come at any moment. */
export interface UpgradeMachine {
  record(): UpgradeRecord | undefined;
  note(record: UpgradeRecord): void;
  /** The record that stood before an upgrade at which dpkg still is; undefined if there was none. */
  recordBefore(): UpgradeRecord | undefined;
  /** Puts that record back, because this upgrade did not take place. */
  restoreRecord(): void;
  /** How long earlier starts took, in milliseconds. */
  startsMs(): readonly number[];
  look(): Promise<ServiceLook>;
  installed(): Promise<Installation>;
  /** Lets dpkg finish what it has unpacked. `busy`: another program uses dpkg. */
  configure(): Promise<'done' | 'busy'>;
  /** Whether a version is below the lowest one without a known security hole. */
  isBelowMinimum(version: string): Promise<boolean>;
  /** Makes the lowest version without a known security hole the one that the installed version names, if that is higher. */
  raiseMinimum(): Promise<void>;
  /** Whether all files of a version are kept. */
  hasKept(version: string): boolean;
  /**
   * Runs the service from the kept files, also after a reboot. Does not touch a process that does so: what runs counts, not what was written,
   * since whoever wrote it may have ended before it restarted the service.
   */
  runKept(): Promise<void>;
  /** Installs the kept version as a package. Rejects where that cannot be begun. */
  installKept(): Promise<'done' | 'busy' | 'failed'>;
  /** Keeps apt from installing a version again by itself. */
  avoid(version: string): void;
  /** Takes back `avoid`. */
  allow(version: string): void;
  /** Runs the service from the installed files, in the same way. */
  runInstalled(): Promise<void>;
  /** Whether a process of the service still has the kept files, such as one that ends its calls before it stops. */
  isKeptInUse(): Promise<boolean>;
  /** Removes the kept files. After a power cut all of them are there or none. */
  discardKept(): void;
}

/** Returns why there is no way back to a version; undefined if there is one. */
export async function obstacleTo(
  machine: Pick<UpgradeMachine, 'isBelowMinimum' | 'hasKept'>,
  version: string,
): Promise<UpgradeObstacle | undefined> {
  if (await machine.isBelowMinimum(version)) return 'minimum';
  return machine.hasKept(version) ? undefined : 'nothing_kept';
}

interface WatchParts {
  readonly machine: UpgradeMachine;
  readonly clock: Clock;
  /** Writes a line for the owner into the log of the machine. */
  readonly report: (line: string) => void;
}

/** Returns for how long a new version may take to come up, learned from earlier starts. */
export function startLimitMs(startsMs: readonly number[]): number {
  return Math.min(LONGEST_LIMIT_MS, Math.max(SHORTEST_LIMIT_MS, LIMIT_FACTOR * Math.max(0, ...startsMs)));
}

/**
 * Watches an upgrade of the package until the new version has come up, else goes back to the version before: at first by running its kept
 * files, which needs no lock of dpkg, then by installing them. It does one step after the other, each of which writes the next one into the
 * record, so that a run that was interrupted is taken up by the next one. It goes back once: nothing is kept for the version before, so that
 * it is not watched.
 */
export class UpgradeWatch {
  readonly #parts: WatchParts;
  readonly #never = new AbortController();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /** Does what the record says is left to do. Returns the record as it is then; undefined if there was no upgrade. */
  async run(): Promise<UpgradeRecord | undefined> {
    const { machine } = this.#parts;
    for (let record = machine.record(); ; record = machine.record()) {
      if (!isOpen(record)) return record;
      const next = await this.#next(record);
      if (next === 'waits') return record;
      if (next === 'none') machine.restoreRecord();
      else machine.note(next);
    }
  }

  /** Does a step and returns the next one. `none`: there was no upgrade. `waits`: the next start of the machine tries again. */
  #next(record: OpenUpgrade): Promise<UpgradeRecord | 'none' | 'waits'> {
    if (record.step === 'installing') return this.#awaitInstalled(record);
    return record.step === 'watching' ? this.#awaitStart(record) : this.#installKept(record);
  }

  /** Waits for dpkg. If it died, as in a power cut, this finishes its work. The start is awaited from the postinst on, which waits for it too. */
  async #awaitInstalled(record: OpenUpgrade): Promise<UpgradeRecord | 'none'> {
    const { machine, report } = this.#parts;
    for (let hasTried = false; ; ) {
      const { version, phase } = await machine.installed();
      if (version === record.to && phase !== 'incomplete') return { ...record, step: 'watching' };
      if (phase === 'complete') return this.#afterRefusal(record, version);
      if (hasTried) return this.#back(record, 'not_installed');
      hasTried = (await machine.configure()) === 'done';
      if (hasTried) report(`dpkg did not finish the upgrade from ${record.from} to ${record.to}`);
      else await this.#pause(BUSY_MS);
    }
  }

  /** dpkg did not install the version. Another one may be installed whose own upgrade dpkg had left unfinished: that one is watched. */
  #afterRefusal(record: OpenUpgrade, installed: string): UpgradeRecord | 'none' {
    const isBefore = installed === record.from || installed === this.#parts.machine.recordBefore()?.to;
    return isBefore ? 'none' : { ...record, to: installed, step: 'watching' };
  }

  async #awaitStart(record: OpenUpgrade): Promise<UpgradeRecord> {
    const { machine, clock, report } = this.#parts;
    const verdict = await this.#verdict(startLimitMs(machine.startsMs()));
    if (verdict !== 'up' && verdict !== 'stopped') return this.#back(record, verdict);
    const installation = await this.#complete(record.to);
    if (installation === 'impossible') return this.#back(record, 'not_installed');
    if (installation === 'completed') return record;
    machine.allow(record.to);
    await machine.raiseMinimum();
    report(verdict === 'up' ? `${record.to} has come up` : `${record.to} is installed; the hub is stopped, so that nobody waited for it`);
    return { ...record, step: 'settled', atMs: clock.now() };
  }

  async #verdict(limitMs: number): Promise<'up' | 'stopped' | UpgradeReason> {
    const { machine, clock } = this.#parts;
    let beganMs = clock.monotonic();
    let steady: { readonly pid: number; readonly sinceMs: number } | undefined;
    for (;;) {
      const { state, answers, pid, restarts } = await machine.look();
      const nowMs = clock.monotonic();
      // A start that waits for others, such as the network after a power cut, has not begun.
      if (state === 'queued') beganMs = nowMs;
      if (state === 'failed' || (state !== 'stopped' && restarts >= MOST_ENDS)) return 'ended';
      if (!answers) steady = undefined;
      else if (steady?.pid !== pid) steady = { pid, sinceMs: nowMs };
      else if (nowMs - steady.sinceMs >= STEADY_MS) return 'up';
      if (nowMs - beganMs >= limitMs + (steady ? STEADY_MS : 0)) return state === 'stopped' ? 'stopped' : 'no_answer';
      await this.#pause(LOOK_MS);
    }
  }

  /** A hub may run that is not installed completely, because dpkg died while it configured it. `completed`: the postinst has run again. */
  async #complete(wanted: string): Promise<'complete' | 'completed' | 'impossible'> {
    const { machine } = this.#parts;
    for (let hasTried = false; ; ) {
      const { version, phase } = await machine.installed();
      if (phase === 'complete' && version === wanted) return hasTried ? 'completed' : 'complete';
      if (hasTried || phase === 'complete') return 'impossible';
      hasTried = (await machine.configure()) === 'done';
      if (!hasTried) await this.#pause(BUSY_MS);
    }
  }

  async #back(record: OpenUpgrade, reason: UpgradeReason): Promise<UpgradeRecord> {
    const { machine, clock, report } = this.#parts;
    report(`${record.to} is not kept: ${REASON_WORDS[reason]}`);
    const decided = { ...record, reason, atMs: clock.now() };
    const obstacle = await obstacleTo(machine, record.from);
    return obstacle === undefined ? { ...decided, step: 'rolling-back' } : this.#stay(decided, obstacle);
  }

  /** Where dpkg died before it unpacked anything, the installed files are whole, and the hub is stopped. */
  async #stay(record: UpgradeRecord, obstacle: UpgradeObstacle): Promise<UpgradeRecord> {
    await this.#parts.machine.runInstalled();
    this.#parts.report(`There is no way back to ${record.from}: ${OBSTACLE_WORDS[obstacle]}`);
    return { ...record, step: 'stayed', obstacle };
  }

  async #installKept(record: OpenUpgrade): Promise<UpgradeRecord | 'waits'> {
    const { machine, report } = this.#parts;
    const isInstalled = await this.#isInstalled(record);
    if (!isInstalled && !machine.hasKept(record.from)) return this.#stay(record, 'nothing_kept');
    if (!isInstalled) await this.#runKept(record);
    machine.avoid(record.to);
    if (!isInstalled && !(await this.#isKeptInstalled(record))) return 'waits';
    await machine.runInstalled();
    // The hub loads parts of itself when they are first needed.
    while (await machine.isKeptInUse()) await this.#pause(LOOK_MS);
    machine.discardKept();
    report(`${record.from} is installed again${record.atMs === undefined ? '' : `, because of what happened at ${isoTime(record.atMs)}`}`);
    return { ...record, step: 'rolled-back' };
  }

  async #isInstalled({ from }: UpgradeRecord): Promise<boolean> {
    const { version, phase } = await this.#parts.machine.installed();
    return version === from && phase === 'complete';
  }

  async #runKept({ from }: UpgradeRecord): Promise<void> {
    await this.#parts.machine.runKept();
    this.#parts.report(`${from} runs again; it is being installed, too`);
  }

  /** Installs the kept version as soon as nobody else uses dpkg, unless they have installed it. Returns whether it is installed. */
  async #isKeptInstalled(record: UpgradeRecord): Promise<boolean> {
    for (let tries = 0; tries < INSTALL_TRIES; ) {
      if (await this.#isInstalled(record)) return true;
      const outcome = await this.#tryInstall();
      if (outcome === 'done') return true;
      if (outcome === 'failed') tries += 1;
      await this.#pause(BUSY_MS);
    }
    this.#parts.report(
      `${record.from} runs, but it was not installed; the next start of the machine tries again, as does: sudo atmo upgrade back`,
    );
    return false;
  }

  /** What cannot be packed is a failure like one of dpkg: without this, systemd would start the watch again for ever. */
  async #tryInstall(): Promise<'done' | 'busy' | 'failed'> {
    try {
      return await this.#parts.machine.installKept();
    } catch (error) {
      this.#parts.report(`The kept files could not be packed as a package: ${error instanceof Error ? error.message : error}`);
      return 'failed';
    }
  }

  async #pause(delayMs: number): Promise<void> {
    await pause(this.#parts.clock, delayMs, this.#never.signal);
  }
}

const REASON_WORDS: Readonly<Record<UpgradeReason, string>> = {
  ended: 'the hub ended again and again',
  no_answer: 'the health page of the hub did not answer in time',
  not_installed: 'dpkg was interrupted and could not go on',
  owner: 'its owner wants the version before',
};

export const OBSTACLE_WORDS: Readonly<Record<UpgradeObstacle, string>> = {
  minimum: 'it has a known security hole. Install a newer version, or see journalctl -u atmosphere-edge',
  nothing_kept: 'its files are not there. Install its package, or see journalctl -u atmosphere-edge',
};
