import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { FOREIGN_HINT, foreignPackages } from '../../../scripts/foreign-packages.ts';
import { systemClock } from '../../../src/core/clock.ts';
import type { SerialPortConfig } from '../../../src/sensors/sensor-config.ts';
import type { SensorSample } from '../../../src/sensors/sensor-source.ts';
import { type PortListener, serialPorts } from '../../../src/sensors/serial/serial-port.ts';
import { SerialSource } from '../../../src/sensors/serial/serial-source.ts';
import { until } from '../../matter/device-hub.ts';
import { PseudoTerminal } from './pseudo-terminal.ts';

const folder = foreignPackages('serial');
// As the hub imports it, from a folder that is not its own.
const load = () => import(pathToFileURL(createRequire(join(folder ?? '/', 'package.json')).resolve('serialport')).href);
const open = serialPorts(load);
const settings = { baud: 115_200, parity: 'none', dataBits: 8, stopBits: 1 } as const;

describe.skipIf(folder === undefined)(`a serial port, by the package serialport${folder ? '' : ` (${FOREIGN_HINT})`}`, () => {
  test('gives what arrives, and tells when it is pulled', async () => {
    const terminal = new PseudoTerminal();
    const heard: string[] = [];
    const listener: PortListener = { data: (chunk) => heard.push(chunk.toString()), closed: (reason) => heard.push(`closed: ${reason}`) };
    await using _port = await open({ path: terminal.path, ...settings }, listener);
    terminal.write('hello\r\n');
    await until(() => heard.join('') === 'hello\r\n');
    terminal[Symbol.dispose]();
    await until(() => heard.at(-1)?.startsWith('closed: ') === true);
  });

  test('that is not there is no port', async () => {
    const listener: PortListener = { data() {}, closed() {} };
    await expect(open({ path: '/dev/ttyNOTHING', ...settings }, listener)).rejects.toMatchObject({
      code: 'DEVICE_UNREACHABLE',
      message: expect.stringContaining('/dev/ttyNOTHING cannot be opened'),
    });
  });

  test('becomes the readings of an instrument, and is closed with the hub', async () => {
    using terminal = new PseudoTerminal();
    const config: SerialPortConfig = {
      path: terminal.path,
      ...settings,
      format: 'pairs',
      silentAfterSeconds: 300,
      readings: { temperature: { field: 'T', unit: '°F', factor: 1, offset: 0 } },
    };
    const source = new SerialSource({ clock: systemClock, open }, { station: config });
    const heard: SensorSample[] = [];
    source.listen((sample) => heard.push(sample));
    await source.start();
    // Before somebody has opened the other end, nothing is kept.
    await until(() => {
      terminal.write('T=70.7, H=40\n');
      return heard.length > 0;
    });
    expect(heard[0]).toMatchObject({ address: 'serial:station/temperature', value: 21.5 });
    await source[Symbol.asyncDispose]();
    const before = heard.length;
    terminal.write('T=32\n');
    expect(heard).toHaveLength(before);
  });
});
