import { type DeviceRows, device, does, type Fact, type ToolRow, tells } from '../tool-row.ts';
import { switchRows } from './on-off-rows.ts';

/** 40 % is the fourth of ten speeds. */
function fanRows(slug: string, part: string): readonly ToolRow[] {
  const fan = (attribute: string, raw: unknown): Fact => [part, 'FanControl', attribute, raw];
  return [
    does(`${slug}_set_speed`, { speed: 40 }, { raw: [fan('PercentSetting', 40), fan('PercentCurrent', 40), fan('SpeedCurrent', 4)] }),
    does(
      `${slug}_set_fan_mode`,
      { fan_mode: 'high' },
      { raw: [fan('FanMode', 3), fan('PercentCurrent', 100)], state: { fan_mode: 'high' } },
    ),
    does(
      `${slug}_step_speed`,
      { direction: 'decrease' },
      {
        raw: [fan('SpeedCurrent', 9), fan('PercentCurrent', 90)],
        sent: { cluster: 'FanControl', command: 'step', fields: { direction: 1, wrap: false, lowestOff: true } },
      },
    ),
    does(
      `${slug}_set_rocking`,
      { rocking: ['rock_left_right'] },
      { raw: [fan('RockSetting', { rockLeftRight: true, rockUpDown: false, rockRound: false })], state: { rocking: ['rock_left_right'] } },
    ),
    does(`${slug}_stop_fan`, {}, { raw: [fan('FanMode', 0), fan('PercentCurrent', 0)], state: { fan_mode: 'off' } }),
  ];
}

function filterRows(name: string, cluster: string): readonly ToolRow[] {
  const shown = { [`${name}_condition`]: 35, [`${name}_change`]: 'critical', [`${name}_in_place`]: true };
  return [
    tells(
      `air_purifier_get_${name}`,
      [
        ['purifier', cluster, 'Condition', 35],
        ['purifier', cluster, 'ChangeIndication', 2],
      ],
      shown,
    ),
    does(`air_purifier_reset_${name}`, {}, { raw: [['purifier', cluster, 'Condition', 100]], state: { [`${name}_condition`]: 100 } }),
  ];
}

const setup = (attribute: string, raw: number): Fact => ['thermostat', 'Thermostat', attribute, raw];
const study = (attribute: string, raw: number): Fact => ['air-conditioner', 'Thermostat', attribute, raw];
const water = (attribute: string, raw: number): Fact => ['heater', 'Thermostat', attribute, raw];

export const CLIMATE: readonly DeviceRows[] = [
  device('Thermostat', [
    tells('thermostat_read_thermostat', [setup('LocalTemperature', 1985), setup('OccupiedHeatingSetpoint', 2000)], {
      temperature: 19.85,
      heating_setpoint: 20,
      cooling_setpoint: 26,
      mode: 'heat',
    }),
    does(
      'thermostat_set_temperature',
      { temperature: 21.5, setpoint: 'heat' },
      { raw: [setup('OccupiedHeatingSetpoint', 2150)], state: { heating_setpoint: 21.5 } },
    ),
    // 77 °F are 25 °C.
    does(
      'thermostat_set_temperature',
      { temperature: 77, setpoint: 'cool', unit: 'fahrenheit' },
      { raw: [setup('OccupiedCoolingSetpoint', 2500)], state: { cooling_setpoint: 77, heating_setpoint: 70.7 } },
    ),
    does(
      'thermostat_adjust_temperature',
      { by: -1.5, setpoint: 'heat' },
      { raw: [setup('OccupiedHeatingSetpoint', 2000)], state: { heating_setpoint: 20 } },
    ),
    does('thermostat_set_mode', { mode: 'cool' }, { raw: [setup('SystemMode', 3)], state: { mode: 'cool' } }),
    does('thermostat_set_mode', { mode: 'auto' }, { raw: [setup('SystemMode', 1)], state: { mode: 'auto' } }),
    // In automatic mode the band of 20 to 25 °C keeps its width, and the wish lies in its middle.
    does(
      'thermostat_set_temperature',
      { temperature: 22 },
      {
        raw: [setup('OccupiedHeatingSetpoint', 1950), setup('OccupiedCoolingSetpoint', 2450)],
        state: { heating_setpoint: 19.5, cooling_setpoint: 24.5 },
      },
    ),
  ]),
  device('Study air conditioner', [
    tells('study_air_conditioner_read_thermostat', [study('LocalTemperature', 2650)], {
      temperature: 26.5,
      cooling_setpoint: 24,
      mode: 'off',
    }),
    ...switchRows('study_air_conditioner', 'air-conditioner'),
    ...fanRows('study_air_conditioner', 'air-conditioner'),
    does('study_air_conditioner_set_mode', { mode: 'cool' }, { raw: [study('SystemMode', 3)], state: { mode: 'cool' } }),
    does(
      'study_air_conditioner_set_temperature',
      { temperature: 22.5 },
      { raw: [study('OccupiedCoolingSetpoint', 2250)], state: { cooling_setpoint: 22.5, temperature: 26.5 } },
    ),
    does(
      'study_air_conditioner_adjust_temperature',
      { by: 1 },
      { raw: [study('OccupiedCoolingSetpoint', 2350)], state: { cooling_setpoint: 23.5 } },
    ),
  ]),
  device('Boiler', [
    tells('boiler_read_thermostat', [water('LocalTemperature', 4875)], { temperature: 48.75, heating_setpoint: 55, mode: 'heat' }),
    does('boiler_set_temperature', { temperature: 60 }, { raw: [water('OccupiedHeatingSetpoint', 6000)], state: { heating_setpoint: 60 } }),
    does('boiler_adjust_temperature', { by: -5 }, { raw: [water('OccupiedHeatingSetpoint', 5500)], state: { heating_setpoint: 55 } }),
    does('boiler_set_mode', { mode: 'off' }, { raw: [water('SystemMode', 0)], state: { mode: 'off' } }),
    does(
      'boiler_set_heater_mode',
      { heater_mode: 'timed' },
      { raw: [['heater', 'WaterHeaterMode', 'CurrentMode', 2]], state: { heater_mode: 'timed' } },
    ),
    does(
      'boiler_start_boost',
      { minutes: 10, temperature: 62.5 },
      {
        raw: [['heater', 'WaterHeaterManagement', 'BoostState', 1]],
        sent: { cluster: 'WaterHeaterManagement', command: 'boost', fields: { boostInfo: { duration: 600, temporarySetpoint: 6250 } } },
        state: { boost_state: 'active', heat_demand: ['immersion_element1'] },
      },
    ),
    does('boiler_stop_boost', {}, { raw: [['heater', 'WaterHeaterManagement', 'BoostState', 0]], state: { boost_state: 'inactive' } }),
  ]),
  device('Bedroom fan', fanRows('bedroom_fan', 'fan')),
  device('Cooker hood', fanRows('cooker_hood', 'hood')),
  device('Air purifier', [
    ...fanRows('air_purifier', 'purifier'),
    ...filterRows('hepa_filter', 'HepaFilterMonitoring'),
    ...filterRows('carbon_filter', 'ActivatedCarbonFilterMonitoring'),
  ]),
];
