import { BrokenInvariant } from '../broken-invariant.ts';
import type { Effect } from '../ledger.ts';

/** An automation is due whenever the wall clock of its hub shows a multiple of this, in milliseconds. */
export const CRON_MS = 5 * 60_000;
/** A time counts for so many milliseconds (docs/automations.md), and its run may take the rest. */
const LATEST_MS = 30_000 + 30_000;
/** Everything has to be well for so long before a run must come, in milliseconds. */
const CALM_MS = 120_000;

/** What the owner has said about an automation, and when it ran. Times are milliseconds of the world. */
export interface AutomationHistory {
  readonly machine: string;
  readonly agent: string;
  /** Parameters of its call. Those of a version count until the owner gets the answer that there is a newer one. */
  readonly versions: { readonly params: string; endedMs?: number }[];
  /** From the answer to a call that disabled it until the next call that enables it. */
  readonly pauses: { readonly fromMs: number; untilMs?: number }[];
  /** When it called its device, by the time of the hub's wall clock that was due. */
  readonly runs: Map<number, number>;
  /** It may be gone, since a file was damaged in which it stood, or its hub may not trust its clock. */
  isUnsure: boolean;
  /** When the owner got the last answer to a change; infinite while a change is under way. */
  changedMs: number;
}

/** What the checks need to know about a call that an automation makes. */
interface AutomationCall {
  readonly call: Omit<Effect, 'atMs'>;
  readonly nowMs: number;
  /** The wall clock of the hub. */
  readonly wallMs: number;
}

/** Checks that an automation may call its device now. Throws BrokenInvariant. */
export function checkAutomationCall(history: AutomationHistory, { call, nowMs, wallMs }: AutomationCall): void {
  const dueMs = Math.floor(wallMs / CRON_MS) * CRON_MS;
  const before = history.runs.get(dueMs);
  history.runs.set(dueMs, nowMs);
  const version = history.versions.find(({ params }) => params === call.params);
  const fail = (problem: string) => {
    throw new BrokenInvariant('automations run as promised', `${history.agent} called ${call.tool} at ${nowMs} ms, ${problem}`, [
      history.agent,
      call.trace,
    ]);
  };
  if (before !== undefined) fail(`although it had done so at ${before} ms for the same time`);
  if (wallMs - dueMs > LATEST_MS) fail(`${wallMs - dueMs} ms late`);
  if (!version || (version.endedMs ?? nowMs) < nowMs) fail(`as its version with ${call.params} did`);
  if (history.pauses.some(({ fromMs, untilMs = nowMs }) => fromMs < nowMs && nowMs <= untilMs)) fail('although it was disabled');
}

/** A time at which an automation is due. */
interface DueTime {
  readonly dueMs: number;
  /** What the wall clock of the hub shows then. */
  readonly wallMs: number;
  /** Since when no fault has come to its machine. */
  readonly calmSinceMs: number;
}

/** Checks that an automation has run which was due and had no reason not to run. Throws BrokenInvariant. */
export function requireRun(history: AutomationHistory, due: DueTime): void {
  const { dueMs, wallMs, calmSinceMs } = due;
  if (history.isUnsure || Math.max(calmSinceMs, history.changedMs) > dueMs - CALM_MS) return;
  if (history.pauses.some(({ fromMs, untilMs = Number.POSITIVE_INFINITY }) => fromMs <= dueMs && dueMs <= untilMs + CALM_MS)) return;
  // When a clock is set back, times up to the last one that counted do not count again.
  const hasRun = history.runs.keys().some((ranMs) => ranMs >= wallMs);
  if (!hasRun) throw new BrokenInvariant('automations run as promised', `${history.agent} did not run at ${dueMs} ms`, [history.agent]);
}

/** The hub may have lost changes of an automation, so each version may count again, and what was disabled may be enabled. */
export function forgetChanges(history: AutomationHistory): void {
  for (const version of history.versions) delete version.endedMs;
  history.pauses.length = 0;
  history.isUnsure = true;
}
