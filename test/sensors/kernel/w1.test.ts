import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { parseProbe, W1Source } from '../../../src/sensors/kernel/one-wire.ts';
import { Sysfs } from '../../../src/sensors/kernel/sysfs.ts';
import type { SensorSample } from '../../../src/sensors/sensor-source.ts';
import { SysfsTree } from '../sysfs-tree.ts';

const family = '28';
const slave = (bytes: string, verdict: string, millidegrees: number) => `${bytes} : crc=74 ${verdict}\n${bytes} t=${millidegrees}`;
const WARM = '6e 01 4b 46 7f ff 02 10 74';
const POWER_ON = '50 05 4b 46 7f ff 0c 10 1c';
const TRUE_85 = '50 05 4b 46 7f ff 10 10 74';

describe('what a probe says', () => {
  test.each([
    ['two lines with a right checksum', slave(WARM, 'YES', 22875), { value: 22.875 }],
    ['one line', '22875', { value: 22.875 }],
    ['below zero', '-10125', { value: -10.125 }],
    ['just below zero', slave(WARM, 'YES', -62), { value: -0.062 }],
    ['a wrong checksum, whatever value stands behind it', slave(WARM, 'NO', 22875), { fault: 'garbled' }],
    ['nothing while it converts', '', { fault: 'busy' }],
    ['a line end alone while it converts', '\n', { fault: 'busy' }],
    ['no number', 'unknown', { fault: 'garbled' }],
    ['a right checksum without a temperature', `${WARM} : crc=74 YES\n`, { fault: 'garbled' }],
    ['what it has in its memory at power on', slave(POWER_ON, 'YES', 85000), { fault: 'suspect' }],
    ['85 °C in one line', '85000', { fault: 'suspect' }],
    ['what comes of too little current', '127937', { fault: 'suspect' }],
    ['zeros of a shorted wire, whose checksum is right', slave('00 00 00 00 00 00 00 00 00', 'YES', 0), { fault: 'suspect' }],
    ['more than such a chip measures', '125500', { fault: 'suspect' }],
    ['less than such a chip measures', '-55500', { fault: 'suspect' }],
  ])('%s', (_, text, outcome) => {
    expect(parseProbe(text, { family })).toMatchObject(outcome);
  });

  test('85 °C is believed of a boiler that comes near, never of a chip that has not measured', () => {
    expect(parseProbe('85000', { family, lastCelsius: 84.2 })).toEqual({ value: 85 });
    expect(parseProbe(slave(TRUE_85, 'YES', 85000), { family, lastCelsius: 86 })).toEqual({ value: 85 });
    expect(parseProbe(slave(POWER_ON, 'YES', 85000), { family, lastCelsius: 84.2 })).toMatchObject({ fault: 'suspect' });
    expect(parseProbe('85000', { family, lastCelsius: 21 })).toMatchObject({ fault: 'suspect' });
  });

  test('a thermocouple may be hotter than any chip', () => {
    expect(parseProbe('640250', { family: '3b' })).toEqual({ value: 640.25 });
  });
});

describe('the bus', () => {
  const sourceOf = (tree: SysfsTree) => new W1Source({ kernel: new Sysfs(tree.root), clock: systemClock });
  const readAll = async (source: W1Source) => {
    const addresses = (await source.find()).map(({ address }) => address);
    const samples: SensorSample[] = [];
    await source.read({ addresses, signal: new AbortController().signal }, (sample) => samples.push(sample));
    return samples;
  };

  test('all probes of a bus convert at once, and are read then', async () => {
    using tree = SysfsTree.of('pi5');
    expect(await readAll(sourceOf(tree))).toEqual([
      { address: 'w1:10-000802b4ba0e', value: 19.5 },
      { address: 'w1:28-000005e2fdc3', value: 22.875 },
      { address: 'w1:28-0316a2798cff', value: -10.125 },
    ]);
    expect(tree.read('devices/w1_bus_master1/therm_bulk_read')).toBe('trigger');
  });

  test('without bulk conversion each probe is read alone', async () => {
    using tree = SysfsTree.of('pi5');
    tree.remove('devices/w1_bus_master1/therm_bulk_read');
    expect(await readAll(sourceOf(tree))).toHaveLength(3);
  });

  test('a driver that only knows one of the two files is understood', async () => {
    using tree = SysfsTree.of('pi5');
    tree.remove('devices/w1_bus_master1/28-000005e2fdc3/w1_slave');
    tree.write('devices/w1_bus_master1/28-000005e2fdc3/temperature', '23000');
    expect(await readAll(sourceOf(tree))).toContainEqual({ address: 'w1:28-000005e2fdc3', value: 23 });
  });

  test('chips that are no thermometers are left alone', async () => {
    using tree = SysfsTree.of('pi5');
    tree.write('bus/w1/devices/29-0000001a2b3c/output', 'x');
    tree.write('bus/w1/devices/00-800000000000/name', 'noise');
    expect((await sourceOf(tree).find()).map(({ address }) => address)).not.toContain('w1:29-0000001a2b3c');
    expect(await sourceOf(tree).find()).toHaveLength(3);
  });
});
