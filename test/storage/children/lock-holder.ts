import { StateLock } from '../../../src/storage/state-lock.ts';

/** Takes the lock of the directory given and holds it until it is killed. */
await new StateLock(process.argv[2] ?? '').start();
process.stdout.write('held\n');
setInterval(() => {}, 1000);
