import { afterEach, describe, expect, test, vi } from 'vitest';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { BrokerConnection } from '../../../src/connectors/mqtt/broker-connection.ts';
import { HomeAssistantBridge } from '../../../src/connectors/mqtt/home-assistant-bridge.ts';
import { BridgeTopics } from '../../../src/connectors/mqtt/home-assistant-messages.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { EventBus } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { codeOf } from '../../calls/pipeline-fixture.ts';
import { messagesFixture, resultOf } from '../../connectors/messages/messages-fixture.ts';
import { fakeHome } from '../../connectors/mqtt/fake-home.ts';
import { BrokerEar, startBroker } from './broker.ts';
import { cableTo } from './cable.ts';

const LIMIT = { interval: 50 };
const owned: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of owned.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

async function own<T extends AsyncDisposable>(starting: Promise<T> | T): Promise<T> {
  const one = await starting;
  owned.push(one);
  return one;
}

const hasBroker = findDebianTool('mosquitto') !== undefined;

describe.skipIf(!hasBroker)('notify over MQTT (needs mosquitto)', () => {
  const house = (mqtt: object) => ({ mqtt, notify: { recipients: { anna: { ways: { table: { mqtt: { topic: 'home/anna' } } } } } } });

  function openHouse(mqtt: object, env: NodeJS.ProcessEnv = {}) {
    const setup = messagesFixture(house(mqtt), { env });
    owned.push(setup.connector.service ?? expect.unreachable());
    return setup;
  }

  test('is delivered when the broker took it for somebody, and not when nobody listens', async () => {
    const broker = await own(startBroker());
    const { call } = openHouse({ url: broker.url });
    expect(await call('notify', { recipient: 'anna', message: 'x' })).toMatchObject({
      error: { code: 'SERVICE_REFUSED', message: expect.stringContaining('Nobody listens') },
    });
    const ear = await own(BrokerEar.listen(broker.url, 'home/#'));
    const answer = await call('notify', { recipient: 'anna', message: 'Tür ist offen', title: 'Keller', urgency: 'high' });
    expect(answer).toMatchObject({ result: { delivered: true, channel_used: 'table' } });
    await expect.poll(() => ear.last('home/anna'), LIMIT).toBeDefined();
    const told = JSON.parse(ear.last('home/anna') ?? '') as object;
    expect(told).toMatchObject({ id: resultOf(answer).delivery_id, message: 'Tür ist offen', urgency: 'high' });
  });

  test('a broker that is away has taken nothing, and is told nothing of it later', async () => {
    const broker = await own(startBroker());
    const { call } = openHouse({ url: broker.url });
    const ear = await own(BrokerEar.listen(broker.url, 'home/#'));
    expect(await call('notify', { recipient: 'anna', message: 'before' })).toMatchObject({ status: 'success' });
    await broker.stop();
    // At first the hub may not have noticed yet, and then it cannot know.
    const meanwhile = async () => codeOf(await call('notify', { recipient: 'anna', message: 'meanwhile' }, 400));
    await expect.poll(meanwhile, LIMIT).toBe('SERVICE_UNAVAILABLE');
    await broker.again();
    await expect.poll(() => call('notify', { recipient: 'anna', message: 'after' }), LIMIT).toMatchObject({ status: 'success' });
    await expect.poll(() => ear.heard.some(({ text }) => text.includes('after')), LIMIT).toBe(true);
    expect(ear.heard.filter(({ text }) => text.includes('meanwhile'))).toEqual([]);
  });

  test('with a user that the broker does not know says so', async () => {
    const broker = await own(startBroker('allow_anonymous false\n'));
    const { call } = openHouse({ url: broker.url, user: 'hub', password: 'env:MQTT' }, { MQTT: 'geheim' });
    const answers: string[] = [];
    // A limit that leaves no time for a second try, and may be over before the broker has said a word to the first.
    const ask = async () => {
      const answer = await call('notify', { recipient: 'anna', message: 'x' }, 900);
      answers.push(JSON.stringify(answer));
      return answer;
    };
    const message = expect.stringMatching(/not authori[sz]ed/i);
    await expect.poll(ask, LIMIT).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE', message } });
    expect(answers.join()).not.toContain('geheim');
  });
});

describe.skipIf(!hasBroker)('the bridge to Home Assistant (needs mosquitto)', () => {
  const topics = new BridgeTopics('Flur', { discoveryPrefix: 'homeassistant' });

  async function bridged(url: string) {
    const home = fakeHome();
    const events = new EventBus('test', systemClock);
    const link = new BrokerConnection(silentLogger, { url, clientId: 'flur' });
    const call = vi.fn(async (_tool: string, _params: object) => ({ success: true }) as const);
    const calls = { call, may: (permission: string) => permission.endsWith('lamp'), [Symbol.dispose]: () => {} };
    const ports = {
      clock: systemClock,
      logger: silentLogger,
      events,
      link,
      readings: home,
      devices: home,
      hub: { name: 'Flur', version: '1' },
      topics,
      hasTool: () => false,
      calls,
    };
    const bridge = new HomeAssistantBridge(ports);
    await bridge.start();
    owned.push({
      async [Symbol.asyncDispose]() {
        await bridge[Symbol.asyncDispose]();
        await link[Symbol.asyncDispose]();
      },
    });
    const change = (id: string, value: number | boolean) => {
      home.set(id, value);
      events.emit('sensor.reading', id, { value });
    };
    return { home, bridge, call, change };
  }

  test('announces devices, keeps their states, and follows them', async () => {
    const broker = await own(startBroker());
    const { change, home } = await bridged(broker.url);
    // Whoever comes later finds everything kept.
    const probe = await own(BrokerEar.listen(broker.url, topics.status));
    await expect.poll(() => probe.last(topics.status), LIMIT).toBe('online');
    const ear = await own(BrokerEar.listen(broker.url, 'homeassistant/#', 'atmosphere/#'));
    const lamp = 'homeassistant/light/atmosphere-flur/lamp_is_on/config';
    await expect.poll(() => ear.last(lamp), LIMIT).toBeDefined();
    expect(JSON.parse(ear.last(lamp) ?? '')).toMatchObject({
      unique_id: 'atmosphere-flur_lamp_is_on',
      state_topic: 'atmosphere/flur/state/lamp/is_on',
      command_topic: 'atmosphere/flur/set/lamp/is_on',
      brightness_scale: 100,
      device: { identifiers: ['atmosphere-flur_lamp'], name: 'Lampe', suggested_area: 'Flur' },
    });
    await expect.poll(() => ear.last('atmosphere/flur/state/probe/temperature'), LIMIT).toBe('21.5');
    expect(ear.heard.every(({ isRetained }) => isRetained)).toBe(true);
    change('probe/temperature', 22);
    await expect.poll(() => ear.last('atmosphere/flur/state/probe/temperature'), LIMIT).toBe('22');
    home.remove('probe');
  });

  test('runs commands, tells of those that fail, and never one that the broker kept', async () => {
    const broker = await own(startBroker());
    const ear = await own(BrokerEar.listen(broker.url, 'atmosphere/#'));
    await ear.say('atmosphere/flur/set/lamp/is_on', 'OFF', true);
    const { call } = await bridged(broker.url);
    await expect.poll(() => ear.last(topics.status), LIMIT).toBe('online');
    await expect
      .poll(async () => {
        await ear.say('atmosphere/flur/set/lamp/is_on', 'ON');
        return call.mock.calls.length;
      }, LIMIT)
      .toBeGreaterThan(0);
    expect(call.mock.calls.every(([, params]) => JSON.stringify(params).includes('turn_on'))).toBe(true);
    // An earlier ON may still be on its way.
    call.mockImplementation(async (_tool, params) => {
      if (JSON.stringify(params).includes('set_brightness')) throw new AtmoError('DEVICE_UNREACHABLE', 'The lamp is away');
      return { success: true };
    });
    await ear.say('atmosphere/flur/set/lamp/brightness', '40');
    await expect.poll(() => ear.last(topics.errors), LIMIT).toContain('DEVICE_UNREACHABLE');
    expect(call.mock.calls.at(-1)).toMatchObject([
      'control_device',
      { device_id: 'lamp', command: 'set_brightness', params: { brightness: 40 } },
      expect.anything(),
    ]);
    const count = call.mock.calls.length;
    await ear.say('atmosphere/flur/set/probe/temperature', '99');
    await expect.poll(() => ear.last(topics.errors), LIMIT).toContain('VALIDATION_ERROR');
    expect(call.mock.calls).toHaveLength(count);
  });

  test('is sent nothing that would fill its memory', async () => {
    const broker = await own(startBroker());
    const link = await own(new BrokerConnection(silentLogger, { url: broker.url, clientId: 'hub' }));
    const heard: number[] = [];
    const onUp = () => link.subscribe(['set/#']);
    link.open({ onUp, onMessage: ({ payload }) => heard.push(payload.length) }, { topic: 'status', payload: 'offline' });
    const ear = await own(BrokerEar.listen(broker.url, 'none'));
    await ear.say('set/lamp', 'x'.repeat(2_000_000), true);
    await expect.poll(async () => ear.say('set/lamp/on', 'ON').then(() => heard.length), LIMIT).toBeGreaterThan(0);
    await ear.say('set/lamp', 'x'.repeat(2_000_000));
    await expect.poll(async () => ear.say('set/lamp/on', 'ON').then(() => heard.length), LIMIT).toBeGreaterThan(3);
    expect(Math.max(...heard)).toBe(2);
  });

  test('is offline by its last will when it dies, and tells everything again when the broker is back', async () => {
    const broker = await own(startBroker());
    const cable = await cableTo(broker.port);
    const { change } = await bridged(`mqtt://127.0.0.1:${cable.port}`);
    const ear = await own(BrokerEar.listen(broker.url, 'atmosphere/#'));
    await expect.poll(() => ear.last('atmosphere/flur/state/probe/temperature'), LIMIT).toBe('21.5');
    await broker.stop();
    change('probe/temperature', 19);
    await broker.again();
    await expect.poll(() => ear.last('atmosphere/flur/state/probe/temperature'), LIMIT).toBe('19');
    await cable.pull();
    await expect.poll(() => ear.last(topics.status), LIMIT).toBe('offline');
  });

  test('says goodbye, and takes back what was there before and is gone', async () => {
    const broker = await own(startBroker());
    const old = 'homeassistant/sensor/atmosphere-flur/gone_temperature/config';
    const foreign = 'homeassistant/sensor/zigbee/other/config';
    const ear = await own(BrokerEar.listen(broker.url, 'homeassistant/#', 'atmosphere/#'));
    await ear.say(old, '{}', true);
    await ear.say(foreign, '{}', true);
    const { bridge } = await bridged(broker.url);
    await expect.poll(() => ear.last(old), LIMIT).toBe('');
    expect(ear.last(foreign)).toBe('{}');
    await bridge[Symbol.asyncDispose]();
    await expect.poll(() => ear.last(topics.status), LIMIT).toBe('offline');
  });
});
