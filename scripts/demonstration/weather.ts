import { setTimeout as sleep } from 'node:timers/promises';
import type { DemoHome } from './demo-world.ts';

/** How fast the demo's day passes: one in four minutes, so that a chart has a shape while somebody looks. */
const DAY_MS = 240_000;
const STEP_MS = 5_000;

/** A sensor of the home that follows the sun: its mean and how far it swings, in raw Matter units. */
interface Swing {
  readonly device: string;
  readonly cluster: string;
  readonly mean: number;
  readonly amplitude: number;
}

const SWINGS: readonly Swing[] = [
  { device: 'Garden thermometer', cluster: 'temperatureMeasurement', mean: 900, amplitude: 700 },
  { device: 'Bath hygrometer', cluster: 'relativeHumidityMeasurement', mean: 5_500, amplitude: -900 },
  { device: 'Garden light sensor', cluster: 'illuminanceMeasurement', mean: 22_000, amplitude: 18_000 },
];

/** Lets the garden's days pass until the signal ends it. */
export async function passDays(home: DemoHome, signal: AbortSignal): Promise<void> {
  for (let elapsedMs = 0; !signal.aborted; elapsedMs += STEP_MS) {
    const sun = Math.sin((2 * Math.PI * elapsedMs) / DAY_MS);
    for (const { device, cluster, mean, amplitude } of SWINGS) {
      // A device that somebody switched off meanwhile has no weather.
      await home
        .set({ device, endpoint: 1, cluster, attribute: 'measuredValue' }, Math.round(mean + amplitude * sun))
        .catch(() => undefined);
    }
    await sleep(STEP_MS, undefined, { signal }).catch(() => undefined);
  }
}
