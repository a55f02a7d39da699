import { join } from 'node:path';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import { BareProgram } from './bare-program.ts';
import type { BenchFigure } from './figure.ts';
import { fleetOf } from './fleet-spec.ts';
import { HubProgram } from './hub-program.ts';
import { median, quantile } from './statistics.ts';
import { Workspace } from './workspace.ts';

const WARM_UP = 30;
const SAMPLES = 300;
const BAR = 1.15;

/** A tool call over HTTP against a bare invoke and read of the same attribute, in turns, on two lights of one process. */
export async function run(): Promise<BenchFigure[]> {
  await Promise.all([HubProgram.build(), BareProgram.build()]);
  using workspace = new Workspace();
  await using home = await VirtualHome.start({ spec: fleetOf(['on-off-light', 'on-off-light']), dir: join(workspace.dir, 'home') });
  await using hub = await HubProgram.start(workspace.dir);
  await using bare = await BareProgram.start(workspace.dir);
  await hub.commission(home.device('Device 1').pairing.manualCode, 'Light');
  const peer = await bare.commission(home.device('Device 2').pairing.manualCode);

  const hubMs: number[] = [];
  const bareMs: number[] = [];
  for (let turn = 0; turn < WARM_UP + SAMPLES; turn++) {
    const isOn = turn % 2 === 0;
    const startMs = performance.now();
    await hub.call(isOn ? 'light_turn_on' : 'light_turn_off', {});
    const callMs = performance.now() - startMs;
    const floorMs = await bare.switchLight(peer, isOn);
    if (turn < WARM_UP) continue;
    hubMs.push(callMs);
    bareMs.push(floorMs);
  }
  const ratio = median(hubMs) / median(bareMs);
  const reported = (name: string, value: number, vs: string): BenchFigure => ({
    ...{ name, value, unit: 'ms', bar: null, ok: true, samples: SAMPLES, vs },
  });
  return [
    {
      ...{ name: 'local.ratio_p50', value: ratio, unit: 'ratio', bar: BAR, ok: ratio <= BAR, samples: SAMPLES },
      vs: 'invoke and read in a bare matter.js controller, without HTTP',
    },
    reported('local.call_p50', median(hubMs), 'tool call over HTTP, answer with the state read back'),
    reported('local.call_p99', quantile(hubMs, 0.99), 'tool call over HTTP'),
    reported('local.bare_p50', median(bareMs), 'bare invoke and read'),
    reported('local.bare_p99', quantile(bareMs, 0.99), 'bare invoke and read'),
  ];
}
