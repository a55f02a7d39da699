import { type Clock, pause } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isOpen, type UpgradeRecord } from '../upgrade-record.ts';
import { OBSTACLE_WORDS, obstacleTo, type UpgradeMachine } from './upgrade-watch.ts';

const LOOK_MS = 1_000;

/** Port: the service that runs the watch of upgrades. */
export interface WatchService {
  /** Resolves when it runs; also when it has nothing to do and ends at once. */
  start(): Promise<void>;
  /** Resolves when it does not run. What it has started, such as dpkg, goes on. */
  stop(): Promise<void>;
  isRunning(): Promise<boolean>;
}

interface BackParts {
  readonly machine: Pick<UpgradeMachine, 'record' | 'note' | 'isBelowMinimum' | 'hasKept'>;
  readonly watch: WatchService;
  readonly clock: Clock;
  /** Writes a line for the owner who waits. */
  readonly report: (line: string) => void;
}

/**
 * Goes back to the version before the last upgrade because the owner asked for it: writes this into the record and lets the watch do it, so
 * that it goes on if this program ends. Returns the record when the watch has ended; undefined if there was no upgrade. Throws CONFLICT if there
 * is no way back, or if dpkg is at work on the new version.
 */
export async function goBack(parts: BackParts): Promise<UpgradeRecord | undefined> {
  const { machine, watch } = parts;
  const record = machine.record();
  if (record === undefined || record.step === 'rolled-back') return record;
  requireInstalled(record);
  if (record.step !== 'rolling-back') await decide(parts);
  await watch.start();
  return follow(parts);
}

/** Writes the decision while nobody else writes. The watch may have decided something before it was stopped. */
async function decide({ machine, watch, clock, report }: BackParts): Promise<void> {
  await watch.stop();
  try {
    const record = machine.record();
    if (record === undefined || record.step === 'rolling-back' || record.step === 'rolled-back') return;
    requireInstalled(record);
    const obstacle = await obstacleTo(machine, record.from);
    if (obstacle) throw new AtmoError('CONFLICT', `There is no way back to ${record.from}: ${OBSTACLE_WORDS[obstacle]}`);
    machine.note({ step: 'rolling-back', from: record.from, to: record.to, reason: 'owner', atMs: clock.now() });
    report(`${record.from} is being installed again; journalctl -f -u atmosphere-edge-upgrade shows how far that is`);
  } catch (error) {
    await watch.start();
    throw error;
  }
}

function requireInstalled({ step, to }: UpgradeRecord): void {
  if (step === 'installing') throw new AtmoError('CONFLICT', `dpkg is installing ${to}; ask again when it has finished`);
}

async function follow({ machine, watch, clock }: BackParts): Promise<UpgradeRecord | undefined> {
  const never = new AbortController();
  for (;;) {
    const isRunning = await watch.isRunning();
    const record = machine.record();
    if (!isRunning || !isOpen(record)) return record;
    await pause(clock, LOOK_MS, never.signal);
  }
}
