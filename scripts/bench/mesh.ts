/** What a call to another hub takes: time against the work that it needs, bytes, calls per second. */

import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MeshHub } from '../../test/live/mesh/mesh-hub.ts';
import type { BenchFigure } from './figure.ts';
import { engineEcho, OpenEcho } from './mesh-echo.ts';
import { bytesOf, MeshPair } from './mesh-pair.ts';
import { median, quantile } from './statistics.ts';

const WARM_UP = 200;
const CALLS = 500;
const PARALLEL = 32;
const PARALLEL_CALLS = 400;
/**
 * Bar of what another hub adds / what it cannot do without: an exchange and a pass through the pipeline of that hub. A call to a direct
 * neighbour needs no signature (docs/decisions/052-a-session-vouches-for-its-neighbour.md).
 */
const BAR = 1.3;
/** Bar of what another hub adds / an exchange and the two signatures that each call had. It was 2.6. */
const SIGNED_BAR = 1.63;
const SIGNED_BYTES = 600;
/** A caller may call 200 times a second, and 400 times at once after a rest. */
const PACE_MS = 10;
const REST_MS = 3_000;
/** Of a call that is signed: the entry hub signs what is asked, the executing hub what is answered; each verifies the other's. */
const SIGNATURES_OF_SIGNED = 2;

/** The echo of the engine in two processes, then calls between two bundled hubs, each a process on a host of its own. */
export async function run(): Promise<BenchFigure[]> {
  const echo = await engineEcho();
  await using pair = await new MeshPair().start();
  const [here, there] = pair.members;
  const { homeMs, awayMs, ...needs } = await callsInTurns(here, there);
  const [echoMs, signatureMs] = [median(needs.echoMs), median(needs.signatureMs)];
  const addedMs = median(awayMs) - median(homeMs);
  const pipelineMs = median(homeMs) - median(needs.lookMs);
  const ratio = addedMs / (echoMs + pipelineMs);
  const signedRatio = addedMs / (echoMs + signatureMs);
  const bytes = await bytesPerCall(here, there);
  const perSecond = await callsPerSecond(here, there);
  const common = { bar: null, ok: true, samples: CALLS };
  return [
    ...echo,
    {
      ...{ name: 'mesh.call.ratio', value: ratio, unit: 'ratio', bar: BAR, ok: ratio <= BAR, samples: CALLS },
      vs: 'what a call there takes longer than the same call here / an echo and a pass through the pipeline',
    },
    {
      ...{
        name: 'mesh.call.signed_ratio',
        value: signedRatio,
        unit: 'ratio',
        bar: SIGNED_BAR,
        ok: signedRatio <= SIGNED_BAR,
        samples: CALLS,
      },
      vs: 'the same / an echo and the signatures of a call that is signed',
    },
    { ...common, name: 'mesh.call.pipeline', value: pipelineMs, unit: 'ms', vs: 'p50 of a call here less p50 of a look at its tool' },
    { ...common, name: 'mesh.call.added', value: addedMs, unit: 'ms', vs: 'p50 of a call there less p50 of a call here' },
    { ...common, name: 'mesh.call.away', value: median(awayMs), unit: 'ms', vs: 'p50 over HTTP of a tool of the other hub' },
    { ...common, name: 'mesh.call.away_p95', value: quantile(awayMs, 0.95), unit: 'ms', vs: 'p95 over HTTP of a tool of the other hub' },
    { ...common, name: 'mesh.call.home', value: median(homeMs), unit: 'ms', vs: 'p50 over HTTP of the same tool of the hub itself' },
    { ...common, name: 'mesh.call.echo', value: echoMs, unit: 'ms', vs: 'p50 of the echo, in turns with the calls' },
    {
      ...common,
      name: 'mesh.call.signatures',
      value: signatureMs,
      unit: 'ms',
      vs: 'p50 of two Ed25519 signatures made and verified, in turns with the calls',
    },
    { ...common, name: 'mesh.call.bytes', value: bytes, unit: 'B', vs: 'both directions at the card, with Ethernet headers' },
    {
      ...common,
      name: 'mesh.call.rate',
      value: perSecond,
      unit: 'calls/s',
      samples: PARALLEL_CALLS,
      vs: `${PARALLEL} at a time, over HTTP`,
    },
  ];
}

function callOf(hub: MeshHub, from: MeshHub): Promise<unknown> {
  return from.result(`lab:count_${hub.name}`, { ticket: 'bench' });
}

/** Milliseconds of each kind of work, each time. `lookMs`: a request of the same caller to the same hub that calls nothing. */
type Times = Record<'homeMs' | 'lookMs' | 'awayMs' | 'echoMs' | 'signatureMs', number[]>;

/** What is done now and then takes several times as long as in a tight loop: all of it with the same rests, and as often. */
async function callsInTurns(here: MeshHub, there: MeshHub): Promise<Times> {
  await using echo = await OpenEcho.start();
  const signAndVerify = signer();
  const turns: readonly [keyof Times, () => unknown][] = [
    ['homeMs', () => callOf(here, here)],
    ['lookMs', () => here.get(`/api/v1/tools/lab:count_${here.name}`)],
    ['awayMs', () => callOf(there, here)],
    ['echoMs', () => echo.exchange()],
    ['signatureMs', () => signAndVerify()],
  ];
  const times: Times = { homeMs: [], lookMs: [], awayMs: [], echoMs: [], signatureMs: [] };
  for (let count = 0; count < WARM_UP + CALLS; count++) {
    for (const [name, work] of turns) {
      const startMs = performance.now();
      await work();
      if (count >= WARM_UP) times[name].push(performance.now() - startMs);
      await sleep(PACE_MS);
    }
  }
  return times;
}

async function bytesPerCall(here: MeshHub, there: MeshHub): Promise<number> {
  const before = await bytesOf(here);
  for (let count = 0; count < CALLS; count++) {
    await callOf(there, here);
    await sleep(PACE_MS);
  }
  return ((await bytesOf(here)) - before) / CALLS;
}

async function callsPerSecond(here: MeshHub, there: MeshHub): Promise<number> {
  await sleep(REST_MS);
  let left = PARALLEL_CALLS;
  const startMs = performance.now();
  const worker = async () => {
    while (left-- > 0) await callOf(there, here);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return (1_000 * PARALLEL_CALLS) / (performance.now() - startMs);
}

/** Makes and verifies as many signatures as a signed call needs. */
function signer(): () => void {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const message = randomBytes(SIGNED_BYTES);
  return () => {
    for (let count = 0; count < SIGNATURES_OF_SIGNED; count++) verify(null, message, publicKey, sign(null, message, privateKey));
  };
}
