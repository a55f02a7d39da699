import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type BridgedThing, sensorThing } from '../../src/bridge/bridged-things.ts';
import { BridgeHub, pump } from './bridge-hub.ts';

let hub: BridgeHub;

beforeEach(async () => {
  hub = new BridgeHub();
  await hub.service.start();
});

afterEach(() => hub.service[Symbol.asyncDispose]());

/** Returns a temperature sensor of a device of another hub. */
function remote(device: string, name: string): BridgedThing {
  const sensor = { id: `${device}/${name}`, kind: 'temperature', unit: '°C', title: `${device} ${name}` };
  return sensorThing(sensor, device, 'hub-2') ?? pump;
}

const reachable = (...devices: readonly string[]) => ({
  id: 'hub-2',
  isReachable: true,
  devices: devices.map((id) => ({ id, isReachable: true })),
});
/** Returns an answer of `list_sensors` with these values. */
const listed = (...sensors: readonly (readonly [id: string, value?: unknown])[]) => ({
  status: 'success',
  result: {
    sensors: sensors.map(([sensor_id, ...value]) => ({
      sensor_id,
      kind: value.length > 0 ? 'temperature' : undefined,
      unit: '°C',
      title: 't',
      value: value[0],
    })),
  },
});
const live = () => hub.subscriptions.filter(({ signal }) => !signal.aborted);

test('more sensors than one subscription can name are divided, and each is requested once', async () => {
  hub.peers.push(reachable('shed'));
  const things = Array.from({ length: 70 }, (_, index) => remote('shed', `t${index}`));
  hub.things.set('Shed', things);
  await hub.add('Shed');
  expect(live().map(({ subjects }) => subjects.length)).toEqual([64, 6]);
  expect(new Set(live().flatMap(({ subjects }) => subjects)).size).toBe(70);
});

test('a hub that cannot be reached is subscribed to when it is back', async () => {
  hub.things.set('Shed', [remote('shed', 't')]);
  await hub.add('Shed');
  expect(hub.subscriptions).toEqual([]);
  expect(hub.node().named('shed t').isReachable).toBe(false);
  hub.answer = listed(['shed/t', 21.5]);
  hub.peers.push(reachable('shed'));
  hub.events.emit('peer.changed', 'hub-2', {});
  hub.clock.advance(5_000);
  await vi.waitFor(() => expect(live()).toHaveLength(1));
  await vi.waitFor(() => expect(hub.node().named('shed t').isReachable).toBe(true));
});

test('the values of a device are read once at the beginning, and malformed and foreign ones are not shown', async () => {
  hub.peers.push(reachable('shed'));
  hub.things.set('Shed', [remote('shed', 't'), remote('cellar', 't')]);
  hub.answer = listed(['shed/t', 21.5], ['shed/t'], ['attic/t', 3]);
  await hub.add('Shed');
  await vi.waitFor(() => expect(hub.node().named('shed t').values).toEqual({ temperature: 21.5 }));
  expect(hub.node().named('cellar t').values).toEqual({ temperature: null });
});

test('the subscriptions of before end when the choice changes and when the hub stops', async () => {
  hub.peers.push(reachable('shed', 'cellar'));
  hub.things.set('Shed', [remote('shed', 't')]);
  hub.things.set('Cellar', [remote('cellar', 't')]);
  await hub.add('Shed');
  await hub.add('Cellar');
  expect(live().map(({ subjects }) => subjects)).toEqual([['cellar/t', 'shed/t']]);
  await hub.service[Symbol.asyncDispose]();
  expect(live()).toEqual([]);
});

test('the token that reads another hub allows its chosen devices and nothing else', async () => {
  hub.things.set('Shed', [remote('shed', 't'), remote('cellar', 't')]);
  await hub.add('Shed');
  expect(hub.granted()).toEqual(['sensor:read:cellar/*', 'sensor:read:shed/*']);
  await hub.service.remove('shed t');
  expect(hub.granted()).toEqual(['sensor:read:cellar/*']);
});

describe('a thing of another hub after a start', () => {
  const isReachable = () => hub.node().named('Attic').isReachable;

  beforeEach(async () => {
    hub.peers.push(reachable('attic'));
    await hub.add('Attic');
  });

  test('is not reachable until its hub has reported whether it is on', async () => {
    expect(isReachable()).toBe(false);
    live()[0]?.send('attic/is_on', true);
    await vi.waitFor(() => expect(hub.node().named('Attic')).toMatchObject({ isReachable: true, values: { on: true } }));
    await hub.restart();
    expect(isReachable()).toBe(false);
    live()[0]?.send('attic/is_on', null);
    await hub.service.remove('nothing of this name').catch(() => undefined);
    expect(isReachable()).toBe(false);
    live()[0]?.send('attic/is_on', true);
    await vi.waitFor(() => expect(isReachable()).toBe(true));
  });

  test('is reachable without a value that can be shown as unknown', async () => {
    hub.things.set('Shed', [remote('shed', 't')]);
    hub.peers.push(reachable('shed'));
    hub.peers.shift();
    await hub.add('Shed');
    live()[0]?.send('shed/t', null);
    await vi.waitFor(() => expect(hub.node().named('shed t').isReachable).toBe(true));
  });
});
