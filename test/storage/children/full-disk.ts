import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/core/clock.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { StateLock } from '../../../src/storage/state-lock.ts';
import { StateStore } from '../../../src/storage/state-store.ts';
import { journalParts } from '../storage-services.ts';

/** Fills the disk it is given until a write is refused, makes room, goes on, starts again; says what it saw as JSON. */
const directory = process.argv[2] ?? '';
const ballast = join(directory, 'ballast');
const collaborators = { clock: systemClock, logger: silentLogger, events: { emit() {} }, ...journalParts(directory) };
const open = async () => {
  const store = new StateStore(collaborators, { directory, snapshotDirectory: join(directory, 'snapshots') });
  await store.start();
  return store;
};
const refusal = async (work: () => unknown) => {
  try {
    await work();
    return 'none';
  } catch (error) {
    return error instanceof AtmoError ? `${error.code} ${error.details.cause}: ${error.message}` : `unexpected: ${String(error)}`;
  }
};

const lock = new StateLock(directory);
await lock.start();
await lock[Symbol.asyncDispose]();
writeFileSync(ballast, Buffer.alloc(300_000));
const store = await open();
let acknowledged = 0;
const write = await refusal(() => {
  for (; acknowledged < 10_000; acknowledged++) store.set('s', `k${acknowledged}`, 'x'.repeat(5000));
});
const snapshot = await refusal(() => store.snapshot());
const leftovers = readdirSync(join(directory, 'snapshots'));
const readable = store.entries('s').length;
rmSync(ballast);
const afterwards = await refusal(() => store.set('s', 'after', 1));
await store[Symbol.asyncDispose]();
const again = await open();
const kept = again.entries('s').length;
await again[Symbol.asyncDispose]();
// Not a byte is left: the hub starts all the same, and reads.
rmSync(join(directory, 'snapshots'), { recursive: true });
const fill = (bytes: number) => writeFileSync(ballast, Buffer.alloc(bytes), { flag: 'a' });
for (let bytes = 65_536; bytes >= 1; bytes = Math.floor(bytes / 2)) while ((await refusal(() => fill(bytes))) === 'none');
const { problems } = collaborators;
const start = await refusal(() => lock.start());
const full = await open();
const readableFull = full.entries('s').length;
const writeFull = await refusal(() => full.set('s', 'large', 'x'.repeat(400_000)));
const problemsFull = problems.list();
rmSync(ballast);
full.set('s', 'after', 3);
const problemsAfter = problems.list();
await full[Symbol.asyncDispose]();
await lock[Symbol.asyncDispose]();
const onFullDisk = { start, readable: readableFull, write: writeFull, problems: problemsFull, problemsAfter };
process.stdout.write(JSON.stringify({ onFullDisk, write, snapshot, leftovers, acknowledged, readable, afterwards, kept }));
