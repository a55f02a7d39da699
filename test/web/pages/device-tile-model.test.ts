import { describe, expect, test } from 'vitest';
import { EMPTY_HOME, withDevices } from '../../../src/web/api/home-store.ts';
import { actionsOf, tileOf } from '../../../src/web/pages/device-tile-model.ts';
import { areasOf, summaryOf } from '../../../src/web/pages/home-areas.ts';
import { deviceView, readingView, toolIds } from '../home-fixture.ts';

const named = (...readings: readonly ReturnType<typeof readingView>[]) => new Map(readings.map((reading) => [reading.name, reading]));

describe('the actions of a device', () => {
  test.each([
    ['matter:hall_lamp_turn_on@1.0.0', 'turn_on'],
    ['matter:hall_lamp_read_lock@1.0.0', 'read_lock'],
    ['matter:hall_lamp_1a2b3c_turn_on@1.0.0', 'turn_on'],
  ])('%s is %s', (tool, action) => {
    expect([...actionsOf({ id: 'hall-lamp', name: 'Hall lamp', tools: [tool] }).keys()]).toEqual([action]);
  });

  test('are found in shortened names, and after a device was renamed', () => {
    const cut = {
      id: 'bath-sensor-temperature-sensor',
      name: 'Bath sensor temperature sensor',
      tools: ['matter:bath_sensor_tempe_get_temperature_322f59@1.0.0'],
    };
    expect([...actionsOf(cut).keys()]).toEqual(['get_temperature']);
    expect([...actionsOf({ id: 'lamp-1', name: 'Küchenlampe', tools: ['matter:kuchenlampe_toggle@1.0.0'] }).keys()]).toEqual(['toggle']);
  });
});

describe('a tile', () => {
  test('of a lamp glows when it is on, and its switch turns it off', () => {
    const device = deviceView('hall-lamp', { tools: toolIds('hall-lamp', 'turn_on', 'turn_off', 'set_brightness') });
    const readings = named(
      readingView('hall-lamp', 'is_on', { kind: 'on_off', value: true }),
      readingView('hall-lamp', 'brightness', { value: 40, unit: '%' }),
    );
    const tile = tileOf(device, readings);
    expect(tile).toMatchObject({ icon: 'bulb', tone: 'glow', state: 'On · 40 %' });
    const [power, slider] = tile.controls;
    expect(power).toMatchObject({ kind: 'switch', isOn: true, flip: { tool: 'matter:hall_lamp_turn_off@1.0.0', params: {} } });
    expect(slider?.kind === 'slider' && slider.set(70)).toMatchObject({
      tool: 'matter:hall_lamp_set_brightness@1.0.0',
      params: { brightness: 70 },
    });
  });

  test.each([
    ['locked', 'Unlock', 'matter:front_door_unlock@1.0.0'],
    ['unlocked', 'Lock', 'matter:front_door_lock@1.0.0'],
    ['not_fully_locked', 'Lock', 'matter:front_door_lock@1.0.0'],
  ])('of a lock that is %s offers to %s it', (value, text, tool) => {
    const device = deviceView('front-door', { device_types: ['DoorLock'], tools: toolIds('front-door', 'lock', 'read_lock', 'unlock') });
    const tile = tileOf(device, named(readingView('front-door', 'lock_state', { kind: 'lock', value })));
    expect(tile.controls).toMatchObject([{ kind: 'buttons', buttons: [{ text, call: { tool } }] }]);
  });

  test('of a thermostat steps the temperature that its mode follows', () => {
    const device = deviceView('heat', { device_types: ['Thermostat'], tools: toolIds('heat', 'set_temperature') });
    const setpoints = [
      readingView('heat', 'heating_setpoint', { kind: 'setpoint', value: 20, unit: '°C' }),
      readingView('heat', 'cooling_setpoint', { kind: 'setpoint', value: 26, unit: '°C' }),
    ];
    const at = (mode: string) =>
      tileOf(device, named(...setpoints, readingView('heat', 'mode', { kind: 'thermostat_mode', value: mode }))).controls;
    expect([at('heat'), at('cool')]).toMatchObject([[{ kind: 'stepper', value: 20 }], [{ kind: 'stepper', value: 26 }]]);
  });

  test('shows an alarm instead of its state', () => {
    const device = deviceView('leak', { device_types: ['WaterLeakDetector'] });
    const leak = (value: boolean) => tileOf(device, named(readingView('leak', 'is_leaking', { kind: 'leak', value })));
    expect(leak(true)).toMatchObject({ tone: 'alarm', state: 'Water leak' });
    expect(leak(false)).toMatchObject({ tone: 'plain', state: 'All well', controls: [] });
  });

  test('marks a device that does not answer', () => {
    expect(tileOf(deviceView('x', { reachability: 'unreachable' }), new Map()).isReachable).toBe(false);
  });
});

describe('the home by rooms', () => {
  const lamp = (id: string, area: string | null, isOn: boolean) =>
    deviceView(id, {
      area,
      tools: toolIds(id, 'turn_on', 'turn_off'),
      readings: [readingView(id, 'is_on', { kind: 'on_off', value: isOn })],
    });
  const thermometer = deviceView('thermo', {
    area: 'Hall',
    device_types: ['TemperatureSensor'],
    readings: [readingView('thermo', 'temperature', { value: 21.04, unit: '°C' })],
  });
  const home = withDevices(EMPTY_HOME, [
    lamp('b', null, false),
    lamp('a', 'Hall', true),
    thermometer,
    deviceView('bridge', { area: 'Attic' }),
  ]);

  test('has sorted rooms, devices without one at the end, and leaves out devices without tools and readings', () => {
    expect(areasOf(home).map(({ name, tiles }) => [name, tiles.map(({ id }) => id)])).toEqual([
      ['Hall', ['a', 'thermo']],
      ['Elsewhere', ['b']],
    ]);
  });

  test('has facts about a room and a summary of the home', () => {
    expect(areasOf(home)[0]?.facts).toEqual(['21 °C', '1 light on']);
    expect(summaryOf(home)).toBe('1 light is on.');
    const away = withDevices(EMPTY_HOME, [{ ...lamp('a', null, false), reachability: 'unreachable' }]);
    expect(summaryOf(away)).toBe('All lights are off, 1 device does not answer.');
  });
});
