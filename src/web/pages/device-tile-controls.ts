import type { JsonObject } from '../../core/json.ts';
import type { DeviceView, ReadingView } from '../api/hub-types.ts';
import { capital, humanWords } from '../components/formatting.ts';
import type { IconName } from '../components/icon.ts';

/** A tool call that a control makes. */
export interface TileCall {
  readonly tool: string;
  readonly params: JsonObject;
  /** The action of the control, such as `Turn on Hall light`. */
  readonly label: string;
  /** Name of a parameter that only a person knows, such as a lock's PIN. If the tool has this parameter, the page asks for its value. */
  readonly secret?: string;
}

/** A control that turns something on and off. */
export interface SwitchControl {
  readonly kind: 'switch';
  readonly isOn: boolean;
  readonly label: string;
  readonly flip: TileCall;
}

/** A control that sets a number on a scale. */
export interface SliderControl {
  readonly kind: 'slider';
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly unit: string;
  readonly set: (value: number) => TileCall;
}

/** A control that raises and lowers a temperature in steps. */
export interface StepperControl {
  readonly kind: 'stepper';
  readonly label: string;
  readonly value: number;
  readonly step: number;
  readonly unit: string;
  readonly set: (value: number) => TileCall;
}

/** Buttons with one action each. */
export interface ButtonsControl {
  readonly kind: 'buttons';
  readonly buttons: readonly { readonly icon?: IconName; readonly text: string; readonly call: TileCall }[];
}

/** A control that selects a colour. */
export interface ColorControl {
  readonly kind: 'color';
  readonly colors: readonly { readonly name: string; readonly call: TileCall }[];
}

export type TileControl = SwitchControl | SliderControl | StepperControl | ButtonsControl | ColorControl;

/** The data from which a tile is made. The keys of `readings` are names of readings. `actions` maps names of actions to tool ids. */
export interface TileSource {
  readonly device: DeviceView;
  readonly readings: ReadonlyMap<string, ReadingView>;
  readonly actions: ReadonlyMap<string, string>;
}

const COLORS = ['warm white', 'white', 'amber', 'red', 'magenta', 'blue', 'teal', 'green'] as const;
const KELVINS = { candle: 2200, warm: 2700, neutral: 4000, daylight: 6000 } as const;
const COVER_ICONS = { open: 'up', stop: 'stop', close: 'down' } as const;
const SHARES = ['brightness', 'open_percent', 'speed', 'volume'];

/** Returns the controls of a device. The control that people use most comes first. */
export function controlsOf(source: TileSource): readonly TileControl[] {
  return [
    switchOf(source),
    lockOf(source),
    valveOf(source),
    coverOf(source),
    sliderOf(source),
    thermostatOf(source),
    colorsOf(source),
  ].filter((control) => control !== undefined);
}

function callOf({ device, actions }: TileSource, action: string, params: JsonObject = {}): TileCall | undefined {
  const tool = actions.get(action);
  return tool === undefined ? undefined : { tool, params, label: `${capital(humanWords(action))} ${device.name}` };
}

function switchOf(source: TileSource): SwitchControl | undefined {
  const value = source.readings.get('is_on')?.value;
  const flip = callOf(source, value === true ? 'turn_off' : 'turn_on');
  return flip && { kind: 'switch', isOn: value === true, label: `${source.device.name} on`, flip };
}

function lockOf(source: TileSource): ButtonsControl | undefined {
  const isLocked = source.readings.get('lock_state')?.value === 'locked';
  const call = callOf(source, isLocked ? 'unlock' : 'lock');
  const asking = call && { ...call, secret: 'pin' };
  return asking && { kind: 'buttons', buttons: [{ icon: isLocked ? 'unlock' : 'lock', text: isLocked ? 'Unlock' : 'Lock', call: asking }] };
}

function valveOf(source: TileSource): ButtonsControl | undefined {
  const state = source.readings.get('valve_state')?.value;
  if (state === undefined) return undefined;
  const call = callOf(source, state === 'closed' ? 'open' : 'close');
  return call && { kind: 'buttons', buttons: [{ text: state === 'closed' ? 'Open' : 'Close', call }] };
}

function coverOf(source: TileSource): ButtonsControl | undefined {
  if (!source.actions.has('set_position')) return undefined;
  const buttons = Object.entries(COVER_ICONS).flatMap(([action, icon]) => {
    const call = callOf(source, action);
    return call ? [{ icon, text: capital(action), call }] : [];
  });
  return { kind: 'buttons', buttons };
}

function sliderOf(source: TileSource): SliderControl | undefined {
  const name = SHARES.find((one) => typeof source.readings.get(one)?.value === 'number' && source.actions.has(setterOf(one)));
  if (name === undefined) return undefined;
  const value = Number(source.readings.get(name)?.value);
  const set = (wanted: number): TileCall => ({
    tool: source.actions.get(setterOf(name)) ?? '',
    params: { [name]: wanted },
    label: `Set ${source.device.name} to ${wanted} %`,
  });
  // Brightness 0 means off, and the switch shows that. The lowest brightness of the slider is therefore 1.
  const min = name === 'brightness' ? 1 : 0;
  return {
    kind: 'slider',
    label: `${capital(name === 'open_percent' ? 'position' : name)} of ${source.device.name}`,
    value,
    min,
    max: 100,
    unit: '%',
    set,
  };
}

function setterOf(share: string): string {
  return share === 'open_percent' ? 'set_position' : `set_${share}`;
}

function thermostatOf(source: TileSource): StepperControl | undefined {
  const tool = source.actions.get('set_temperature');
  const mode = source.readings.get('mode')?.value;
  const wanted =
    mode === 'cool' ? ['cooling_setpoint', 'heating_setpoint'] : ['heating_setpoint', 'cooling_setpoint', 'temperature_setting'];
  const reading = wanted.map((name) => source.readings.get(name)).find((found) => typeof found?.value === 'number');
  if (tool === undefined || typeof reading?.value !== 'number') return undefined;
  const set = (value: number): TileCall => ({ tool, params: { temperature: value }, label: `Set ${source.device.name} to ${value} °C` });
  return { kind: 'stepper', label: `Temperature of ${source.device.name}`, value: reading.value, step: 0.5, unit: reading.unit, set };
}

function colorsOf(source: TileSource): ColorControl | undefined {
  const color = source.actions.get('set_color');
  const kelvin = source.actions.get('set_color_temperature');
  const label = (name: string) => `Make ${source.device.name} ${name}`;
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
