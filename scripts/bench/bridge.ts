/** A command by another ecosystem through the bridge of a hub, against the same command to a lamp itself, and against the hub's own call. */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientNode } from '@matter/main/node';
import { BareController } from '../../test/home/bare-controller.ts';
import { BridgeHome, LAMP, TURN_OFF } from './bridge-home.ts';
import type { BenchFigure } from './figure.ts';
import { median, quantile } from './statistics.ts';

const WARM_UP = 30;
const SAMPLES = 200;
const BAR = 1.3;
/** Reports about a command end in this time, so that they do not delay the next one: matter.js begins one 50 ms after a change, on each hub. */
const REST_MS = 150;

/**
 * One controller gives commands in turns to a lamp, to an output of the hub's board and to the same lamp behind the bridge. An agent of the
 * hub calls the tool of that lamp, too.
 */
export async function run(): Promise<BenchFigure[]> {
  await using home = await new BridgeHome().start();
  await using controller = await BareController.start(home.dir);
  const lamp = await controller.commission(await home.lampCode());
  const bridge = await controller.commission(await home.bridgeCode());
  const { directMs, outputMs, bridgedMs, calledMs } = await inTurns(home, lamp, bridge);
  const ratio = (values: readonly number[], base = directMs) => median(values) / median(base);
  const common = { unit: 'ms', bar: null, ok: true, samples: SAMPLES };
  return [
    { ...bounded('bridge.ratio_output', ratio(outputMs)), vs: 'p50 of a command to an output of the board / to a lamp itself' },
    { ...bounded('bridge.ratio_lamp', ratio(bridgedMs)), vs: 'p50 of a command to a lamp of another hub / to the same lamp itself' },
    {
      ...bounded('bridge.ratio_called', ratio(bridgedMs, calledMs)),
      vs: 'p50 of a command to a lamp of another hub / its tool called over HTTP',
    },
    {
      ...{ ...common, name: 'bridge.load', value: loadavg()[0] ?? 0, unit: 'processes', samples: 1 },
      vs: 'mean number that ran or waited in the last minute; with more than there are processors, each way between two processes waits',
    },
    { ...common, name: 'bridge.direct_p50', value: median(directMs), vs: 'a command to a lamp itself' },
    { ...common, name: 'bridge.direct_p10', value: quantile(directMs, 0.1), vs: 'the same' },
    { ...common, name: 'bridge.output_p10', value: quantile(outputMs, 0.1), vs: 'a command to an output of the board, with all checks' },
    { ...common, name: 'bridge.lamp_p10', value: quantile(bridgedMs, 0.1), vs: 'a command to the lamp of another hub, read back there' },
    { ...common, name: 'bridge.output_p50', value: median(outputMs), vs: 'a command to an output of the board, with all checks' },
    { ...common, name: 'bridge.output_p95', value: quantile(outputMs, 0.95), vs: 'the same' },
    { ...common, name: 'bridge.lamp_p50', value: median(bridgedMs), vs: 'a command to the lamp of another hub, read back there' },
    {
      ...common,
      name: 'bridge.called_p50',
      value: median(calledMs),
      vs: 'a call of the tool of that lamp over HTTP at the hub with the bridge',
    },
    { ...common, name: 'bridge.lamp_p95', value: quantile(bridgedMs, 0.95), vs: 'the same' },
  ];
}

function bounded(name: string, value: number): Omit<BenchFigure, 'vs'> {
  return { name, value, unit: 'ratio', bar: BAR, ok: value <= BAR, samples: SAMPLES };
}

type Times = Record<'directMs' | 'outputMs' | 'bridgedMs' | 'calledMs', number[]>;

/**
 * All with the same rests. The lamp is turned on itself, and off over the bridge or by the call, so that each command changes something:
 * matter.js answers one that changes nothing without storing or reporting it, in half the time.
 */
async function inTurns(home: BridgeHome, lamp: ClientNode, bridge: ClientNode): Promise<Times> {
  const [direct, output, bridged] = [commander(lamp, undefined), commander(bridge, 'Pump'), commander(bridge, LAMP)];
  const turns: readonly [keyof Times, (count: number) => Promise<unknown>][] = [
    ['directMs', () => direct(true)],
    ['outputMs', (count) => output(count % 2 === 0)],
    ['bridgedMs', () => bridged(false)],
    ['directMs', () => direct(true)],
    ['calledMs', () => home.first.result(TURN_OFF)],
  ];
  const times: Times = { directMs: [], outputMs: [], bridgedMs: [], calledMs: [] };
  for (let count = 0; count < WARM_UP + SAMPLES; count++) {
    for (const [name, command] of turns) {
      const startMs = performance.now();
      await command(count);
      if (count >= WARM_UP) times[name].push(performance.now() - startMs);
      await sleep(REST_MS);
    }
  }
  return times;
}

/** Returns what turns on and off the endpoint with this label, or the first one with the On/Off cluster. */
function commander(peer: ClientNode, label: string | undefined): (isOn: boolean) => Promise<unknown> {
  const endpoint = [...peer.endpoints].find((one) => {
    if (!('onOff' in one.behaviors.supported)) return false;
    return label === undefined || (one.stateOf('bridgedDeviceBasicInformation') as { nodeLabel?: unknown }).nodeLabel === label;
  });
  if (!endpoint) throw new RangeError(`The controller sees no ${label ?? 'lamp'}`);
  const commands = endpoint.commandsOf('onOff') as unknown as Record<'on' | 'off', () => Promise<unknown>>;
  return (isOn) => (isOn ? commands.on() : commands.off());
}
