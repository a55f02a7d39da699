/** Somebody who is no member and means harm. Arguments: `host:port` of the hub to harm, number of connections, seed. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { mutated, randomOf } from '../mesh/mutation.ts';

/** TLS, HTTP, the first words of libp2p, prefixes of lengths that nobody has. */
const GREETINGS = [
  '160301020001000000',
  '474554202f20485454502f312e310d0a0d0a',
  '132f6d756c746973747265616d2f312e302e300a',
  'ffffffff',
  '0020',
  '00',
];
const FRAMES_A_CONNECTION = 40;
const PAUSE_MS = 30;

const [target = '', connectionCount = '0', seed = '1'] = process.argv.slice(2);
const [host = '', port = ''] = target.split(':');
const random = randomOf(Number(seed));
const words = GREETINGS.map((hex) => Buffer.from(hex, 'hex'));
let frames = 0;

console.log('READY');
for (let count = 0; count < Number(connectionCount); count++) {
  const socket = connect(Number(port), host).on('error', () => undefined);
  socket.resume();
  for (let frame = 0; frame < FRAMES_A_CONNECTION; frame++, frames++) socket.write(mutated(words, random));
  await sleep(PAUSE_MS);
  socket.destroy();
}
console.log(JSON.stringify({ frames }));
process.exit();
