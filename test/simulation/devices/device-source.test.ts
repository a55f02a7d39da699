import { expect, test } from 'vitest';
import { describeDeviceAccess, type LampBench } from '../../contracts/device-access.ts';
import { describeDeviceType } from '../../fixtures/describe-standard.ts';
import { ManualClock } from '../../manual-clock.ts';
import { SimulatedDeviceSource } from './simulated-device-source.ts';
import { LAMP_CLUSTERS, SimulatedLamp } from './simulated-lamp.ts';

const STEP_MS = 25;
const LIMIT_MS = 60_000;

/** A lamp whose messages take so many milliseconds, 3 after the last one. */
async function openBench(travelsMs: number[] = []): Promise<LampBench> {
  const clock = new ManualClock();
  const lamp = new SimulatedLamp('lamp', () => clock.now());
  const later = (delayMs: number, work: () => void) => void clock.after(delayMs, work);
  const mood = () => ({ travelMs: travelsMs.shift() ?? 3, isLost: false, isSilent: false });
  const source = new SimulatedDeviceSource({ clock, lamps: [lamp], mood, toLamp: later, toHub: later });
  await source.start();
  const pass = async (isDone: () => boolean) => {
    for (let passedMs = 0; !isDone(); passedMs += STEP_MS) {
      if (passedMs > LIMIT_MS) throw new RangeError('It did not happen');
      clock.advance(STEP_MS);
      await new Promise(setImmediate);
    }
  };
  return {
    access: source.access,
    directory: source.directory,
    lamp: lamp.device.id,
    isOn: async () => lamp.state['OnOff/OnOff'] === true,
    turn: async (isOn) => lamp.turn({ 'OnOff/OnOff': isOn }),
    power: async (isPowered) => lamp.power(isPowered),
    nowMs: () => clock.now(),
    during: async (work) => {
      let isDone = false;
      const done = () => {
        isDone = true;
      };
      work.then(done, done);
      await pass(() => isDone);
      return await work;
    },
    until: pass,
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

describeDeviceAccess('a simulated lamp', () => openBench());

test('a lamp is read again if its answer is older than what it has reported meanwhile', async () => {
  const travelsMs: number[] = [];
  await using bench = await openBench(travelsMs);
  const onOff = { device: bench.lamp, endpoint: 1, cluster: 'OnOff', attribute: 'OnOff' };
  await bench.turn(false);
  await bench.until(() => bench.access.cached(onOff)?.value === false);
  travelsMs.push(300);
  const read = bench.access.read([onOff], { signal: new AbortController().signal });
  const startMs = bench.nowMs();
  await bench.until(() => bench.nowMs() > startMs + 325);
  await bench.turn(true);
  expect(await bench.during(read)).toMatchObject([{ value: true }]);
  expect(bench.access.cached(onOff)).toMatchObject({ value: true });
});

test('each element of a simulated lamp is described as the Matter model describes it', () => {
  const standard = describeDeviceType('DimmableLight').endpoints[0]?.clusters ?? [];
  for (const cluster of LAMP_CLUSTERS) {
    const model = standard.find(({ name }) => name === cluster.name);
    expect(model).toMatchObject({ id: cluster.id, revision: cluster.revision, features: cluster.features });
    expect(model?.attributes).toEqual(expect.arrayContaining([...cluster.attributes]));
    expect(model?.commands).toEqual(expect.arrayContaining([...cluster.commands]));
  }
});
