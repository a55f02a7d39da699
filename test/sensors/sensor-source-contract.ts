import { describe, expect, test } from 'vitest';
import { parseSensorId } from '../../src/core/devices/device-names.ts';
import type { SensorSample, SensorSource } from '../../src/sensors/sensor-source.ts';

/** A source with at least two sensors that answer, and what becomes of it afterwards. */
export interface SourceRig extends AsyncDisposable {
  readonly source: SensorSource;
  /** Takes a sensor away, as a hand does; it stays away. */
  unplug(address: string): void | Promise<void>;
  /** Makes a sensor speak by itself, where the source can. */
  readonly provoke?: (address: string) => void | Promise<void>;
}

const FORM = /^[a-z0-9]+:\S+$/;

/** What every source of sensors has to keep, whatever it reads. */
export function sensorSourceContract(what: string, makeRig: () => Promise<SourceRig>): void {
  describe(`${what} is a source of sensors`, () => {
    test('which finds the same sensors each time, each with an address and an id of its own', async () => {
      await using rig = await makeRig();
      const found = await rig.source.find();
      expect(await rig.source.find()).toEqual(found);
      expect(found.length).toBeGreaterThanOrEqual(2);
      for (const { address, device, reading, title } of found) {
        expect(address).toMatch(FORM);
        expect(address.startsWith(`${rig.source.name}:`)).toBe(true);
        expect(parseSensorId(`${device}/${reading}`)).toBe(`${device}/${reading}`);
        expect(title).toMatch(/^\P{C}{1,128}$/u);
      }
      expect(new Set(found.map(({ address }) => address)).size).toBe(found.length);
      expect(new Set(found.map(({ device, reading }) => `${device}/${reading}`)).size).toBe(found.length);
    });

    test('which emits one sample for each requested sensor, and for no other', async () => {
      await using rig = await makeRig();
      const [first = '', ...others] = await addressesOf(rig);
      expect((await read(rig, [first])).map(({ address }) => address)).toEqual([first]);
      const samples = await read(rig, others);
      expect(samples.map(({ address }) => address).sort()).toEqual(others.toSorted());
      for (const sample of samples) expect(sample).toHaveProperty('value');
    });

    test('which reports a missing or unknown sensor as gone, and goes on with the others', async () => {
      await using rig = await makeRig();
      const [first = '', second = ''] = await addressesOf(rig);
      await rig.unplug(first);
      const samples = await read(rig, [`${rig.source.name}:never-there/none`, first, second]);
      expect(samples).toHaveLength(3);
      const byAddress = new Map(samples.map((sample) => [sample.address, sample]));
      expect(byAddress.get(first)).toMatchObject({ fault: 'gone', detail: expect.stringMatching(/\w/) });
      expect(byAddress.get(`${rig.source.name}:never-there/none`)).toMatchObject({ fault: 'gone' });
      expect(byAddress.get(second)).toHaveProperty('value');
    });

    test('which emits nothing to a listener that was removed', async () => {
      await using rig = await makeRig();
      const samples: SensorSample[] = [];
      await rig.source.read({ addresses: await addressesOf(rig), signal: AbortSignal.abort() }, (sample) => samples.push(sample));
      expect(samples).toEqual([]);
    });

    test('which emits samples without a request, where it can, until the listener is removed', async ({ skip }) => {
      await using rig = await makeRig();
      if (!rig.source.listen || !rig.provoke) return skip('it only answers');
      const [address = ''] = await addressesOf(rig);
      const samples: SensorSample[] = [];
      const stop = rig.source.listen((sample) => samples.push(sample));
      await rig.provoke(address);
      await expect.poll(() => samples.at(-1)).toMatchObject({ address, value: expect.anything() });
      stop();
      const heard = samples.length;
      await rig.provoke(address);
      await rig.source.read({ addresses: [address], signal: new AbortController().signal }, () => {});
      expect(samples).toHaveLength(heard);
    });
  });
}

async function addressesOf({ source }: SourceRig): Promise<readonly string[]> {
  return (await source.find()).map(({ address }) => address);
}

async function read({ source }: SourceRig, addresses: readonly string[]): Promise<readonly SensorSample[]> {
  const samples: SensorSample[] = [];
  await source.read({ addresses, signal: new AbortController().signal }, (sample) => samples.push(sample));
  return samples;
}
