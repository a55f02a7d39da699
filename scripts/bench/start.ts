import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import { BareProgram } from './bare-program.ts';
import type { BenchFigure } from './figure.ts';
import { fleetOf } from './fleet-spec.ts';
import { HubProgram } from './hub-program.ts';
import { moduleImports } from './module-import.ts';
import { median } from './statistics.ts';
import { Workspace } from './workspace.ts';

const PAIRS = 5;
const RETRY_MS = 10;
const GIVE_UP_MS = 30_000;
const BAR = 1.3;

/** From exec to the first call that a known device answered, in turns with the bare controller; and what each room costs to load. */
export async function run(): Promise<BenchFigure[]> {
  await Promise.all([HubProgram.build(), BareProgram.build()]);
  using workspace = new Workspace();
  const { dir } = workspace;
  await using home = await VirtualHome.start({ spec: fleetOf(['on-off-light', 'on-off-light']), dir: join(dir, 'home') });
  const [hubLight = '', bareLight = ''] = home.devices.map((device) => device.pairing.manualCode);
  const peer = await onceWith(HubProgram.start(dir), BareProgram.start(dir), async (hub, bare) => {
    await hub.commission(hubLight, 'Light');
    return bare.commission(bareLight);
  });

  const hubMs: number[] = [];
  const bareMs: number[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    hubMs.push(await firstAnswer(HubProgram.start(dir), (hub) => hub.call('light_turn_on', {})));
    bareMs.push(await firstAnswer(BareProgram.start(dir), (bare) => bare.switchLight(peer, true)));
  }
  const ratio = median(hubMs) / median(bareMs);
  const common = { unit: 'ms', bar: null, ok: true, samples: PAIRS };
  return [
    {
      ...{ name: 'start.ratio', value: ratio, unit: 'ratio', bar: BAR, ok: ratio <= BAR, samples: PAIRS },
      vs: 'exec of the bare bundled controller to its first invoke',
    },
    { ...common, name: 'start.hub', value: median(hubMs), vs: 'exec to the first answered tool call' },
    { ...common, name: 'start.bare', value: median(bareMs), vs: 'exec to the first answered invoke' },
    ...(await moduleImports()),
  ];
}

async function onceWith(
  hub: Promise<HubProgram>,
  bare: Promise<BareProgram>,
  work: (hub: HubProgram, bare: BareProgram) => Promise<string>,
) {
  await using startedHub = await hub;
  await using startedBare = await bare;
  return await work(startedHub, startedBare);
}

/** Milliseconds from the program's exec until `call` succeeds; calls that come too early are repeated. */
async function firstAnswer<Program extends HubProgram | BareProgram>(
  starting: Promise<Program>,
  call: (program: Program) => Promise<unknown>,
): Promise<number> {
  await using program = await starting;
  const { startedMs } = program.process;
  for (;;) {
    try {
      await call(program);
      return performance.now() - startedMs;
    } catch (error) {
      if (performance.now() - startedMs > GIVE_UP_MS) throw error;
      await sleep(RETRY_MS);
    }
  }
}
