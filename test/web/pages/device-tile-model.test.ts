import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import type { DeviceView } from '../../../src/web/api/hub-types.ts';
import { actionsOf, type TileModel, tileOf } from '../../../src/web/pages/device-tile-model.ts';
import type { TileButton, TileControl } from '../../../src/web/pages/tile-control.ts';
import { deviceView, readingView, toolIds } from '../home-fixture.ts';
import { WHOLE_HOME, wholeHomeDevice } from '../whole-home.ts';

const modelOf = (device: DeviceView) => tileOf(device, new Map(device.readings.map((reading) => [reading.name, reading])));
const tile = (name: string, values?: Readonly<Record<string, Json>>) => modelOf(wholeHomeDevice(name, values));

/** What a tap on the icon of a tile does, and what the button beside the name does. */
function actions({ controls }: TileModel): readonly string[] {
  const [first] = controls;
  if (first?.kind === 'switch') return [first.flip.label];
  const at = (place: TileButton['place']) => (first?.kind === 'buttons' ? first.buttons.filter((button) => button.place === place) : []);
  return [...at('main'), ...at('second')].map(({ call }) => call.label);
}

function control<Kind extends TileControl['kind']>(model: TileModel, kind: Kind): Extract<TileControl, { readonly kind: Kind }> {
  const found = model.controls.find((one): one is Extract<TileControl, { readonly kind: Kind }> => one.kind === kind);
  return found ?? expect.unreachable(`${model.name} has no ${kind}`);
}

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

describe('the tile of each device of the virtual home says in words how it is, and offers what people do most', () => {
  const HAS_NO_TILE = ['Bath sensor', 'Attic bridge', 'Oven'];
  const ROWS: Readonly<Record<string, readonly [icon: string, tone: string, state: string, ...actions: string[]]>> = {
    'Hall light': ['bulb', 'plain', 'Off', 'Turn on Hall light'],
    'Bedroom lamp': ['bulb', 'plain', 'Off', 'Turn on Bedroom lamp'],
    'Living room lamp': ['bulb', 'plain', 'Off', 'Turn on Living room lamp'],
    'Kitchen ceiling': ['bulb', 'plain', 'Off', 'Turn on Kitchen ceiling'],
    'Party light': ['bulb', 'plain', 'Off', 'Turn on Party light'],
    'Reading light': ['bulb', 'plain', 'Off', 'Turn on Reading light'],
    'Attic light': ['bulb', 'plain', 'Off', 'Turn on Attic light'],
    'Desk plug': ['plug', 'plain', 'Off', 'Turn on Desk plug'],
    'Stage plug': ['plug', 'plain', 'Off', 'Turn on Stage plug'],
    'Attic plug': ['plug', 'plain', 'Off', 'Turn on Attic plug'],
    'Front door': ['lock', 'plain', 'Locked', 'Unlock Front door'],
    Thermostat: ['thermostat', 'plain', '20.5 °C → 20 °C'],
    'Bedroom blind': ['blind', 'plain', 'Open', 'Close Bedroom blind'],
    'Bedroom fan': ['fan', 'plain', 'Off', 'Turn on Bedroom fan'],
    'Air purifier': ['fan', 'plain', 'Off', 'Turn on Air purifier'],
    'Cooker hood': ['fan', 'plain', 'Off', 'Turn on Cooker hood'],
    'Study air conditioner': ['thermostat', 'plain', 'Off', 'Turn on Study air conditioner'],
    'Garden thermometer': ['thermostat', 'plain', '21.5 °C'],
    'Bath hygrometer': ['drop', 'plain', '45.5 %'],
    'Garden light sensor': ['sun', 'plain', '100 lx'],
    Barometer: ['gauge', 'plain', '1,013 hPa'],
    'Water meter': ['drop', 'plain', '1.2 m³/h'],
    'Air monitor': ['leaf', 'plain', 'Good'],
    'Hall motion': ['motion', 'plain', 'Nobody there'],
    'Kitchen window': ['door', 'plain', 'Closed'],
    'Bath sensor temperature sensor': ['thermostat', 'plain', '21.5 °C'],
    'Bath sensor humidity sensor': ['drop', 'plain', '45.5 %'],
    'Bath sensor contact sensor': ['door', 'plain', 'Closed'],
    'Leak detector': ['drop', 'plain', 'All well'],
    'Smoke alarm': ['smoke', 'plain', 'All well'],
    'Frost detector': ['drop', 'plain', 'All well'],
    'Rain gauge': ['drop', 'plain', 'No rain'],
    'Wall button': ['cube', 'plain', 'Not pressed'],
    'Attic thermometer': ['thermostat', 'plain', '19 °C'],
    'Attic window': ['door', 'plain', 'Closed'],
    'Garden valve': ['valve', 'plain', 'Closed', 'Open Garden valve'],
    'Well pump': ['valve', 'plain', 'Off', 'Turn on Well pump'],
    Robot: ['robot', 'plain', 'At the dock', 'Let Robot clean'],
    Washer: ['washer', 'plain', 'Ready', 'Start Washer'],
    Dryer: ['washer', 'plain', 'Ready', 'Start Dryer'],
    Dishwasher: ['washer', 'plain', 'Ready', 'Start Dishwasher'],
    Microwave: ['oven', 'plain', 'Ready', 'Start Microwave'],
    'Oven cabinet': ['oven', 'plain', 'Ready', 'Start Oven cabinet'],
    Fridge: ['thermostat', 'plain', 'All well'],
    'Fridge cabinet 1': ['thermostat', 'plain', '4 °C → 4 °C'],
    'Fridge cabinet 2': ['thermostat', 'plain', '-18 °C → -18 °C'],
    Television: ['play', 'glow', 'On', 'Turn off Television'],
    Speaker: ['speaker', 'plain', 'On · 50 %', 'Mute Speaker'],
    'Solar roof': ['sun', 'plain', 'Gives 2,400 W'],
    'House battery': ['battery', 'plain', '63 %'],
    'Car charger': ['car', 'plain', 'Car waits · charging is off', 'Let Car charger charge'],
    Boiler: ['drop', 'plain', '52 °C → 55 °C', 'Heat up Boiler for an hour'],
  };

  test.each(WHOLE_HOME.filter(({ name }) => !HAS_NO_TILE.includes(name)).map((device) => [device.name, device] as const))(
    '%s',
    (name, device) => {
      const model = modelOf(device);
      expect([model.icon, model.tone, model.state, ...actions(model)]).toEqual(ROWS[name]);
    },
  );
});

describe('a tile', () => {
  test('of a lamp glows when it is on, and its switch turns it off', () => {
    const model = tile('Living room lamp', { is_on: true, brightness: 40 });
    expect(model).toMatchObject({ icon: 'bulb', tone: 'glow', state: 'On · 40 %' });
    expect(control(model, 'switch')).toMatchObject({ isOn: true, flip: { tool: 'matter:living_room_lamp_turn_off@1.0.0', params: {} } });
    expect(control(model, 'slider').set(70)).toMatchObject({
      tool: 'matter:living_room_lamp_set_brightness@1.0.0',
      params: { brightness: 70 },
      label: 'Set Living room lamp to 70 %',
    });
  });

  test.each([
    ['locked', 'Unlock', 'matter:front_door_unlock@1.0.0'],
    ['unlocked', 'Lock', 'matter:front_door_lock@1.0.0'],
    ['not_fully_locked', 'Lock', 'matter:front_door_lock@1.0.0'],
  ])('of a lock that is %s offers to %s it, with the PIN that a person knows', (value, text, tool) => {
    const buttons = [{ text, place: 'main', call: { tool, secret: 'pin' } }];
    expect(control(tile('Front door', { lock_state: value }), 'buttons')).toMatchObject({ buttons });
  });

  test('of a lock that did not lock is an alarm', () => {
    expect(tile('Front door', { lock_state: 'not_fully_locked' })).toMatchObject({ tone: 'alarm', state: 'Not fully locked' });
    expect(tile('Front door', { lock_state: 'unlocked' })).toMatchObject({ tone: 'cool', icon: 'unlock', state: 'Unlocked' });
  });

  test('of a thermostat steps the temperature that its mode follows', () => {
    const at = (mode: string) => control(tile('Thermostat', { mode }), 'stepper').value;
    expect([at('heat'), at('cool')]).toEqual([20, 26]);
    expect(tile('Thermostat', { mode: 'off' }).state).toBe('20.5 °C · Off');
  });

  test.each([
    ['running', 'Running', ['Pause Robot', 'Send Robot home']],
    ['paused', 'Paused', ['Resume Robot', 'Send Robot home']],
    ['stopped', 'Ready', ['Let Robot clean', 'Send Robot home']],
    ['seeking_charger', 'On the way to the dock', ['Let Robot clean']],
    ['error', 'Error', ['Let Robot clean', 'Send Robot home']],
  ])('of a robot that is %s says "%s"', (operational_state, state, wanted) => {
    const model = tile('Robot', { operational_state });
    expect([model.state, actions(model)]).toEqual([state, wanted]);
    expect(model.tone === 'alarm').toBe(operational_state === 'error');
  });

  test('of a robot starts in a mode for cleaning, whatever the device calls it', () => {
    expect(control(tile('Robot'), 'buttons').buttons[0]?.call.fill).toMatchObject({
      name: 'run_mode',
      words: expect.arrayContaining(['clean']),
    });
  });

  test('of a washer that runs says how long, and offers to pause and to stop it', () => {
    const model = tile('Washer', { operational_state: 'running', seconds_left: 4800 });
    expect([model.tone, model.state, actions(model)]).toEqual(['cool', 'Running · 1 h 20 min left', ['Pause Washer', 'Stop Washer']]);
    expect(tile('Washer', { is_on: false }).state).toBe('Off');
    expect(control(model, 'choice')).toMatchObject({ label: 'Programme', value: 'normal', parameter: 'program' });
  });

  test('of an oven or fridge steps its temperature by whole degrees', () => {
    expect(control(tile('Oven cabinet'), 'stepper')).toMatchObject({ value: 180, step: 1 });
    expect(control(tile('Fridge cabinet 2'), 'stepper')).toMatchObject({ value: -18, step: 1 });
  });

  test('of a charger says what the car does, and ends charging', () => {
    const charging = { charger_state: 'plugged_in_charging', supply_state: 'charging_enabled', power: 7200 };
    const model = tile('Car charger', charging);
    expect([model.tone, model.state, actions(model)]).toEqual(['cool', 'Charging · 7,200 W', ['Stop charging at Car charger']]);
    expect(control(tile('Car charger'), 'switch').flip.fill).toEqual({ name: 'max_current', words: 'maximum' });
    expect(tile('Car charger', { fault: 'ground_fault' })).toMatchObject({ tone: 'alarm', state: 'Fault' });
  });

  test('of a blind moves it to the other end; half open it offers both', () => {
    expect(actions(tile('Bedroom blind', { open_percent: 0 }))).toEqual(['Open Bedroom blind']);
    expect(actions(tile('Bedroom blind', { open_percent: 40 }))).toEqual(['Close Bedroom blind', 'Open Bedroom blind']);
    expect(tile('Bedroom blind', { open_percent: 40 }).state).toBe('40 % open');
  });

  test('of a valve that is open closes it', () => {
    const model = tile('Garden valve', { valve_state: 'open' });
    expect([model.tone, model.state, actions(model)]).toEqual(['cool', 'Open', ['Close Garden valve']]);
  });

  test('of a fan that runs turns it off; one that is off starts in the best mode that it has', () => {
    const model = tile('Bedroom fan', { fan_mode: 'high', speed: 90 });
    expect([model.tone, model.state]).toEqual(['cool', 'High']);
    expect(control(model, 'switch').flip.tool).toBe('matter:bedroom_fan_stop_fan@1.0.0');
    expect(control(tile('Bedroom fan'), 'switch').flip.fill?.name).toBe('fan_mode');
  });

  test.each([
    ['Leak detector', { is_leaking: true }, 'Water leak'],
    ['Frost detector', { is_freezing: true }, 'Frost'],
    ['Smoke alarm', { smoke: 'critical' }, 'Smoke'],
    ['Smoke alarm', { carbon_monoxide_alarm: 'warning' }, 'Carbon monoxide'],
    ['Fridge', { door_open_alarm: true }, 'Door open too long'],
    ['Well pump', { has_fault: true }, 'Fault'],
  ])('of a %s shows an alarm instead of its state', (name, values, state) => {
    expect(tile(name, values)).toMatchObject({ tone: 'alarm', state });
  });

  test('never sounds an alarm by a tap on its icon: the test stands among all controls', () => {
    expect(actions(tile('Smoke alarm'))).toEqual([]);
    expect(control(tile('Smoke alarm'), 'buttons').buttons).toMatchObject([{ text: 'Test' }]);
  });

  test('tells of a battery or filter that has to be changed, before anything else', () => {
    expect(tile('Kitchen window', { battery: 9 })).toMatchObject({ isBatteryLow: true, details: ['Battery low', 'Battery 9 %'] });
    expect([10, 11].map((battery) => tile('Kitchen window', { battery }).isBatteryLow)).toEqual([true, false]);
    expect(tile('Smoke alarm', { battery_alert: 'warning' }).isBatteryLow).toBe(true);
    expect(tile('Air purifier', { hepa_filter_change: 'critical' }).details[0]).toBe('Change the filter');
    expect(tile('Kitchen window').isBatteryLow).toBe(false);
  });

  test('of a battery or a solar roof says in which direction the power flows', () => {
    expect(tile('House battery').details).toContain('Charging');
    expect(tile('Solar roof', { power: 5 }).state).toBe('Takes 5 W');
  });

  test('marks a device that does not answer', () => {
    expect(tileOf(deviceView('x', { reachability: 'unreachable' }), new Map()).isReachable).toBe(false);
  });

  test('offers nothing that the person may not do', () => {
    for (const device of WHOLE_HOME) expect(modelOf({ ...device, tools: [] }).controls).toEqual([]);
  });

  test('shows values that it has no words for as the device says them', () => {
    const device = deviceView('x', { device_types: ['LaundryWasher'], tools: toolIds('x', 'start') });
    const readings = new Map([
      ['operational_state', readingView('x', 'operational_state', { kind: 'operational_state', value: 'soaking_long' })],
    ]);
    expect(tileOf(device, readings).state).toBe('Soaking long');
  });
});
