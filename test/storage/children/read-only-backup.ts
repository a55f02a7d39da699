import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { HubKey } from '../../../src/auth/hub-key.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { EventBus } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { stateArchive } from '../../../src/hub/offline/backup.ts';
import { StateStore } from '../../../src/storage/state-store.ts';
import { quickly } from '../backup/quick-derivation.ts';
import { journalParts } from '../storage-services.ts';

/** Backs up the state of a hub that was killed, on a disk that is read-only since. */
const [disk = '', file = '', passphrase = ''] = process.argv.slice(2);
execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=700', 'tmpfs', disk]);
const [alive, stateDir] = [join(disk, 'alive'), join(disk, 'state')];
execFileSync('mkdir', ['-m', '700', alive]);
const collaborators = { clock: systemClock, logger: silentLogger, events: new EventBus('urn:test', systemClock), ...journalParts(alive) };
const store = new StateStore(collaborators, { directory: alive, snapshotDirectory: join(alive, 'snapshots'), skipsCopyAtStop: true });
await new HubKey(alive, () => {}).start();
await store.start();
store.set('devices', 'lamp', 'Lamp');
// As a kill leaves it: what was written last is in the log alone.
cpSync(alive, stateDir, { recursive: true });
await store[Symbol.asyncDispose]();
await collaborators.fileAnchors[Symbol.asyncDispose]();
execFileSync('mount', ['-o', 'remount,ro', disk]);
const askForCopies = () => Promise.reject(new Error('no hub runs'));
await stateArchive({ ATMO_STATE_DIR: stateDir }, quickly).backup({ stateDir, file, passphrase, askForCopies });
process.exit(0);
