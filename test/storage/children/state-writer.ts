import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/core/clock.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { StateStore } from '../../../src/storage/state-store.ts';
import { journalParts } from '../storage-services.ts';

/** Writes entries without end and says the number of each one once it is stored. */
const directory = process.argv[2] ?? '';
const collaborators = { clock: systemClock, logger: silentLogger, events: { emit() {} }, ...journalParts(directory) };
const store = new StateStore(collaborators, { directory, snapshotDirectory: join(directory, 'snapshots') });
await store.start();
for (let n = store.entries('s').length; ; n++) {
  store.set('s', `k${n}`, { n, text: 'x'.repeat(n % 700) });
  writeSync(1, `${n}\n`);
}
