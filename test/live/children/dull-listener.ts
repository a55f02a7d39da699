/** Takes every connection and reads what comes, which is all that it does. Argument: the port. READY once it listens. */
import { createServer } from 'node:net';

const [port = '0'] = process.argv.slice(2);
createServer((socket) => socket.on('error', () => undefined).resume()).listen(Number(port), () => console.log('READY'));
