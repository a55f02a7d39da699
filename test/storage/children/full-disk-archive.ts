import { execFileSync } from 'node:child_process';
import { readdirSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../../src/core/errors.ts';
import { stateArchive } from '../../../src/hub/offline/backup.ts';
import { quickly } from '../backup/quick-derivation.ts';

/** Puts a backup back on a disk without enough room, and makes one there; says what it saw as JSON. */
const [disk = '', stateDir = '', file = '', passphrase = ''] = process.argv.slice(2);
execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=200k,mode=700', 'tmpfs', disk]);
writeFileSync(join(disk, 'ballast'), Buffer.alloc(120_000));
const archive = stateArchive({ ATMO_STATE_DIR: stateDir }, quickly);
const askForCopies = () => Promise.reject(new Error('no hub runs'));
const told = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof AtmoError ? `${error.code} ${error.details.cause}: ${error.message}` : `unexpected: ${error}`),
  );
const restore = await told(archive.restore({ stateDir: join(disk, 'state'), file, passphrase }));
const { bavail, bsize } = statfsSync(disk);
writeFileSync(join(disk, 'more'), Buffer.alloc((bavail - 1) * bsize));
const backup = await told(archive.backup({ stateDir, file: join(disk, 'home.atmo'), passphrase, askForCopies }));
process.stdout.write(JSON.stringify({ backup, restore, left: readdirSync(disk), state: readdirSync(join(disk, 'state')) }));
process.exit(0);
