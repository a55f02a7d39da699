import { encodeCbor } from '../../src/codec/cbor.ts';
import { hubIdOf } from '../../src/codec/public-key.ts';
import { announce, homeWithTools } from './announced-home.ts';
import { announcementJson } from './announcement-json.ts';
import type { BenchFigure } from './figure.ts';

const COUNTS = [10, 40, 100];
const RATIO_BAR = 0.35;
/** Of 40 tools. */
const BYTES_BAR = 1_600;
/** Stands for the certificate, which is not counted. */
const NO_CERTIFICATE = [Uint8Array.of(0)];

interface Sizes {
  readonly count: number;
  readonly bytes: number;
  readonly jsonBytes: number;
  readonly bareJsonBytes: number;
}

/** Bytes of a signed announcement with 10, 40 and 100 generated tools, without devices and certificate, against the JSON form. */
export async function run(): Promise<BenchFigure[]> {
  const sizes: Sizes[] = [];
  for (const count of COUNTS) sizes.push(await measure(count));
  return sizes.flatMap(figures);
}

async function measure(count: number): Promise<Sizes> {
  const home = await homeWithTools(count);
  const envelope = announce(home, NO_CERTIFICATE);
  const json = announcementJson({
    announcement: { hubId: hubIdOf(Buffer.alloc(32).toString('base64url')), timeMs: 0 },
    state: home.state,
    envelope,
    definitionOf: (hash) => home.definitions.get(hash),
  });
  const bare = JSON.stringify(json, (key, value) => (key === 'description' ? undefined : value));
  return {
    count: home.state.tools.length,
    bytes: envelope.length - encodeCbor(NO_CERTIFICATE).length,
    jsonBytes: Buffer.byteLength(JSON.stringify(json)),
    bareJsonBytes: Buffer.byteLength(bare),
  };
}

function figures({ count, bytes, jsonBytes, bareJsonBytes }: Sizes): BenchFigure[] {
  const name = `announce.tools_${count}`;
  const bytesBar = count === 40 ? BYTES_BAR : null;
  const ratio = (suffix: string, of: number, vs: string): BenchFigure => ({
    ...{ name: `${name}_${suffix}`, value: bytes / of, unit: 'ratio', bar: RATIO_BAR, ok: bytes / of <= RATIO_BAR, samples: 1 },
    vs: `${vs}, ${of} bytes`,
  });
  return [
    {
      ...{ name: `${name}_bytes`, value: bytes, unit: 'bytes', bar: bytesBar, ok: bytesBar === null || bytes <= bytesBar, samples: 1 },
      vs: 'signed, without devices and certificate',
    },
    ratio('json', jsonBytes, 'JSON form with descriptions'),
    ratio('bare_json', bareJsonBytes, 'JSON form without descriptions'),
  ];
}
