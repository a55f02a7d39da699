import { BrokenInvariant } from '../broken-invariant.ts';
import { GUARDED } from '../device-kinds.ts';
import type { Effect, Ledger } from '../ledger.ts';
import type { SimulatedMachine } from '../simulated-machine.ts';

const PAGE_ROWS = 1_000;
/** A row of a call that is not guarded is on the disk so many milliseconds later; the sync itself may take 40 of them. */
const SYNCED_AFTER_MS = 300;

interface Row {
  readonly seq: number;
  readonly kind: string;
  readonly trace?: string;
  readonly request?: string;
}

/**
 * Checks the audit log of a hub: its chain verifies, and each effect of the machine has the intent of its call in it. Throws
 * BrokenInvariant.
 */
export async function checkAudit(machine: SimulatedMachine, { effects }: Ledger): Promise<void> {
  const { intact, problem } = await machine.asOwner('verify_audit');
  // The chain itself shows what a damaged file has lost.
  const isDamaged = Number.isFinite(machine.lostRowsMs);
  if (!intact && !isDamaged) throw new BrokenInvariant('the chain verifies', `${machine.name}: ${JSON.stringify(problem)}`, [machine.name]);
  const intended = new Set((await rowsOf(machine)).filter(({ kind }) => kind === 'intent').map(({ request }) => request));
  const kept = effects.filter(
    (effect) => effect.machine === machine.name && effect.atMs > machine.lostRowsMs && !mayBeLost(effect, machine),
  );
  const missing = kept.find(({ requestId }) => !intended.has(requestId));
  if (missing) throw lostRow(missing);
}

/** Returns whether the disk or a power cut may have taken the rows of a call. Those of a guarded call are on the disk before it acts. */
function mayBeLost({ atMs, tool, disk }: Effect, { powerCuts }: SimulatedMachine): boolean {
  if (tool.includes(GUARDED)) return false;
  return disk !== 'well' || powerCuts.some((cut) => cut.atMs >= atMs && cut.refusedMs - atMs <= SYNCED_AFTER_MS);
}

function lostRow({ machine, requestId, trace, tool }: Effect): BrokenInvariant {
  return new BrokenInvariant('each effect is in the chain', `${tool} of ${requestId} on ${machine} is not`, [trace, requestId]);
}

async function rowsOf(machine: SimulatedMachine): Promise<readonly Row[]> {
  const all: Row[] = [];
  for (let before: number | undefined; ; ) {
    const { rows, next_before: next } = await machine.asOwner('read_audit', { limit: PAGE_ROWS, ...(before && { before }) });
    all.push(...rows);
    if (next === undefined) return all;
    before = next;
  }
}
