import { readdirSync } from 'node:fs';
import { FileRoots } from '../../../src/connectors/files/file-roots.ts';
import { toAtmoError } from '../../../src/core/errors.ts';

// Runs where the folder is a disk of 256 KiB; tells in one line what became of two files.
const [folder = '', stateDir = ''] = process.argv.slice(2);
const files = new FileRoots({ small: { path: folder, writable: true } }, stateDir);
await files.write('small/list.txt', 'peas');
const code = await files.write('small/list.txt', 'x'.repeat(1_000_000)).catch((error: unknown) => toAtmoError(error).code);
console.log(JSON.stringify({ code, content: await files.read('small/list.txt'), names: readdirSync(folder) }));
