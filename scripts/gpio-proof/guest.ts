/** Runs on the virtual board: takes the hub's own GPIO code to the kernel, and prints what it found: `FOUND`, step, JSON. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/core/clock.ts';
import { NO_HOME_NAMES } from '../../src/core/devices/device-names.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { EventBus } from '../../src/core/events.ts';
import type { Json } from '../../src/core/json.ts';
import { createLogger } from '../../src/core/logger.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import { findChip } from '../../src/sensors/gpio/chardev-chip.ts';
import { makeOutputsSafe, openGpio } from '../../src/sensors/gpio/gpio-board.ts';
import type { GpioChip, GpioInputRequest } from '../../src/sensors/gpio/gpio-chip.ts';
import type { GpioConfig } from '../../src/sensors/gpio/gpio-config.ts';
import { linuxGpioKernel } from '../../src/sensors/gpio/gpio-kernel.ts';
import { GPIO_IOCTL, inputRequest, isLineActive, lineValues, REQUEST_OFFSET, readRequestFd } from '../../src/sensors/gpio/gpio-uapi.ts';
import type { SensorSample, SensorSource } from '../../src/sensors/sensor-source.ts';
import type { ToolContext } from '../../src/tools/definition/tool-definition.ts';
import { type Findings, OVERFLOW_PULSES, type SeenEdge } from './findings.ts';

const BUTTON = 3;
const RELAY = 5;
const CHIP_FILE = '/dev/gpiochip0';
const BUTTON_INPUT: GpioInputRequest = { offset: BUTTON, isActiveLow: false, bias: 'as-is', edge: 'both', debounceMs: 0 };
/** One pulse of QEMU takes 100 ms; the rest is for an emulated machine that has to share its cores. */
const PULSE_MS = 2500;

/** Asks the machine around this one for pulses. */
const press = (times: number) => console.log(`PRESS ${times}`);

async function edgesOf(chip: GpioChip, change: Partial<GpioInputRequest>): Promise<readonly SeenEdge[]> {
  const edges: SeenEdge[] = [];
  using _input = chip.requestInput({ ...BUTTON_INPUT, ...change }, (edge) => edges.push(edge));
  press(1);
  for (let waitedMs = 0; waitedMs < PULSE_MS && edges.length < 2; waitedMs += 50) await sleep(50);
  return edges;
}

/** What the kernel keeps while nobody reads. */
async function overflow(chip: GpioChip): Promise<Findings['overflow']> {
  const edges: SeenEdge[] = [];
  using _input = chip.requestInput(BUTTON_INPUT, (edge) => edges.push(edge));
  // The lost ones show in front of the oldest that was kept.
  press(OVERFLOW_PULSES);
  const untilMs = performance.now() + OVERFLOW_PULSES * 250 + PULSE_MS;
  while (performance.now() < untilMs);
  await sleep(100);
  return { told: edges.length, missed: edges.map(({ missed }) => missed).filter((missed) => missed > 0) };
}

/** The level of a line that nobody has, without touching its direction: what a meter would show. */
function levelOf(offset: number): boolean {
  const fd = linuxGpioKernel.open(CHIP_FILE);
  if (fd === undefined) throw new AtmoError('NOT_FOUND', `no ${CHIP_FILE}`);
  const request = inputRequest({ ...BUTTON_INPUT, offset }, 'meter');
  request.writeBigUInt64LE(0n, REQUEST_OFFSET.flags);
  const errno = linuxGpioKernel.ioctl(fd, GPIO_IOCTL.requestLine, request);
  linuxGpioKernel.close(fd);
  if (errno !== 0) throw new AtmoError('CONFLICT', `line ${offset} is in use: ${errno}`);
  const values = lineValues();
  linuxGpioKernel.ioctl(readRequestFd(request), GPIO_IOCTL.getValues, values);
  linuxGpioKernel.close(readRequestFd(request));
  return isLineActive(values);
}

function outputs(chip: GpioChip): Findings['output'] {
  const states: boolean[] = [];
  const levels: boolean[] = [];
  for (const isActiveLow of [false, true]) {
    const output = chip.requestOutput({ offset: RELAY, isActiveLow, isActive: true });
    states.push(output.isActive());
    output.set(false);
    states.push(output.isActive());
    output[Symbol.dispose]();
    levels.push(levelOf(RELAY));
  }
  return { states, levels };
}

function refusals(chip: GpioChip): readonly string[] {
  using _output = chip.requestOutput({ offset: RELAY, isActiveLow: false, isActive: false });
  const codeOf = (take: () => Disposable) => {
    try {
      take()[Symbol.dispose]();
      return 'none';
    } catch (error) {
      return error instanceof AtmoError ? error.code : String(error);
    }
  };
  return [
    codeOf(() => chip.requestOutput({ offset: RELAY, isActiveLow: false, isActive: true })),
    codeOf(() => chip.requestInput({ ...BUTTON_INPUT, offset: RELAY }, () => {})),
    codeOf(() => chip.requestOutput({ offset: 8, isActiveLow: false, isActive: true })),
  ];
}

/** Threads and time that lines take. */
async function cost(chip: GpioChip): Promise<Findings['cost']> {
  const threads = () => readdirSync('/proc/self/task').length;
  const threadsBefore = threads();
  using lines = new DisposableStack();
  const inputs = chip.lines().map(({ offset }) => lines.use(chip.requestInput({ ...BUTTON_INPUT, offset }, () => {})));
  await sleep(100);
  const startMs = performance.now();
  for (let round = 0; round < 100; round += 1) for (const input of inputs) input.isActive();
  return { readMicroseconds: ((performance.now() - startMs) * 1000) / (100 * inputs.length), threadsBefore, threadsAfter: threads() };
}

/** The older interface, to which an offset within a chip means nothing. */
function sysfs(): Findings['sysfs'] {
  const folder = '/sys/class/gpio';
  const chips = readdirSync(folder).filter((name) => name.startsWith('gpiochip'));
  const bases = chips.map((name) => readFileSync(`${folder}/${name}/base`, 'utf8').trim());
  try {
    writeFileSync(`${folder}/export`, String(RELAY));
    return { bases, exportError: '' };
  } catch (error) {
    return { bases, exportError: error instanceof Error && 'code' in error ? String(error.code) : String(error) };
  }
}

const line = (wanted: string) => ({ line: wanted, activeLow: false });
const input = { bias: 'as-is', debounceMs: 0, unit: '' } as const;

function configOf(initial: 'on' | 'off'): GpioConfig {
  return {
    backend: 'chardev',
    inputs: { button: { ...line('POWER'), ...input, kind: 'contact' } },
    outputs: { relay: { ...line('RELAY'), risk: 'normal', initial, safe: 'off' } },
  };
}

/** The lines as the hub has them: by name, as sensors and tools. */
function openLines(config: GpioConfig) {
  const store = new Map<string, Json>();
  const kept: KeyValueStore = {
    get: (_space, key) => store.get(key),
    set: (_space, key, value) => void store.set(key, value),
    delete: (_space, key) => store.delete(key),
    entries: () => [...store].map(([key, value]) => ({ key, value })),
  };
  const logger = createLogger('warn', (text) => console.log(text.trim()));
  return openGpio({ clock: systemClock, logger, events: new EventBus('guest', systemClock), store: kept }, config);
}

async function hub(): Promise<Findings['hub']> {
  const config = configOf('off');
  const { service, source, tools } = openLines(config);
  await service.start();
  const samples: SensorSample[] = [];
  const stop = source.listen?.((sample) => samples.push(sample));
  const sensors = (await source.find()).map(({ address }) => address);
  press(1);
  await sleep(PULSE_MS);
  stop?.();
  const turnOn = tools(NO_HOME_NAMES).find(({ definition }) => definition.name === 'relay_turn_on');
  const turnedOn = await turnOn?.handler({}, { signal: new AbortController().signal } as ToolContext);
  const levelOn = await relayOf(source);
  await service[Symbol.asyncDispose]();
  return { sensors, samples, meter: await meter(), turnedOn, levelOn, levelAfterStop: levelOf(RELAY) };
}

/** Pulses of a meter on the same line. */
async function meter(): Promise<SensorSample | undefined> {
  const meterConfig = { ...line('POWER'), ...input, kind: 'energy', countsPerUnit: 2, unit: 'kWh' };
  const { service, source } = openLines({ ...configOf('off'), inputs: { meter: meterConfig }, outputs: {} });
  await service.start();
  press(3);
  await sleep(3 * 250 + PULSE_MS);
  const values: SensorSample[] = [];
  await source.read({ addresses: ['gpio:meter'], signal: new AbortController().signal }, (sample) => values.push(sample));
  await service[Symbol.asyncDispose]();
  return values[0];
}

/** A hub whose output is on, and that ends as `how` says. */
async function hold(how: string): Promise<void> {
  const { service, source } = openLines({ ...configOf('on'), inputs: {} });
  await service.start();
  process.send?.(await relayOf(source));
  // Its parent waits until the message is there; then one of the two ends it.
  await sleep(500);
  if (how === 'throw') throw new AtmoError('INTERNAL_ERROR', 'thrown on purpose');
  await sleep(60_000);
}

/** How the output was and is when the process of a hub ends so. */
async function endOf(how: 'throw' | 'kill'): Promise<{ readonly levelBefore: boolean; readonly levelAfter: boolean }> {
  const child = fork(process.argv[1] ?? '', ['hold', how], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const ended = once(child, 'exit');
  const [levelBefore] = await once(child, 'message');
  if (how === 'kill') child.kill('SIGKILL');
  await ended;
  return { levelBefore: levelBefore === true, levelAfter: levelOf(RELAY) };
}

/** What a hub that starts makes of the output. */
async function nextStart(): Promise<boolean> {
  const { service, source } = openLines({ ...configOf('off'), inputs: {} });
  await service.start();
  const isOn = await relayOf(source);
  await service[Symbol.asyncDispose]();
  return isOn;
}

async function relayOf(source: SensorSource): Promise<boolean> {
  const samples: SensorSample[] = [];
  await source.read({ addresses: ['gpio:relay'], signal: new AbortController().signal }, (sample) => samples.push(sample));
  return samples.some((sample) => 'value' in sample && sample.value === true);
}

/** Tells a step as soon as it is done: a line as long as all of them does not come through the console whole. */
function tell<Step extends keyof Findings>(step: Step, found: Findings[Step]): void {
  console.log(`FOUND ${step} ${JSON.stringify(found)}`);
}

async function prove(): Promise<void> {
  using chip = findChip(undefined, { kernel: linuxGpioKernel });
  tell('system', { release: release(), arch: process.arch, node: process.version });
  tell('chip', { label: chip.label, lines: chip.lines().map(({ name }) => name) });
  tell('sysfs', sysfs());
  tell('output', outputs(chip));
  tell('refusals', refusals(chip));
  tell('cost', await cost(chip));
  tell('edges', await edgesOf(chip, {}));
  tell('activeLow', await edgesOf(chip, { isActiveLow: true }));
  tell('debounceLong', await edgesOf(chip, { debounceMs: 400 }));
  tell('debounceShort', await edgesOf(chip, { debounceMs: 20 }));
  tell('overflow', await overflow(chip));
  tell('hub', await hub());
  tell('crash', await endOf('throw'));
  tell('kill', { ...(await endOf('kill')), levelAfterNextStart: await nextStart() });
  const killed = await endOf('kill');
  tell('afterKill', { levelBefore: killed.levelAfter, told: makeOutputsSafe(chip, configOf('on').outputs), level: levelOf(RELAY) });
}

if (process.argv[2] === 'hold') await hold(process.argv[3] ?? '');
else await prove();
