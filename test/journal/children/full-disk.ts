import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../../src/core/errors.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { systemClock } from '../../../src/core/time/clock.ts';
import { StateStore } from '../../../src/journal/state-store.ts';

/** Fills the disk it is given until a write is refused, makes room, goes on, starts again; says what it saw as JSON. */
const directory = process.argv[2] ?? '';
const ballast = join(directory, 'ballast');
const collaborators = { clock: systemClock, logger: silentLogger, events: { emit() {} } };
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
process.stdout.write(JSON.stringify({ write, snapshot, leftovers, acknowledged, readable, afterwards, kept }));
