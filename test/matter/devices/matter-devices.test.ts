import '../../../src/matter/matter-platform.ts';
import { OnOffClient } from '@matter/main/behaviors/on-off';
import { ChangeNotificationService, type ClientNode } from '@matter/main/node';
import { ClientSubscriptions, PeerSet } from '@matter/main/protocol';
import { Status, TlvInvokeResponse } from '@matter/main/types';
import { describe, expect, test } from 'vitest';
import { DeviceAttention } from '../../../src/core/devices/device-attention.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { MatterDevices } from '../../../src/matter/devices/matter-devices.ts';
import type { MatterNode } from '../../../src/matter/matter-node.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryStore } from '../memory-store.ts';

type Behaviors = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;

const SUCCESS = { commandPath: { endpointId: 1, clusterId: 6, commandId: 1 }, status: { status: Status.Success } };
const descriptor = (deviceType: number, partsList: readonly number[] = []) => ({
  descriptor: { deviceTypeList: [{ deviceType, revision: 1 }], serverList: [29], partsList },
});
const ROOT = descriptor(22, [1]);
const ON_OFF = { onOff: { onOff: false, attributeList: [0], acceptedCommandList: [0, 1, 2] } };
const LAMP = { ...descriptor(256), ...ON_OFF };
const bridgedLamp = (name: string) => ({ ...LAMP, bridgedDeviceBasicInformation: { reachable: true, nodeLabel: name, uniqueId: name } });
const ignored = { on: () => {}, off: () => {} };

/** A node that answers until it is unplugged, and the hub's devices with that node alone. */
async function hubWith(endpoints: readonly Behaviors[]) {
  const clock = new ManualClock();
  const attention = new DeviceAttention(clock);
  const session = { isClosing: false, isPeerLost: false, activeTimestamp: clock.now(), parameters: {} };
  let isPlugged = true;
  const answers = () => {
    if (isPlugged) session.activeTimestamp = clock.now();
    return isPlugged;
  };
  const exchange = {
    session,
    send: async () => {},
    close: async () => {},
    nextMessage: async () => ({
      ...{ packetHeader: { messageId: 1 }, payloadHeader: { messageType: answers() ? 9 : 0 } },
      payload: TlvInvokeResponse.encode({
        suppressResponse: false,
        invokeResponses: [{ status: SUCCESS }],
        interactionModelRevision: 11,
      } as never),
    }),
  };
  const link = {
    ...{
      hasSession: true,
      address: {},
      newestSession: () => session,
      disconnect: async () => {},
      service: { addresses: new Set(), changed: ignored },
    },
    sessions: Object.assign(new Set([session]), { added: ignored, deleted: ignored }),
    exchangeProvider: { initiateExchange: async () => exchange },
  };
  const services = new Map<unknown, object>([
    [PeerSet, { for: () => link, timing: {} }],
    [ChangeNotificationService, { change: ignored }],
    [ClientSubscriptions, { closeForPeer: () => {} }],
  ]);
  const env = { get: (service: unknown) => services.get(service) ?? {} };
  const made = endpoints.map((behaviors, number) => ({
    number,
    behaviors: {
      supported: Object.fromEntries(Object.keys(behaviors).map((id) => [id, id === 'onOff' ? OnOffClient : behaviors[id]])),
      internalsOf: () => ({}),
    },
    maybeStateOf: (id: string) => behaviors[id],
  }));
  const heard: (() => void)[] = [];
  const node = {
    ...made[0],
    ...{ env, state: { commissioning: { peerAddress: { nodeId: 5n } } } },
    endpoints: Object.assign(made, { has: (number: number) => number in made, for: (number: number) => made[number] }),
    eventsOf: () => ({
      subscriptionAlive: { ...ignored, on: (listener: () => void) => heard.push(listener) },
      subscriptionStatusChanged: ignored,
    }),
    interaction: { probe: async () => answers() },
  } as unknown as ClientNode;
  const matterNode = { node: { env }, commissionedPeers: () => [node], onPeerAdded: () => () => {}, onPeerRemoved: () => () => {} };
  const devices = new MatterDevices({
    ...{ clock, attention, store: new MemoryStore(), logger: createLogger('error') },
    matterNode: matterNode as unknown as MatterNode,
  });
  await devices.start();
  const lost = () => devices.list().some(({ reachability }) => reachability === 'unreachable');
  /** Lets time pass and returns after how many seconds the node counts as lost; undefined if it does not within 70 s. */
  const lostAfter = async (eachSecond: () => void = () => {}) => {
    isPlugged = false;
    for (let seconds = 1; seconds <= 70; seconds++) {
      eachSecond();
      clock.advance(1_000);
      await new Promise(setImmediate);
      if (lost()) return seconds;
    }
    return undefined;
  };
  // The subscription reports, and so the node is known to be there.
  const report = () => {
    answers();
    for (const listener of heard) listener();
  };
  report();
  clock.advance(1_000);
  return { devices, attention, clock, lostAfter, [Symbol.asyncDispose]: () => devices[Symbol.asyncDispose]() };
}

const idsOf = (devices: MatterDevices): readonly DeviceId[] => devices.list().map(({ id }) => id);

describe('a device that is unplugged', () => {
  test('is lost within a minute if nobody cares', async () => {
    await using hub = await hubWith([ROOT, LAMP]);
    expect(await hub.lostAfter()).toBeGreaterThan(15);
  });

  test('is lost within 15 s if somebody is shown its known values', async () => {
    await using hub = await hubWith([ROOT, LAMP]);
    expect(await hub.lostAfter(() => hub.devices.noteRead(idsOf(hub.devices)))).toBeLessThanOrEqual(15);
  });

  test('is lost within 15 s if something begins to use it', async () => {
    await using hub = await hubWith([ROOT, LAMP]);
    const used = new Set<DeviceId>();
    hub.attention.addUser((device) => used.has(device));
    // The timer that runs by now is that of a device that nobody uses.
    used.add(idsOf(hub.devices)[0] as DeviceId);
    hub.attention.noteUse();
    expect(await hub.lostAfter()).toBeLessThanOrEqual(15);
  });

  test.each([
    ['a lock', descriptor(0x0a)],
    ['a gate', descriptor(0x0230)],
    ['a part of a gate', descriptor(0x0231)],
    ['a smoke alarm', descriptor(0x76)],
    ['a sensor of carbon monoxide', { ...descriptor(0x2c), carbonMonoxideConcentrationMeasurement: { measuredValue: 0 } }],
  ])('is always lost within 15 s if it is %s', async (_, endpoint: Behaviors) => {
    await using hub = await hubWith([ROOT, endpoint]);
    expect(await hub.lostAfter()).toBeLessThanOrEqual(15);
  });
});

test('an answered call to one of 50 devices of a bridge does not ask for each of them who uses it', async () => {
  const lamps = Array.from({ length: 50 }, (_, index) => bridgedLamp(`lamp ${index}`));
  const parts = lamps.map((_, index) => index + 2);
  await using hub = await hubWith([descriptor(22, [1, ...parts]), descriptor(14, parts), ...lamps]);
  const last = hub.devices.list().at(-1);
  let asked = 0;
  hub.attention.addUser(() => {
    asked += 1;
    return false;
  });
  const path = { device: last?.id as DeviceId, endpoint: 51, cluster: 'OnOff', command: 'On' };
  await hub.devices.invoke(path, {}, { signal: new AbortController().signal });
  expect(hub.devices.list()).toHaveLength(51);
  expect(asked).toBe(0);
});
