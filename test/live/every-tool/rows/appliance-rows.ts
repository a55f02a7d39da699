import { type DeviceRows, device, does, type Fact, type ToolRow, tells, within } from '../tool-row.ts';
import { switchRows } from './on-off-rows.ts';

/** Start, pause, resume and stop of Matter's OperationalState: 1, 2, 1, 0. */
function runRows(slug: string, part: string): readonly ToolRow[] {
  const state = (raw: number): readonly Fact[] => [[part, 'OperationalState', 'OperationalState', raw]];
  return [
    does(`${slug}_start`, {}, { raw: state(1), state: { operational_state: 'running', seconds_left: 1800, phase: 'prepare' } }),
    does(`${slug}_pause`, {}, { raw: state(2), state: { operational_state: 'paused' } }),
    does(`${slug}_resume`, {}, { raw: state(1), state: { operational_state: 'running' } }),
    does(`${slug}_stop`, {}, { raw: state(0), state: { operational_state: 'stopped' } }),
  ];
}

function levelRow(slug: string, part: string): ToolRow {
  const raw: readonly Fact[] = [[part, 'TemperatureControl', 'SelectedTemperatureLevel', 2]];
  return does(`${slug}_set_temperature_level`, { temperature_level: 'hot' }, { raw, state: { temperature_level: 'hot' } });
}

function cabinetRows(slug: string, part: string, setpoint: { readonly celsius: number; readonly raw: number }): readonly ToolRow[] {
  return [
    does(
      `${slug}_set_temperature`,
      { temperature: setpoint.celsius },
      { raw: [[part, 'TemperatureControl', 'TemperatureSetpoint', setpoint.raw]], state: { temperature_setting: setpoint.celsius } },
    ),
    does(
      `${slug}_set_cooling_mode`,
      { cooling_mode: 'rapid' },
      { raw: [[part, 'RefrigeratorAndTemperatureControlledCabinetMode', 'CurrentMode', 1]], state: { cooling_mode: 'rapid' } },
    ),
    tells(`${slug}_get_temperature`, [[part, 'TemperatureMeasurement', 'MeasuredValue', 325]], { temperature: 3.25 }),
  ];
}

const oven = (cluster: string, attribute: string, raw: unknown): Fact => ['cavity', cluster, attribute, raw];

export const APPLIANCES: readonly DeviceRows[] = [
  device('Washer', [
    ...switchRows('washer', 'washer'),
    ...runRows('washer', 'washer'),
    levelRow('washer', 'washer'),
    does(
      'washer_set_program',
      { program: 'delicate' },
      { raw: [['washer', 'LaundryWasherMode', 'CurrentMode', 1]], state: { program: 'delicate' } },
    ),
    does(
      'washer_set_rinses',
      { rinses: 'extra' },
      { raw: [['washer', 'LaundryWasherControls', 'NumberOfRinses', 2]], state: { rinses: 'extra' } },
    ),
    does(
      'washer_set_spin_speed',
      { spin_speed: '1200_rpm' },
      { raw: [['washer', 'LaundryWasherControls', 'SpinSpeedCurrent', 2]], state: { spin_speed: '1200_rpm' } },
    ),
  ]),
  device('Dryer', [
    ...switchRows('dryer', 'dryer'),
    ...runRows('dryer', 'dryer'),
    does(
      'dryer_set_program',
      { program: 'delicate' },
      { raw: [['dryer', 'LaundryWasherMode', 'CurrentMode', 1]], state: { program: 'delicate' } },
    ),
    does(
      'dryer_set_dryness',
      { dryness: 'extra' },
      { raw: [['dryer', 'LaundryDryerControls', 'SelectedDrynessLevel', 2]], state: { dryness: 'extra' } },
    ),
  ]),
  device('Dishwasher', [
    ...switchRows('dishwasher', 'dishwasher'),
    ...runRows('dishwasher', 'dishwasher'),
    levelRow('dishwasher', 'dishwasher'),
    does(
      'dishwasher_set_program',
      { program: 'light' },
      { raw: [['dishwasher', 'DishwasherMode', 'CurrentMode', 2]], state: { program: 'light' } },
    ),
    tells('dishwasher_read_alarms', [['dishwasher', 'DishwasherAlarm', 'State', { doorError: true }]], { alarms: ['door_error'] }),
  ]),
  device('Microwave', [
    does(
      'microwave_set_cooking',
      { cook_seconds: 90, power_percent: 50, cook_mode: 'defrost' },
      {
        raw: [
          ['microwave', 'MicrowaveOvenControl', 'CookTime', 90],
          ['microwave', 'MicrowaveOvenControl', 'PowerSetting', 50],
          ['microwave', 'MicrowaveOvenMode', 'CurrentMode', 1],
        ],
        state: { cook_seconds: 90, power_percent: 50, cook_mode: 'defrost' },
      },
    ),
    does(
      'microwave_add_time',
      { seconds: 30 },
      { raw: [['microwave', 'MicrowaveOvenControl', 'CookTime', 120]], state: { cook_seconds: 120 } },
    ),
    ...runRows('microwave', 'microwave'),
  ]),
  within('Oven', 'Oven cabinet', [
    does(
      'oven_cabinet_set_temperature',
      { temperature: 200 },
      { raw: [oven('TemperatureControl', 'TemperatureSetpoint', 20_000)], state: { temperature_setting: 200 } },
    ),
    does(
      'oven_cabinet_set_temperature',
      { temperature: 356, unit: 'fahrenheit' },
      { raw: [oven('TemperatureControl', 'TemperatureSetpoint', 18_000)], state: { temperature_setting: 356 } },
    ),
    does(
      'oven_cabinet_set_oven_mode',
      { oven_mode: 'grill' },
      { raw: [oven('OvenMode', 'CurrentMode', 1)], state: { oven_mode: 'grill' } },
    ),
    does(
      'oven_cabinet_start',
      {},
      { raw: [oven('OvenCavityOperationalState', 'OperationalState', 1)], state: { operational_state: 'running' } },
    ),
    does(
      'oven_cabinet_stop',
      {},
      { raw: [oven('OvenCavityOperationalState', 'OperationalState', 0)], state: { operational_state: 'stopped' } },
    ),
    tells('oven_cabinet_get_temperature', [oven('TemperatureMeasurement', 'MeasuredValue', 18_050)], { temperature: 180.5 }),
  ]),
  device('Fridge', [
    tells('fridge_read_door_alarm', [['refrigerator', 'RefrigeratorAlarm', 'State', { doorOpen: true }]], { door_open_alarm: true }),
  ]),
  within('Fridge', 'Fridge cabinet 1', cabinetRows('fridge_cabinet_1', 'fridge', { celsius: 4.5, raw: 450 })),
  within('Fridge', 'Fridge cabinet 2', cabinetRows('fridge_cabinet_2', 'freezer', { celsius: -20, raw: -2000 })),
];
