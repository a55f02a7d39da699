import { expect } from 'vitest';
import { type DeviceRows, device, does, type Fact, type ToolRow, tells, within } from '../tool-row.ts';
import { lightingRows } from './on-off-rows.ts';

const LIGHT = 'light';
const ON: Fact = [LIGHT, 'OnOff', 'OnOff', true];
const OFF: Fact = [LIGHT, 'OnOff', 'OnOff', false];

/** 40 % is 102 of 254, 20 points less are 51 less. */
function dimRows(slug: string, part: string): readonly ToolRow[] {
  const level = (raw: number): Fact => [part, 'LevelControl', 'CurrentLevel', raw];
  return [
    does(
      `${slug}_set_brightness`,
      { brightness: 40 },
      {
        // A lamp that is off has no time left (Application Clusters §1.5.7.1).
        given: [
          [part, 'OnOff', 'OnOff', false],
          [part, 'OnOff', 'OnTime', 0],
        ],
        raw: [level(102), [part, 'OnOff', 'OnOff', true]],
        state: { brightness: 40, is_on: true },
      },
    ),
    does(`${slug}_adjust_brightness`, { by: -20 }, { raw: [level(51)], state: { brightness: 20 } }),
  ];
}

/** 2,700 K are 370 mireds, which are 2,703 K. */
function whiteRows(slug: string): readonly ToolRow[] {
  return [
    does(
      `${slug}_set_color_temperature`,
      { color_temperature: 2700 },
      {
        given: [ON],
        raw: [
          [LIGHT, 'ColorControl', 'ColorTemperatureMireds', 370],
          [LIGHT, 'ColorControl', 'ColorMode', 2],
        ],
        state: { color_temperature: 2703 },
      },
    ),
    does(`${slug}_stop_color_change`, {}, { sent: { cluster: 'ColorControl', command: 'stopMoveStep' } }),
  ];
}

const hueAndSaturation = (hue: number, saturation: number): readonly Fact[] => [
  [LIGHT, 'ColorControl', 'CurrentHue', hue],
  [LIGHT, 'ColorControl', 'CurrentSaturation', saturation],
  [LIGHT, 'ColorControl', 'ColorMode', 0],
];

export const LIGHTS: readonly DeviceRows[] = [
  device('Living room lamp', [...lightingRows('living_room_lamp', LIGHT), ...dimRows('living_room_lamp', LIGHT)]),
  device('Hall light', lightingRows('hall_light', LIGHT)),
  device('Kitchen ceiling', [
    ...lightingRows('kitchen_ceiling', LIGHT),
    ...dimRows('kitchen_ceiling', LIGHT),
    ...whiteRows('kitchen_ceiling'),
  ]),
  device('Bedroom lamp', [
    ...lightingRows('bedroom_lamp', LIGHT),
    ...dimRows('bedroom_lamp', LIGHT),
    ...whiteRows('bedroom_lamp'),
    does(
      'bedroom_lamp_set_color',
      { color: 'blue' },
      { given: [ON], raw: hueAndSaturation(169, 254), state: { hue: 240, saturation: 100 } },
    ),
    does('bedroom_lamp_set_color', { hue: 120, saturation: 50 }, { raw: hueAndSaturation(85, 127), state: { hue: 120, saturation: 50 } }),
    does('bedroom_lamp_set_color', { color: { r: 255, g: 0, b: 0 } }, { raw: hueAndSaturation(0, 254), state: { hue: 0 } }),
    does(
      'bedroom_lamp_set_color',
      { kelvin: 4000 },
      { raw: [[LIGHT, 'ColorControl', 'ColorTemperatureMireds', 250]], state: { color_temperature: 4000 } },
    ),
    does('bedroom_lamp_set_color', { color: 'blue' }, { given: [OFF], raw: [...hueAndSaturation(169, 254), OFF], state: { hue: 240 } }),
  ]),
  device('Reading light', [
    ...lightingRows('reading_light', LIGHT),
    ...dimRows('reading_light', LIGHT),
    ...whiteRows('reading_light'),
    // The red primary of sRGB is x 0.64, y 0.33, in 65,536ths.
    does(
      'reading_light_set_color',
      { color: 'red' },
      {
        given: [ON],
        raw: [
          [LIGHT, 'ColorControl', 'CurrentX', expect.closeTo(41_943, -2)],
          [LIGHT, 'ColorControl', 'CurrentY', expect.closeTo(21_627, -2)],
          [LIGHT, 'ColorControl', 'ColorMode', 1],
        ],
        state: { color_x: expect.closeTo(0.64, 2), color_y: expect.closeTo(0.33, 2) },
      },
    ),
  ]),
  // A cluster that only its manufacturer knows.
  device('Party light', [
    ...lightingRows('party_light', LIGHT),
    tells('party_light_vendor_1_read', [[LIGHT, 'Sparkle', 'SparkleCount', 31]], { attr0xfff10001: 31, attr0xfff10002: 'gold' }),
  ]),
  within('Attic bridge', 'Attic light', lightingRows('attic_light', 'attic-light')),
  within('Attic bridge', 'Attic plug', lightingRows('attic_plug', 'attic-plug')),
  device('Stage plug', [...lightingRows('stage_plug', 'plug'), ...dimRows('stage_plug', 'plug')]),
];
