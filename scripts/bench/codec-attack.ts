/**
 * Decodes malformed messages of every kind and tells what it took: `node --max-semi-space-size=2 scripts/bench/codec-attack.ts 1000000`.
 * Prints one JSON line; exits 1 when anything but a refusal is thrown. The memory is looked at once everything has run for a while.
 */
import { parseArgs } from 'node:util';
import { attack } from '../../test/wire/messages/attack.ts';

const WARM_UP = 50_000;
const SEED = 20_260_101;

const { positionals } = parseArgs({ allowPositionals: true });
const count = Number(positionals[0] ?? 100_000);
attack(WARM_UP, SEED - 100);
const beforeBytes = process.memoryUsage.rss();
const startMs = performance.now();
const { accepted, slowestMs } = attack(count, SEED);
const grownMb = (process.memoryUsage.rss() - beforeBytes) / 2 ** 20;
console.log(JSON.stringify({ count, accepted, seconds: (performance.now() - startMs) / 1000, slowestMs, grownMb }));
