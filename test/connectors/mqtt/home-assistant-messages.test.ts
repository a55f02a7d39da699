import { describe, expect, test } from 'vitest';
import { BridgeTopics, retainedMessages } from '../../../src/connectors/mqtt/home-assistant-messages.ts';
import type { Device } from '../../../src/core/devices/device-model.ts';
import type { Reading } from '../../../src/core/devices/sensor-readings.ts';
import { deviceOf, readingOf } from './fake-home.ts';

const topics = new BridgeTopics('Küche Nord', { discoveryPrefix: 'homeassistant' });
const hub = { name: 'Küche Nord', version: '1.2.3' };

function statesOf(readings: readonly Reading[], devices: readonly Device[] = [], controlled: readonly string[] = []) {
  const get = (id: string) => devices.find((device) => device.id === id);
  const isControlled = ({ device }: { readonly device: string }) => controlled.includes(device);
  const states = retainedMessages({ readings, devices: { get }, hub, isControlled }, topics);
  const announced = [...states].filter(([topic]) => topic.endsWith('/config'));
  return {
    states,
    entities: new Map(announced.map(([topic, payload]) => [topic.split('/').at(1) ?? '', JSON.parse(payload) as Record<string, unknown>])),
  };
}

const lamp = [readingOf('lamp/is_on', true, { kind: 'on_off' }), readingOf('lamp/brightness', 80, { unit: '%' })];

describe('the home on the broker', () => {
  test('a sensor has the class and unit that Home Assistant knows, its state and its availability', () => {
    const { states, entities } = statesOf([readingOf('probe/temperature', 21.5, { unit: '°C', area: 'Küche' })]);
    expect(entities.get('sensor')).toMatchObject({
      name: 'Temperature',
      unique_id: 'atmosphere-kueche-nord_probe_temperature',
      device_class: 'temperature',
      unit_of_measurement: '°C',
      state_class: 'measurement',
      state_topic: 'atmosphere/kueche-nord/state/probe/temperature',
      availability: [{ topic: 'atmosphere/kueche-nord/status' }, { topic: 'atmosphere/kueche-nord/available/probe' }],
      device: { identifiers: ['atmosphere-kueche-nord_probe'], name: 'probe', suggested_area: 'Küche' },
      origin: { sw_version: '1.2.3' },
    });
    expect(states.get('atmosphere/kueche-nord/state/probe/temperature')).toBe('21.5');
    expect(states.get('atmosphere/kueche-nord/available/probe')).toBe('online');
  });

  test('a unit that does not belong to the class leaves the class out; a text has neither', () => {
    expect(statesOf([readingOf('a/power', 3, { unit: 'hp' })]).entities.get('sensor')).not.toHaveProperty('device_class');
    const text = statesOf([readingOf('a/air_quality', 'good')]).entities.get('sensor');
    expect(text).not.toHaveProperty('state_class');
    expect(statesOf([readingOf('m/energy', 3.2, { unit: 'kWh' })]).entities.get('sensor')).toMatchObject({
      state_class: 'total_increasing',
    });
  });

  test('true and false are ON and OFF of a binary sensor', () => {
    const { states, entities } = statesOf([readingOf('door/is_open', false, { kind: 'contact' })]);
    expect(entities.get('binary_sensor')).toMatchObject({ device_class: 'opening' });
    expect(states.get('atmosphere/kueche-nord/state/door/is_open')).toBe('OFF');
  });

  test('a sensor without a value is no entity yet, and an unreachable device is offline', () => {
    const { states, entities } = statesOf([readingOf('new/temperature', null, { unit: '°C', reachability: 'unreachable' })]);
    expect(entities.size).toBe(0);
    expect(states.get('atmosphere/kueche-nord/available/new')).toBe('offline');
  });

  test('a lamp is a light that can be dimmed where commands are taken, else two sensors', () => {
    const device = deviceOf('lamp', { name: 'Stehlampe', deviceTypes: ['DimmableLight'], softwareVersion: '7' });
    const { entities } = statesOf(lamp, [device], ['lamp']);
    expect([...entities.keys()]).toEqual(['light']);
    expect(entities.get('light')).toMatchObject({
      name: null,
      command_topic: 'atmosphere/kueche-nord/set/lamp/is_on',
      brightness_command_topic: 'atmosphere/kueche-nord/set/lamp/brightness',
      brightness_scale: 100,
      device: { name: 'Stehlampe', manufacturer: 'Vendor', model: 'Product', sw_version: '7' },
    });
    expect([...statesOf(lamp, [device]).entities.keys()].sort()).toEqual(['binary_sensor', 'sensor']);
  });

  test('a plug, and an output of the board, are switches', () => {
    const plug = statesOf([lamp[0] ?? expect.unreachable()], [deviceOf('lamp', { deviceTypes: ['OnOffPlugInUnit'] })], ['lamp']);
    expect(plug.entities.get('switch')).toMatchObject({ command_topic: 'atmosphere/kueche-nord/set/lamp/is_on' });
    const pump = statesOf([readingOf('gpio/pump', true, { kind: 'switch' })], [], ['gpio']);
    expect(pump.entities.get('switch')).toMatchObject({ command_topic: 'atmosphere/kueche-nord/set/gpio/pump' });
  });

  test('both sockets of a double plug are switches of their own names', () => {
    const sockets = [1, 2].map((endpoint) => readingOf(`plug/is_on/${endpoint}`, true, { kind: 'on_off' }));
    const states = statesOf(sockets, [deviceOf('plug')], ['plug']).states;
    const names = [...states]
      .filter(([topic]) => topic.includes('/switch/'))
      .map(([, payload]) => (JSON.parse(payload) as { name: string }).name);
    expect(names).toEqual(['Is on 1', 'Is on 2']);
  });

  test('a thermostat that heats knows off and heat, one that cools too all', () => {
    const readings = [
      readingOf('trv/temperature', 20, { unit: '°C' }),
      readingOf('trv/heating_setpoint', 21, { kind: 'setpoint', unit: '°C' }),
      readingOf('trv/mode', 'Heat', { kind: 'thermostat_mode' }),
    ];
    const { states, entities } = statesOf(readings, [deviceOf('trv')], ['trv']);
    expect(entities.get('climate')).toMatchObject({
      modes: ['off', 'heat'],
      temperature_command_topic: 'atmosphere/kueche-nord/set/trv/heating_setpoint',
      current_temperature_topic: 'atmosphere/kueche-nord/state/trv/temperature',
    });
    expect(entities.get('climate')).not.toHaveProperty('state_topic');
    expect(states.get('atmosphere/kueche-nord/state/trv/mode')).toBe('heat');
    const cooling = [...readings, readingOf('trv/cooling_setpoint', 25, { kind: 'setpoint', unit: '°C' })];
    expect(statesOf(cooling, [deviceOf('trv')], ['trv']).entities.get('climate')).toMatchObject({ modes: ['off', 'heat', 'cool', 'auto'] });
  });

  test('a blind is a cover with its position', () => {
    const blind = readingOf('blind/open_percent', 40, { kind: 'cover_position', unit: '%' });
    expect(statesOf([blind], [deviceOf('blind')], ['blind']).entities.get('cover')).toMatchObject({
      position_topic: 'atmosphere/kueche-nord/state/blind/open_percent',
      set_position_topic: 'atmosphere/kueche-nord/set/blind/open_percent',
    });
  });
});
