import { hash } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { OwnedHome } from './every-tool/owned-home.ts';
import { APPLIANCES } from './every-tool/rows/appliance-rows.ts';
import { CLIMATE } from './every-tool/rows/climate-rows.ts';
import { ENERGY } from './every-tool/rows/energy-rows.ts';
import { LIGHTS } from './every-tool/rows/light-rows.ts';
import { MEDIA } from './every-tool/rows/media-rows.ts';
import { MOVING } from './every-tool/rows/moving-rows.ts';
import { SENSORS } from './every-tool/rows/sensor-rows.ts';
import type { DeviceRows } from './every-tool/tool-row.ts';
import { describeUndo, type HomeTrials, type WholeBars } from './every-tool/undo.ts';

/** All tools take many minutes, so without this in the environment the test takes a sample. */
const IS_WHOLE = process.env.ATMO_UNDO_TOOLS === 'all';
/** Chooses the sample: the day, so that each day has others. */
const SEED = Number(process.env.ATMO_UNDO_SEED ?? Math.floor(Date.now() / 86_400_000));
const SAMPLED_HOMES = 5;
const SAMPLED_TOOLS = 4;

const WHOLE: WholeBars = { rehearsals: 10_000, reversible: 0.8, changing: 0.95, hands: 30, killed: 20 };
const SAMPLE: WholeBars = { rehearsals: 0, reversible: 0, changing: 0.5, hands: 0, killed: 1 };

const homes = homesOf([...LIGHTS, ...ENERGY, ...CLIMATE, ...SENSORS, ...APPLIANCES, ...MOVING, ...MEDIA]);
const tried = IS_WHOLE ? homes : homes.toSorted(bySeed).slice(0, SAMPLED_HOMES).map(sampleOf);
let owned: OwnedHome;
beforeAll(async () => {
  if (!IS_WHOLE) process.stdout.write(`ATMO_UNDO_SEED=${SEED}: ${tried.flatMap(({ rows }) => rows.map(({ tool }) => tool)).join(', ')}\n`);
  owned = await OwnedHome.start({ names: tried.map(({ home }) => home), log: 'info' });
  await owned.settledDevices();
}, 600_000);
afterAll(() => owned?.[Symbol.asyncDispose]());
describeUndo(() => owned, tried, IS_WHOLE ? WHOLE : SAMPLE);

/** Returns the acting tools of each process of the home that has one. */
function homesOf(devices: readonly DeviceRows[]): readonly HomeTrials[] {
  const byHome = [...Map.groupBy(devices, ({ home }) => home)];
  const acting = byHome.map(([home, own]) => ({
    home,
    earlier: [],
    rows: own.flatMap(({ rows }) => rows.filter((row) => !row.isReading)),
  }));
  return acting.filter(({ rows }) => rows.length > 0);
}

function bySeed(a: HomeTrials, b: HomeTrials): number {
  return numberOf(a.home) - numberOf(b.home);
}

/** Returns some successive tools of a home. Those before them are only called, since the rows of a device build on each other. */
function sampleOf({ home, rows }: HomeTrials): HomeTrials {
  const start = numberOf(`${home} tools`) % Math.max(1, rows.length - SAMPLED_TOOLS + 1);
  return { home, earlier: rows.slice(0, start), rows: rows.slice(start, start + SAMPLED_TOOLS) };
}

function numberOf(text: string): number {
  return hash('sha256', `${SEED} ${text}`, 'buffer').readUInt32BE();
}
