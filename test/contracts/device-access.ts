import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeviceAccess, DeviceDirectory } from '../../src/core/devices/device-directory.ts';
import type { AttributePath, AttributeReading } from '../../src/core/devices/device-model.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { DeviceId } from '../../src/core/ids.ts';

/** A dimmable lamp and a hub that controls it. */
export interface LampBench extends AsyncDisposable {
  readonly access: DeviceAccess;
  readonly directory: DeviceDirectory;
  readonly lamp: DeviceId;
  /** Whether the lamp itself is on. */
  isOn(): Promise<boolean>;
  /** Somebody turns the lamp on or off by hand. */
  turn(isOn: boolean): Promise<void>;
  power(isPowered: boolean): Promise<void>;
  /** Milliseconds of the time in which the lamp and the hub live, from an arbitrary start. */
  nowMs(): number;
  /** Lets time pass until the work is done. */
  during<Result>(work: Promise<Result>): Promise<Result>;
  /** Lets time pass until the condition holds. */
  until(condition: () => boolean): Promise<void>;
}

const within = (ms = 30_000) => ({ signal: AbortSignal.timeout(ms) });
/** Beyond this a call to a dead device is late, in milliseconds. */
const DEAD_MS = 5_000;

/**
 * What every access to devices promises of a lamp: the one over Matter, and the one that stands for it in simulations. The tests run in
 * their order, with one lamp.
 */
export function describeDeviceAccess(title: string, open: () => Promise<LampBench>): void {
  describe(`${title} keeps what an access to devices promises:`, () => {
    let bench: LampBench;
    beforeAll(async () => {
      bench = await open();
    });
    afterAll(async () => await bench?.[Symbol.asyncDispose]());

    const onOff = (): AttributePath => ({ device: bench.lamp, endpoint: 1, cluster: 'OnOff', attribute: 'OnOff' });
    const level = (): AttributePath => ({ device: bench.lamp, endpoint: 1, cluster: 'LevelControl', attribute: 'CurrentLevel' });
    const command = (name: string) => ({ device: bench.lamp, endpoint: 1, cluster: 'OnOff', command: name });
    const codeOf = async (work: Promise<unknown>): Promise<string> =>
      await bench.during(
        work.then(
          () => 'none',
          (error: unknown) => (error instanceof AtmoError ? error.code : String(error)),
        ),
      );

    test('values come in the order in which they were asked for', async () => {
      await bench.turn(false);
      const readings = await bench.during(bench.access.read([level(), onOff()], within()));
      expect(readings.map(({ path }) => path.attribute)).toEqual(['CurrentLevel', 'OnOff']);
      expect(readings[1]).toMatchObject({ value: false, reachability: 'reachable' });
    });

    test('a command takes effect before its answer, and the change is reported and kept', async () => {
      const reported: AttributeReading[] = [];
      const stop = bench.access.onReport((reading) => reported.push(reading));
      expect(await bench.during(bench.access.invoke(command('On'), {}, within()))).toBeNull();
      expect(await bench.isOn()).toBe(true);
      await bench.until(() => reported.some(({ path, value }) => path.attribute === 'OnOff' && value === true));
      stop();
      expect(bench.access.cached(onOff())).toMatchObject({ value: true, reachability: 'reachable' });
      expect(bench.access.isCurrent(bench.lamp)).toBe(true);
    });

    test('a command is read back with what the device says after its answer, however often and whatever it says', async () => {
      const isOn = (wanted: boolean) => [{ path: onOff(), isReached: (value: unknown) => value === wanted }];
      for (let turn = 0; turn < 12; turn++) {
        const wanted = turn % 2 === 1;
        using readBack = bench.access.awaitReports(isOn(wanted));
        await bench.during(bench.access.invoke(command(wanted ? 'On' : 'Off'), {}, within()));
        expect(await bench.during(readBack.read(within()))).toMatchObject([{ path: { attribute: 'OnOff' }, value: wanted }]);
        expect(bench.access.cached(onOff())?.value).toBe(wanted);
      }
      using unchanged = bench.access.awaitReports(isOn(true));
      await bench.during(bench.access.invoke(command('On'), {}, within()));
      expect(await bench.during(unchanged.read(within()))).toMatchObject([{ value: true }]);
      using other = bench.access.awaitReports(isOn(true));
      await bench.during(bench.access.invoke(command('Off'), {}, within()));
      expect(await bench.during(other.read(within()))).toMatchObject([{ value: false }]);
      using both = bench.access.awaitReports([{ path: level(), isReached: () => false }, ...isOn(true)]);
      await bench.during(bench.access.invoke(command('On'), {}, within()));
      expect(await bench.during(both.read(within()))).toMatchObject([{ path: { attribute: 'CurrentLevel' } }, { value: true }]);
    });

    test('a change by hand is reported', async () => {
      await bench.turn(false);
      await bench.until(() => bench.access.cached(onOff())?.value === false);
    });

    test('what a device does not have, cannot be written or does not fit is refused, and nothing happens', async () => {
      const { access } = bench;
      expect(await codeOf(access.read([{ ...onOff(), attribute: 'Colour' }], within()))).toBe('NOT_SUPPORTED');
      expect(await codeOf(access.read([{ ...onOff(), endpoint: 9 }], within()))).toBe('NOT_SUPPORTED');
      expect(await codeOf(access.write(onOff(), true, within()))).toBe('NOT_SUPPORTED');
      expect(await codeOf(access.invoke(command('Explode'), {}, within()))).toBe('NOT_SUPPORTED');
      expect(await codeOf(access.invoke(command('On'), { level: 3 }, within()))).toBe('VALIDATION_ERROR');
      expect(await codeOf(access.read([{ ...onOff(), device: 'nowhere' as DeviceId }], within()))).toBe('DEVICE_NOT_FOUND');
      expect(await bench.isOn()).toBe(false);
    });

    test('nothing is sent for a caller who has left', async () => {
      const left = AbortSignal.abort();
      const error = await bench.during(bench.access.invoke(command('On'), {}, { signal: left }).catch((thrown: unknown) => thrown));
      expect(error).toMatchObject({ code: 'CANCELLED', details: { isSent: false } });
      expect(await bench.isOn()).toBe(false);
    });

    test('a device without power is known as unreachable, and does not do later what it did not do then', async () => {
      await bench.power(false);
      const startMs = bench.nowMs();
      expect(await codeOf(bench.access.read([onOff()], within()))).toBe('DEVICE_UNREACHABLE');
      expect(bench.nowMs() - startMs).toBeLessThan(DEAD_MS);
      using readBack = bench.access.awaitReports([{ path: onOff(), isReached: (value) => value === true }]);
      expect(['DEVICE_UNREACHABLE', 'OUTCOME_UNKNOWN']).toContain(await codeOf(bench.access.invoke(command('On'), {}, within())));
      expect(await codeOf(readBack.read(within()))).toBe('DEVICE_UNREACHABLE');
      await bench.until(() => bench.directory.get(bench.lamp)?.reachability === 'unreachable');
      expect(bench.access.isCurrent(bench.lamp)).toBe(false);
      await bench.power(true);
      await bench.until(() => bench.directory.get(bench.lamp)?.reachability === 'reachable' && bench.access.isCurrent(bench.lamp));
      expect(await bench.isOn()).toBe(false);
    });
  });
}
