import { type Clock, isoTime, pause } from '../../core/clock.ts';
import type { UpgradeReason, UpgradeRecord } from '../upgrade-record.ts';

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
  /** `stopped`: somebody stopped it, or it is not meant to run. */
  readonly state: 'running' | 'starting' | 'stopped' | 'failed';
  /** Whether its health page answers. Devices and networks do not count. */
  readonly answers: boolean;
  /** Process of the hub; 0 if there is none. */
  readonly pid: number;
  /** How often it ended and was started again since somebody started it. */
  readonly restarts: number;
}

/** Port: the machine with the package. Every action may be repeated: a power cut may come at any moment. */
export interface UpgradeMachine {
  record(): UpgradeRecord | undefined;
  note(record: UpgradeRecord): void;
  /** Removes the record, because no upgrade took place. */
  forget(): void;
  /** Notes that nothing is left to do, so that the next boot does not ask again. */
  finish(): void;
  /** How long earlier starts took, in milliseconds. */
  startsMs(): readonly number[];
  look(): Promise<ServiceLook>;
  /** Version that dpkg has installed completely; undefined if its work was interrupted. */
  installedVersion(): Promise<string | undefined>;
  /** Lets dpkg finish what it has unpacked. `busy`: another program uses dpkg. */
  configure(): Promise<'done' | 'busy'>;
  /** Whether a version is below the lowest one without a known security hole. */
  isBelowMinimum(version: string): Promise<boolean>;
  /** Whether the files of the version before are there. */
  hasKept(): boolean;
  /** Runs the service from the kept files, also after a reboot. */
  runKept(): Promise<void>;
  /** Installs the kept version as a package. */
  installKept(): Promise<'done' | 'busy' | 'failed'>;
  /** Keeps apt from installing a version again by itself. */
  avoid(version: string): void;
  /** Runs the service from the installed files again. */
  runInstalled(): Promise<void>;
  discardKept(): void;
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
 * files, which needs no lock of dpkg, then by installing them. A run that was interrupted is taken up by the next one. It goes back once:
 * nothing is kept for the version before, so that it is not watched.
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
    const record = machine.record();
    if (record?.step === 'installing') await this.#finishInstalling(record);
    else if (record?.step === 'watching') await this.#watch(record);
    else if (record?.step === 'rolling-back') await this.#install(record);
    else if (record?.step === 'rolled-back') await this.#finishBack();
    if (record?.step === 'settled' || record?.step === 'stayed') machine.finish();
    return machine.record();
  }

  /** Goes back because the owner asked for it. Returns the record as it is then; undefined if there was no upgrade. */
  async goBack(): Promise<UpgradeRecord | undefined> {
    const record = this.#parts.machine.record();
    if (record && record.step !== 'rolled-back') await this.#back(record, 'owner');
    return this.#parts.machine.record();
  }

  /** The machine was switched off, or dpkg was killed, while it installed the new version. */
  async #finishInstalling(record: UpgradeRecord): Promise<void> {
    const { machine, report } = this.#parts;
    report(`The upgrade from ${record.from} to ${record.to} was interrupted`);
    while ((await machine.configure()) === 'busy') await this.#pause(BUSY_MS);
    const version = await machine.installedVersion();
    const now = machine.record() ?? record;
    if (version === record.from) machine.forget();
    else if (version === undefined) await this.#back(now, 'not_installed');
    else await this.#watch({ ...now, step: 'watching' });
  }

  async #watch(record: UpgradeRecord): Promise<void> {
    const { machine, clock, report } = this.#parts;
    machine.note(record);
    const verdict = await this.#verdict(startLimitMs(machine.startsMs()));
    if (verdict !== 'up' && verdict !== 'stopped') return this.#back(record, verdict);
    machine.note({ ...record, step: 'settled', atMs: clock.now() });
    machine.finish();
    report(verdict === 'up' ? `${record.to} has come up` : `${record.to} is installed; the hub is stopped, so that nobody waited for it`);
  }

  async #verdict(limitMs: number): Promise<'up' | 'stopped' | UpgradeReason> {
    const { machine, clock } = this.#parts;
    const beganMs = clock.monotonic();
    let steady: { readonly pid: number; readonly sinceMs: number } | undefined;
    for (;;) {
      const { state, answers, pid, restarts } = await machine.look();
      const nowMs = clock.monotonic();
      if (state === 'failed' || restarts >= MOST_ENDS) return 'ended';
      if (!answers) steady = undefined;
      else if (steady?.pid !== pid) steady = { pid, sinceMs: nowMs };
      else if (nowMs - steady.sinceMs >= STEADY_MS) return 'up';
      if (nowMs - beganMs >= limitMs + (steady ? STEADY_MS : 0)) return state === 'stopped' ? 'stopped' : 'no_answer';
      await this.#pause(LOOK_MS);
    }
  }

  async #back(record: UpgradeRecord, reason: UpgradeReason): Promise<void> {
    const { machine, clock, report } = this.#parts;
    const decided = { ...record, reason, atMs: clock.now() };
    report(`${record.to} is not kept: ${REASON_WORDS[reason]}`);
    const obstacle = (await machine.isBelowMinimum(record.from)) ? 'minimum' : machine.hasKept() ? undefined : 'nothing_kept';
    if (obstacle === undefined) {
      machine.note({ ...decided, step: 'rolling-back' });
      return this.#install(decided);
    }
    machine.note({ ...decided, step: 'stayed', obstacle });
    machine.finish();
    report(`There is no way back to ${record.from}: ${OBSTACLE_WORDS[obstacle]}`);
  }

  async #install(record: UpgradeRecord): Promise<void> {
    const { machine, report } = this.#parts;
    await machine.runKept();
    machine.avoid(record.to);
    report(`${record.from} runs again; it is being installed, too`);
    for (let tries = 0; tries < INSTALL_TRIES; ) {
      const outcome = await machine.installKept();
      if (outcome === 'done') return this.#finishBack({ ...record, step: 'rolled-back' });
      if (outcome === 'failed') tries += 1;
      await this.#pause(BUSY_MS);
    }
    report(`${record.from} runs, but dpkg did not install it; the next start of the machine tries again`);
  }

  async #finishBack(record?: UpgradeRecord): Promise<void> {
    const { machine, report } = this.#parts;
    if (record) machine.note(record);
    await machine.runInstalled();
    machine.discardKept();
    machine.finish();
    if (record?.atMs !== undefined) report(`${record.from} is installed again, because of what happened at ${isoTime(record.atMs)}`);
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

const OBSTACLE_WORDS = {
  minimum: 'it has a known security hole. Install a newer version, or see journalctl -u atmosphere-edge',
  nothing_kept: 'its files are not there. Install its package, or see journalctl -u atmosphere-edge',
} as const;
