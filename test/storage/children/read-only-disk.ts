import { join } from 'node:path';
import { systemClock } from '../../../src/core/clock.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { prepareStateDirectory } from '../../../src/storage/state-directory.ts';
import { StateLock } from '../../../src/storage/state-lock.ts';
import { StateStore } from '../../../src/storage/state-store.ts';
import { journalParts } from '../storage-services.ts';

/** Tries every way in on a disk that cannot be written; says the answers as JSON. */
const directory = process.argv[2] ?? '';
const collaborators = { clock: systemClock, logger: silentLogger, events: { emit() {} }, ...journalParts(directory) };
const answers: Record<string, string> = {};
const attempt = async (name: string, work: () => unknown) => {
  try {
    await work();
    answers[name] = 'none';
  } catch (error) {
    answers[name] = error instanceof AtmoError ? `${error.code} ${error.details.cause}` : `unexpected: ${String(error)}`;
  }
};

await attempt('directory', () => prepareStateDirectory(join(directory, 'new'), silentLogger));
await attempt('lock', () => new StateLock(directory).start());
await attempt('store', () => new StateStore(collaborators, { directory, snapshotDirectory: directory }).start());
process.stdout.write(JSON.stringify(answers));
