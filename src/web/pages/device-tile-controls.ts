import type { ReadingView } from '../api/hub-types.ts';
import { capital, humanWords } from '../components/formatting.ts';
import { hasText, text } from '../texts/text.ts';
import { applianceButtonsOf, chargerOf, mutingOf, playbackOf, robotOf } from './appliance-controls.ts';
import {
  actionLabel,
  type ButtonsControl,
  buttonOf,
  buttonRow,
  type ChoiceControl,
  type ColorControl,
  callOf,
  mainRow,
  type SliderControl,
  type StepperControl,
  type SwitchControl,
  type TileCall,
  type TileControl,
  type TileSource,
} from './tile-control.ts';

const COLORS = ['warm white', 'white', 'amber', 'red', 'magenta', 'blue', 'teal', 'green'] as const;
const KELVINS = { candle: 2200, warm: 2700, neutral: 4000, daylight: 6000 } as const;
const SHARES = ['brightness', 'open_percent', 'speed', 'volume'] as const;
/** Modes that a fan may have, the most useful first. */
const FAN_MODES = ['auto', 'on', 'medium', 'low', 'high'];

/** Returns the controls of a device. The control that people use most comes first. */
export function controlsOf(source: TileSource): readonly TileControl[] {
  return [
    lockOf(source),
    robotOf(source),
    applianceButtonsOf(source),
    chargerOf(source),
    switchOf(source),
    valveOf(source),
    coverOf(source),
    fanOf(source),
    mutingOf(source),
    playbackOf(source),
    boostOf(source),
    sliderOf(source),
    thermostatOf(source),
    colorsOf(source),
    testOf(source),
    ...choicesOf(source),
  ].filter((control) => control !== undefined);
}

function switchOf(source: TileSource): SwitchControl | undefined {
  const value = source.readings.get('is_on')?.value;
  const flip = callOf(source, value === true ? 'turn_off' : 'turn_on');
  return flip && { kind: 'switch', isOn: value === true, label: text('tiles.is_on', { name: source.device.name }), flip };
}

function lockOf(source: TileSource): ButtonsControl | undefined {
  const isLocked = source.readings.get('lock_state')?.value === 'locked';
  const button = buttonOf(source, isLocked ? 'unlock' : 'lock', isLocked ? 'unlock' : 'lock');
  return button && { kind: 'buttons', buttons: [{ ...button, place: 'main', call: { ...button.call, secret: 'pin' } }] };
}

function valveOf(source: TileSource): ButtonsControl | undefined {
  const state = source.readings.get('valve_state')?.value;
  if (state === undefined) return undefined;
  return mainRow(state === 'closed' ? buttonOf(source, 'open', 'play') : buttonOf(source, 'close', 'stop'));
}

/** Returns the buttons of blinds, shutters, gates and garage doors. */
function coverOf(source: TileSource): ButtonsControl | undefined {
  const isCover = source.actions.has('set_position') || source.readings.has('main_state');
  if (!isCover) return undefined;
  const { isOpen, isPart } = openingOf(source);
  const second = isPart ? { place: 'second' as const } : {};
  const open = buttonOf(source, 'open', 'up');
  const close = buttonOf(source, 'close', 'down');
  return buttonRow([
    open && { ...open, ...(isOpen ? second : { place: 'main' as const }) },
    buttonOf(source, 'stop', 'stop'),
    close && { ...close, ...(isOpen ? { place: 'main' as const } : {}) },
  ]);
}

function openingOf({ readings }: TileSource): { readonly isOpen: boolean; readonly isPart: boolean } {
  const percent = readings.get('open_percent')?.value;
  if (typeof percent === 'number') return { isOpen: percent > 0, isPart: percent > 0 && percent < 100 };
  const position = readings.get('position')?.value;
  return { isOpen: position !== 'fully_closed', isPart: position !== 'fully_closed' && position !== 'fully_open' };
}

function fanOf(source: TileSource): SwitchControl | undefined {
  const mode = source.readings.get('fan_mode')?.value;
  if (mode === undefined || source.readings.has('is_on')) return undefined;
  const label = text('tiles.is_on', { name: source.device.name });
  if (mode !== 'off') {
    const off = callOf(source, 'stop_fan') ?? callOf(source, 'set_fan_mode', { fan_mode: 'off' });
    return off && { kind: 'switch', isOn: true, label, flip: { ...off, label: actionLabel('turn_off', source.device.name) } };
  }
  const on = callOf(source, 'set_fan_mode');
  const flip = on && { ...on, label: actionLabel('turn_on', source.device.name), fill: { name: 'fan_mode', words: FAN_MODES } };
  return flip && { kind: 'switch', isOn: false, label, flip };
}

function boostOf(source: TileSource): ButtonsControl | undefined {
  const isBoosted = source.readings.get('boost_state')?.value === 'active';
  if (isBoosted) return mainRow(buttonOf(source, 'stop_boost', 'stop'));
  const button = buttonOf(source, 'start_boost', 'bolt');
  return mainRow(button && { ...button, call: { ...button.call, params: { minutes: 60 } } });
}

function testOf(source: TileSource): ButtonsControl | undefined {
  return buttonRow([buttonOf(source, 'test_alarm', 'bell')]);
}

function sliderOf(source: TileSource): SliderControl | undefined {
  const name = SHARES.find((one) => typeof source.readings.get(one)?.value === 'number' && source.actions.has(setterOf(one)));
  if (name === undefined) return undefined;
  const value = Number(source.readings.get(name)?.value);
  const set = (wanted: number): TileCall => ({
    tool: source.actions.get(setterOf(name)) ?? '',
    params: { [name]: wanted },
    label: text('tiles.set_percent', { name: source.device.name, value: wanted }),
  });
  // Brightness 0 means off, and the switch shows that. The lowest brightness of the slider is therefore 1.
  const min = name === 'brightness' ? 1 : 0;
  return { kind: 'slider', label: text(`tiles.slider_${name}`, { name: source.device.name }), value, min, max: 100, unit: '%', set };
}

function setterOf(share: string): string {
  return share === 'open_percent' ? 'set_position' : `set_${share}`;
}

function thermostatOf(source: TileSource): StepperControl | undefined {
  const tool = source.actions.get('set_temperature');
  const reading = goalOf(source);
  if (tool === undefined || typeof reading?.value !== 'number') return undefined;
  const { name } = source.device;
  const set = (value: number): TileCall => ({
    tool,
    params: { temperature: value },
    label: text('tiles.set_temperature', { name, value }),
  });
  const step = source.device.device_types.some((type) => /Cabinet|Heater/.test(type)) ? 1 : 0.5;
  return { kind: 'stepper', label: text('tiles.temperature_of', { name }), value: reading.value, step, unit: reading.unit, set };
}

/** Returns the reading with the temperature that a thermostat, an oven or a fridge keeps in its present mode. */
export function goalOf({ readings }: Pick<TileSource, 'readings'>): ReadingView | undefined {
  const wanted =
    readings.get('mode')?.value === 'cool'
      ? ['cooling_setpoint', 'heating_setpoint']
      : ['heating_setpoint', 'cooling_setpoint', 'temperature_setting'];
  return wanted.map((name) => readings.get(name)).find((found) => typeof found?.value === 'number');
}

function colorsOf(source: TileSource): ColorControl | undefined {
  const color = source.actions.get('set_color');
  const kelvin = source.actions.get('set_color_temperature');
  const label = (name: string) => text('tiles.make_color', { name: source.device.name, color: colorName(name) });
  if (color !== undefined) {
    return { kind: 'color', colors: COLORS.map((name) => ({ name, call: { tool: color, params: { color: name }, label: label(name) } })) };
  }
  if (kelvin === undefined) return undefined;
  return {
    kind: 'color',
    colors: Object.entries(KELVINS).map(([name, value]) => ({
      name,
      call: { tool: kelvin, params: { color_temperature: value }, label: label(name) },
    })),
  };
}

function colorName(name: string): string {
  const key = `tiles.color_${name.replaceAll(' ', '_')}`;
  return hasText(key) ? text(key) : name;
}

/** Returns a control for each mode that the device has, such as a washing programme or the mode of a thermostat. */
function choicesOf(source: TileSource): readonly ChoiceControl[] {
  return [...source.readings.values()].flatMap(({ kind, name, value }) => {
    const tool = source.actions.get(`set_${name}`);
    const isMode = kind === 'mode' || kind === 'fan_mode' || kind === 'thermostat_mode';
    if (!isMode || tool === undefined || typeof value !== 'string') return [];
    return [{ kind: 'choice', label: choiceLabel(name), value, tool, parameter: name }];
  });
}

function choiceLabel(name: string): string {
  const key = `tiles.choice_${name}`;
  return hasText(key) ? text(key) : capital(humanWords(name));
}
