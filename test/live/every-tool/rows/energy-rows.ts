import { type DeviceRows, device, does, type Fact, type ToolRow, tells } from '../tool-row.ts';
import { lightingRows } from './on-off-rows.ts';

/** 42.5 W at 231 V; Matter counts mW, mV and mA. */
const POWER: readonly Fact[] = [
  ['meter', 'ElectricalPowerMeasurement', 'ActivePower', 42_500],
  ['meter', 'ElectricalPowerMeasurement', 'Voltage', 231_000],
  ['meter', 'ElectricalPowerMeasurement', 'ActiveCurrent', 184],
];
const powerRow = (slug: string): ToolRow => tells(`${slug}_get_power`, POWER, { power: 42.5, voltage: 231, current: 0.184 });

/** 2,345,678 mWh are 2.345678 kWh. */
const used: Fact = ['meter', 'ElectricalEnergyMeasurement', 'CumulativeEnergyImported', { energy: 2_345_678 }];
const given: Fact = ['meter', 'ElectricalEnergyMeasurement', 'CumulativeEnergyExported', { energy: 7_500_000 }];

export const ENERGY: readonly DeviceRows[] = [
  device('Desk plug', [
    ...lightingRows('desk_plug', 'plug'),
    powerRow('desk_plug'),
    tells('desk_plug_get_energy', [used], { energy: 2.345678 }),
  ]),
  device('Solar roof', [powerRow('solar_roof'), tells('solar_roof_get_energy', [given], { energy_exported: 7.5 })]),
  device('House battery', [
    powerRow('house_battery'),
    tells('house_battery_get_energy', [used, given], { energy: 2.345678, energy_exported: 7.5 }),
    tells(
      'house_battery_get_battery',
      [
        ['source', 'PowerSource', 'BatPercentRemaining', 91],
        ['source', 'PowerSource', 'BatChargeLevel', 1],
        ['source', 'PowerSource', 'BatChargeState', 3],
      ],
      { battery: 45.5, battery_level: 'warning', battery_charging: 'not_charging', battery_replacement_needed: false },
    ),
  ]),
  device('Car charger', [
    does(
      'car_charger_enable_charging',
      { max_current: 16, min_current: 8 },
      {
        raw: [
          ['evse', 'EnergyEvse', 'MaximumChargeCurrent', 16_000],
          ['evse', 'EnergyEvse', 'MinimumChargeCurrent', 8000],
          ['evse', 'EnergyEvse', 'SupplyState', 1],
          ['evse', 'EnergyEvse', 'ChargingEnabledUntil', null],
        ],
        state: { supply_state: 'charging_enabled', max_current: 16 },
      },
    ),
    does(
      'car_charger_disable_charging',
      {},
      { raw: [['evse', 'EnergyEvse', 'SupplyState', 0]], state: { supply_state: 'disabled', max_current: 0 } },
    ),
    does(
      'car_charger_set_charging_mode',
      { charging_mode: 'solar' },
      { raw: [['evse', 'EnergyEvseMode', 'CurrentMode', 1]], state: { charging_mode: 'solar' } },
    ),
    powerRow('car_charger'),
    tells('car_charger_get_energy', [used], { energy: 2.345678 }),
  ]),
];
