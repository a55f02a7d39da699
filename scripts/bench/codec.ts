/** What it costs to take an announcement in, against one bare Ed25519 verification of as many bytes. */
import { spawnSync } from 'node:child_process';
import { randomBytes, sign } from 'node:crypto';
import { join } from 'node:path';
import { rawPublicKey } from '../../src/codec/public-key.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { announce, homeWithTools } from './announced-home.ts';
import type { CodecRound, CodecTask } from './codec-program.ts';
import type { BenchFigure } from './figure.ts';
import { median } from './statistics.ts';

const BAR = 1.3;
/** With a certificate of two links the announcement has about 2 KB. */
const TOOLS = 52;
const LINK_BYTES = 280;
/** As the hub runs. */
const FLAGS = ['--max-semi-space-size=2'];

/** One announcement is opened again and again; nothing is remembered between two times. */
export async function run(): Promise<BenchFigure[]> {
  const home = await homeWithTools(TOOLS);
  const envelope = announce(home, [Uint8Array.from(randomBytes(LINK_BYTES)), Uint8Array.from(randomBytes(LINK_BYTES))]);
  const rounds = measured({
    envelope: Buffer.from(envelope).toString('base64'),
    signature: sign(null, envelope, home.key).toString('base64'),
    publicKey: rawPublicKey(home.key),
  });
  const ratio = median(rounds.map(({ openUs, rawUs }) => openUs / rawUs));
  const samples = rounds.length;
  const reported = (name: string, value: number): BenchFigure => ({
    ...{ name, value, unit: 'µs', bar: null, ok: true, samples, vs: 'processor time for one announcement, rounds of 100' },
  });
  return [
    {
      ...{ name: 'codec.open', value: ratio, unit: '×', bar: BAR, ok: ratio <= BAR, samples },
      vs: `look over the bytes, decode and verify ${envelope.length} bytes / one node:crypto Ed25519 verification of as many`,
    },
    reported('codec.open_time', median(rounds.map(({ openUs }) => openUs))),
    reported('codec.raw_verify', median(rounds.map(({ rawUs }) => rawUs))),
  ];
}

/** In a process of its own: the model of the standard, which names the tools, is more than a codec should have to live with. */
function measured(task: CodecTask): readonly CodecRound[] {
  const program = join(import.meta.dirname, 'codec-program.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [...FLAGS, program], { input: JSON.stringify(task), encoding: 'utf8' });
  if (status !== 0) throw new AtmoError('INTERNAL_ERROR', `The measured program ended with ${status}: ${stderr.slice(0, 500)}`);
  return JSON.parse(stdout) as readonly CodecRound[];
}
