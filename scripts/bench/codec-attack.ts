/**
 * Decodes malformed messages of every kind and tells what it took: `node --max-semi-space-size=2 scripts/bench/codec-attack.ts 1000000`.
 * Prints one JSON line; exits 1 when anything but a refusal is thrown.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { attack } from '../../test/codec/messages/hostile-messages.ts';

const WARM_UP = 50_000;
/** As in a hub, the event loop goes on between them: without it what was freed is not given back. */
const A_TURN = 1_000;
const SEED = 20_260_101;

interface Total {
  accepted: number;
  slowestMs: number;
}

async function attackInTurns(count: number, seed: number): Promise<Total> {
  const total: Total = { accepted: 0, slowestMs: 0 };
  for (let sent = 0; sent < count; sent += A_TURN) {
    const { accepted, slowestMs } = attack(A_TURN, seed + sent);
    total.accepted += accepted;
    total.slowestMs = Math.max(total.slowestMs, slowestMs);
    await turn();
  }
  return total;
}

const { positionals } = parseArgs({ allowPositionals: true });
const count = Number(positionals[0] ?? 100_000);
await attackInTurns(WARM_UP, SEED - WARM_UP);
const beforeBytes = process.memoryUsage.rss();
const startMs = performance.now();
const total = await attackInTurns(count, SEED);
const grownMb = (process.memoryUsage.rss() - beforeBytes) / 2 ** 20;
console.log(JSON.stringify({ count, ...total, seconds: (performance.now() - startMs) / 1000, grownMb }));
