import { describe, expect, test } from 'vitest';
import type { SerialPortConfig, SerialReadingConfig } from '../../../src/sensors/sensor-config.ts';
import type { SensorSample } from '../../../src/sensors/sensor-source.ts';
import { SerialSource } from '../../../src/sensors/serial/serial-source.ts';
import { ManualClock } from '../../manual-clock.ts';
import { sensorSourceContract } from '../sensor-source-contract.ts';
import { ScriptedPorts } from './scripted-port.ts';

const PATH = '/dev/ttyUSB0';
const reading = (more: Partial<SerialReadingConfig> = {}): SerialReadingConfig => ({ unit: '', factor: 1, offset: 0, ...more });
const portOf = (more: Partial<SerialPortConfig> = {}): SerialPortConfig => ({
  path: PATH,
  baud: 9600,
  parity: 'none',
  dataBits: 8,
  stopBits: 1,
  format: 'json',
  silentAfterSeconds: 300,
  readings: { temperature: reading({ unit: '°C' }) },
  ...more,
});

async function start(config: Partial<SerialPortConfig> = {}) {
  const clock = new ManualClock();
  const ports = new ScriptedPorts();
  const source = new SerialSource({ clock, open: ports.open }, { station: portOf(config) });
  await source.start();
  await settled();
  const heard: SensorSample[] = [];
  source.listen((sample) => heard.push(sample));
  const read = async (address = 'serial:station/temperature') => {
    const samples: SensorSample[] = [];
    await source.read({ addresses: [address], signal: new AbortController().signal }, (sample) => samples.push(sample));
    return samples[0];
  };
  return { clock, ports, source, heard, read };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

sensorSourceContract('a serial port', async () => {
  const clock = new ManualClock();
  const ports = new ScriptedPorts();
  const config = (path: string) => portOf({ path, readings: { temperature: reading() } });
  const source = new SerialSource({ clock, open: ports.open }, { one: config('/dev/one'), two: config('/dev/two') });
  await source.start();
  await settled();
  const speak = (path: string) => ports.write(path, '{"temperature":20}\n');
  speak('/dev/one');
  speak('/dev/two');
  return {
    source,
    async unplug(address) {
      ports.pull(`/dev/${address.includes('one') ? 'one' : 'two'}`);
      await settled();
    },
    provoke: (address) => speak(`/dev/${address.includes('one') ? 'one' : 'two'}`),
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
});

describe('lines of an instrument', () => {
  test.each<[string, Partial<SerialPortConfig>, string, number | undefined]>([
    ['JSON', {}, '{"temperature":21.5}', 21.5],
    ['JSON with numbers in quotes', {}, '{"temperature":"21.5"}', 21.5],
    ['a member of an object', { readings: { temperature: reading({ field: 'BME280.Temp' }) } }, '{"BME280":{"Temp":-3}}', -3],
    ['pairs', { format: 'pairs' }, 'humidity=40.1; temperature = 21.5', 21.5],
    ['pairs with colons', { format: 'pairs', readings: { temperature: reading({ field: 'T' }) } }, 'T: 21.5, H: 40', 21.5],
    ['a pattern', { format: 'pattern', pattern: 'T(?<temperature>[-+]?\\d+,\\d+)C' }, '#12 T-07,25C OK', -7.25],
    ['units of the instrument', { readings: { temperature: reading({ unit: '°F' }) } }, '{"temperature":70.7}', 21.5],
    [
      'a calibration, after the unit',
      { readings: { temperature: reading({ unit: 'K', factor: 2, offset: 1 }) } },
      '{"temperature":283.15}',
      21,
    ],
    ['no JSON', {}, 'temperature 21.5', undefined],
    ['JSON of something else', {}, '{"humidity":40}', undefined],
    ['an inherited name', { readings: { temperature: reading({ field: 'constructor.name' }) } }, '{}', undefined],
    ['a value that is no number', {}, '{"temperature":"ERR"}', undefined],
    ['an empty value', {}, '{"temperature":""}', undefined],
    ['an infinite value', {}, '{"temperature":1e999}', undefined],
    ['a pattern that does not fit', { format: 'pattern', pattern: '(?<temperature>\\d+)' }, 'no digits', undefined],
  ])('%s', async (_, config, line, value) => {
    const { ports, heard, source } = await start(config);
    ports.write(PATH, `${line}\r\n`);
    expect(heard.map((sample) => 'value' in sample && sample.value)).toEqual(value === undefined ? [] : [value]);
    await source[Symbol.asyncDispose]();
  });

  test('come in pieces, and whole in spite of noise before them', async () => {
    const { ports, heard, source } = await start();
    ports.write(PATH, 'x'.repeat(1_000_000));
    ports.write(PATH, '{"temperature":1}\n{"temp');
    ports.write(PATH, 'erature":2}');
    ports.write(PATH, '\n');
    expect(heard).toMatchObject([{ value: 2 }]);
    await source[Symbol.asyncDispose]();
  });

  test('are as old as when they came, and no answer when that is too long ago', async () => {
    const { clock, ports, read, source } = await start({ silentAfterSeconds: 60 });
    expect(await read()).toMatchObject({ fault: 'gone' });
    ports.write(PATH, '{"temperature":21}\n');
    const atMs = clock.now();
    clock.advance(60_000);
    expect(await read()).toEqual({ address: 'serial:station/temperature', value: 21, atMs });
    clock.advance(1);
    expect(await read()).toMatchObject({ fault: 'gone' });
    await source[Symbol.asyncDispose]();
  });

  test('show their unit in the form that is kept', async () => {
    const { source } = await start({ readings: { pressure: reading({ unit: 'kPa' }) }, title: 'Weather station', area: 'Roof' });
    expect(await source.find()).toEqual([
      {
        address: 'serial:station/pressure',
        device: 'station',
        reading: 'pressure',
        kind: 'pressure',
        unit: 'hPa',
        title: 'Weather station pressure',
        deviceTitle: 'Weather station',
        area: 'Roof',
        isConfigured: true,
      },
    ]);
    await source[Symbol.asyncDispose]();
  });
});

describe('the port', () => {
  test('is opened again, ever less often, until the instrument is back', async () => {
    const { clock, ports, read, source } = await start();
    ports.pull(PATH);
    await settled();
    expect(await read()).toMatchObject({ fault: 'gone', detail: 'the device was pulled' });
    for (let second = 0; second < 200; second++) {
      clock.advance(1000);
      await settled();
    }
    expect(ports.opened.length).toBeGreaterThan(4);
    expect(ports.opened.length).toBeLessThan(12);
    expect(await read()).toMatchObject({ fault: 'gone', detail: `${PATH} cannot be opened: no such file` });
    ports.plugIn(PATH);
    clock.advance(60_000);
    await settled();
    ports.write(PATH, '{"temperature":21}\n');
    expect(await read()).toMatchObject({ value: 21 });
    await source[Symbol.asyncDispose]();
    expect(ports.isOpen(PATH)).toBe(false);
  });

  test('needs a pattern that is one, and that names something', () => {
    const make = (pattern: string) => () =>
      new SerialSource({ clock: new ManualClock(), open: new ScriptedPorts().open }, { meter: portOf({ format: 'pattern', pattern }) });
    expect(make('(?<temperature>')).toThrow(/sensors\.serial\.meter\.pattern/);
    expect(make('\\d+')).toThrow(/needs named groups/);
  });
});
