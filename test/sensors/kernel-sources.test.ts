import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { kernelSources } from '../../src/sensors/board-sensors.ts';
import type { SensorSample } from '../../src/sensors/sensor-source.ts';
import { SysfsTree } from './sysfs-tree.ts';

async function everything(tree: SysfsTree) {
  const rows = await Promise.all(
    kernelSources(systemClock, tree.root).map(async (source) => {
      const found = await source.find();
      const samples = new Map<string, SensorSample>();
      const addresses = found.map(({ address }) => address);
      await source.read({ addresses, signal: new AbortController().signal }, (sample) => samples.set(sample.address, sample));
      return found.map((sensor) => ({ ...sensor, sample: samples.get(sensor.address) }));
    }),
  );
  return rows.flat();
}

async function shown(tree: SysfsTree): Promise<Record<string, string>> {
  const rows = await everything(tree);
  return Object.fromEntries(
    rows.map(({ address, sample, unit }) => [
      address,
      sample && 'value' in sample ? `${sample.value} ${unit}`.trim() : (sample?.fault ?? 'none'),
    ]),
  );
}

describe('the kernel of a board', () => {
  test('shows each thing once, in our units, under an address that no start changes', async () => {
    using tree = SysfsTree.of('pi5');
    expect(await shown(tree)).toEqual({
      'thermal:cpu-thermal': '47.712 °C',
      'hwmon:rpi_volt@raspberrypi-hwmon/in0_lcrit_alarm': 'false',
      'hwmon:pwmfan@cooling_fan/fan1': '2931 rpm',
      'hwmon:tmp102@1-0048/temp1': '20.187 °C',
      'hwmon:tmp102@1-0049/temp1': '21.187 °C',
      'iio:bme280@1-0076/humidityrelative': '43.817 %',
      'iio:bme280@1-0076/pressure': '985.123 hPa',
      'iio:bme280@1-0076/temp': '21.37 °C',
      'iio:bh1750@1-0023/illuminance': '259.9999999 lx',
      'iio:htu21@1-0040/humidityrelative': '51.45455397 %',
      'iio:htu21@1-0040/temp': '19.40974249 °C',
      'iio:mcp3424@1-0068/voltage0': '0.32 V',
      'iio:mcp3424@1-0068/voltage0-voltage1': '0.5 V',
      'iio:mcp3424@1-0068/voltage1': '-0.013125 V',
      'iio:scd4x@1-0062/concentration_co2': '683 ppm',
      'iio:scd4x@1-0062/temp': '24.71493126 °C',
      'w1:10-000802b4ba0e': '19.5 °C',
      'w1:28-000005e2fdc3': '22.875 °C',
      'w1:28-0316a2798cff': '-10.125 °C',
    });
  });

  test('shows them under the same addresses when it numbers them in another order', async () => {
    using tree = SysfsTree.of('pi5');
    const before = await shown(tree);
    for (const [path, number] of [
      ['class/hwmon/hwmon', 4],
      ['bus/iio/devices/iio:device', 0],
    ] as const) {
      const other = path.includes('iio') ? 2 : 5;
      const [first, second] = [number, other].map((index) => tree.targetOf(`${path}${index}`));
      tree.remove(`${path}${number}`);
      tree.remove(`${path}${other}`);
      tree.link(`${path}${number}`, second ?? '');
      tree.link(`${path}${other}`, first ?? '');
    }
    expect(await shown(tree)).toEqual(before);
  });

  test('uses the names that chips give their channels', async () => {
    using tree = SysfsTree.of('pi5');
    const titles = new Map((await everything(tree)).map(({ address, title }) => [address, title]));
    expect(titles.get('hwmon:tmp102@1-0049/temp1')).toBe('tmp102 cold water');
    expect(titles.get('iio:mcp3424@1-0068/voltage0')).toBe('mcp3424 battery');
    expect(titles.get('iio:scd4x@1-0062/concentration_co2')).toBe('scd4x co2');
  });

  test('has nothing where there is no such driver', async () => {
    using tree = SysfsTree.empty();
    expect(await everything(tree)).toEqual([]);
  });

  test('emits no value for a reported fault, an empty text or no number', async () => {
    using tree = SysfsTree.of('pi5');
    tree.write('class/hwmon/hwmon4/temp1_fault', '1');
    tree.write('class/thermal/thermal_zone0/temp', '-274000');
    tree.write('bus/iio/devices/iio:device0/in_temp_input', '');
    tree.write('bus/iio/devices/iio:device0/in_pressure_input', 'NaN');
    expect(await shown(tree)).toMatchObject({
      'hwmon:tmp102@1-0048/temp1': 'suspect',
      'thermal:cpu-thermal': 'suspect',
      'iio:bme280@1-0076/temp': 'busy',
      'iio:bme280@1-0076/pressure': 'garbled',
    });
  });

  test('distinguishes zones of one type by their order', async () => {
    using tree = SysfsTree.empty();
    for (const zone of [0, 1, 10]) {
      tree.write(`class/thermal/thermal_zone${zone}/type`, 'acpitz');
      tree.write(`class/thermal/thermal_zone${zone}/temp`, `${(zone + 1) * 1000}`);
    }
    expect(await shown(tree)).toEqual({ 'thermal:acpitz': '1 °C', 'thermal:acpitz@2': '2 °C', 'thermal:acpitz@3': '11 °C' });
  });
});
