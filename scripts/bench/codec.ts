/** What it costs to take an announcement in, against one bare Ed25519 verification of as many bytes. */
import { createPublicKey, randomBytes, sign, verify } from 'node:crypto';
import { openAnnouncement } from '../../src/wire/messages/announcement.ts';
import { announce, homeWithTools } from './announced-home.ts';
import type { BenchFigure } from './figure.ts';
import { median } from './statistics.ts';

/** Both sides alternate in short rounds, so that a busy machine slows both alike. */
const ROUNDS = 60;
const MESSAGES_A_ROUND = 100;
const WARM_UP_ROUNDS = 20;
const BAR = 1.3;
/** With a certificate of two links the announcement has about 2 KB. */
const TOOLS = 48;
const LINK_BYTES = 280;

/** Microseconds of processor time for one announcement, over a round. */
interface Round {
  readonly rawUs: number;
  readonly openUs: number;
}

/** Opens one announcement of 48 tools again and again; nothing is remembered between two times. */
export async function run(): Promise<BenchFigure[]> {
  const home = await homeWithTools(TOOLS);
  const envelope = announce(home, [Uint8Array.from(randomBytes(LINK_BYTES)), Uint8Array.from(randomBytes(LINK_BYTES))]);
  const publicKey = createPublicKey(home.key);
  const signature = sign(null, envelope, home.key);
  const round = (): Round => ({
    rawUs: meanUs(() => verify(null, envelope, publicKey, signature)),
    openUs: meanUs(() => openAnnouncement(envelope, () => publicKey)),
  });
  for (let count = 0; count < WARM_UP_ROUNDS; count++) round();
  const rounds = Array.from({ length: ROUNDS }, round);
  const ratio = median(rounds.map(({ openUs, rawUs }) => openUs / rawUs));
  const samples = ROUNDS * MESSAGES_A_ROUND;
  const reported = (name: string, value: number, unit: string): BenchFigure => ({
    ...{ name, value, unit, bar: null, ok: true, samples, vs: 'processor time for one announcement' },
  });
  return [
    {
      ...{ name: 'codec.open', value: ratio, unit: '×', bar: BAR, ok: ratio <= BAR, samples },
      vs: `look over the bytes, decode and verify ${envelope.length} bytes / one node:crypto Ed25519 verification of as many`,
    },
    reported('codec.open_time', median(rounds.map(({ openUs }) => openUs)), 'µs'),
    reported('codec.raw_verify', median(rounds.map(({ rawUs }) => rawUs)), 'µs'),
  ];
}

/** Processor time, not the time of day: others use the machine too. */
function meanUs(work: () => unknown): number {
  const before = process.cpuUsage();
  for (let count = 0; count < MESSAGES_A_ROUND; count++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / MESSAGES_A_ROUND;
}
