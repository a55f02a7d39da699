/** Opens the announcement of its standard input and verifies as many bytes, in turns; prints the times of each round as JSON. */
import { verify } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { openAnnouncement } from '../../src/codec/messages/announcement.ts';
import { publicKeyOf } from '../../src/codec/public-key.ts';

/** Both sides alternate in short rounds, so that a busy machine slows both alike. */
const ROUNDS = 60;
const MESSAGES_A_ROUND = 100;
const WARM_UP_ROUNDS = 30;

/** What the program is given, bytes in base64. */
export interface CodecTask {
  readonly envelope: string;
  /** Of the envelope's bytes, by the same key. */
  readonly signature: string;
  /** Raw key, base64url. */
  readonly publicKey: string;
}

/** Microseconds of processor time for one announcement, over a round. */
export interface CodecRound {
  readonly rawUs: number;
  readonly openUs: number;
}

const task = JSON.parse(await text(process.stdin)) as CodecTask;
const envelope = Uint8Array.from(Buffer.from(task.envelope, 'base64'));
const signature = Buffer.from(task.signature, 'base64');
const publicKey = publicKeyOf(task.publicKey);
for (let count = 0; count < WARM_UP_ROUNDS; count++) round();
console.log(JSON.stringify(Array.from({ length: ROUNDS }, round)));

function round(): CodecRound {
  return {
    rawUs: meanUs(() => verify(null, envelope, publicKey, signature)),
    openUs: meanUs(() => openAnnouncement(envelope, () => publicKey)),
  };
}

/** Processor time, not the time of day: others use the machine too. */
function meanUs(work: () => unknown): number {
  const before = process.cpuUsage();
  for (let count = 0; count < MESSAGES_A_ROUND; count++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / MESSAGES_A_ROUND;
}
