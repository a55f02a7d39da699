import { GPIO_DEVICE, gpioIds } from '../../core/devices/gpio-ids.ts';
import type { SensorInfo } from '../../core/devices/sensor-readings.ts';
import type { JsonObject } from '../../core/json.ts';

/** The tool call for a command from the broker. */
export interface BridgeCommand {
  readonly tool: string;
  readonly params: JsonObject;
}

/** The type of commands that a reading accepts on its command topic. */
export type CommandKind = 'output' | 'on_off' | 'brightness' | 'heating_setpoint' | 'mode' | 'cover';

const PERCENT_MAX = 100;
const NUMBER = /^-?\d{1,3}(\.\d{1,2})?$/;
/** This is a Map, because in a plain object, the payload `constructor` would find an inherited property. */
const ON_OFF = new Map([
  ['ON', 'turn_on'],
  ['OFF', 'turn_off'],
]);
const COVER_ENDS = new Map([
  ['OPEN', PERCENT_MAX],
  ['CLOSE', 0],
]);
/** The modes of `set_thermostat`; Home Assistant uses the same names. */
export const THERMOSTAT_MODES = ['off', 'heat', 'cool', 'auto'] as const;

/** Returns the type of commands that a reading accepts; undefined if it accepts none. */
export function commandKindOf({ device, kind, name }: Pick<SensorInfo, 'device' | 'kind' | 'name'>): CommandKind | undefined {
  if (device === GPIO_DEVICE && kind === 'switch') return 'output';
  if (kind === 'on_off' && /^is_on(_\d+)?$/.test(name)) return 'on_off';
  if (kind === 'brightness' && /^brightness(_\d+)?$/.test(name)) return 'brightness';
  if (kind === 'setpoint' && name === 'heating_setpoint') return 'heating_setpoint';
  if (kind === 'thermostat_mode' && name === 'mode') return 'mode';
  return kind === 'cover_position' && name === 'open_percent' ? 'cover' : undefined;
}

/** Returns the permission that commands to a reading need. For an output of the board, also returns the tool that must be registered. */
export function controlRequirements(sensor: SensorInfo): { readonly permission: string; readonly tool?: string } {
  if (commandKindOf(sensor) !== 'output') return { permission: `device:control:${sensor.device}` };
  const { permission, tool } = gpioIds(sensor.name);
  return { permission, tool: tool('turn_on') };
}

/** Returns the tool call for a payload on a reading's command topic; undefined if the reading does not accept this payload. */
export function commandFor(sensor: SensorInfo, payload: string): BridgeCommand | undefined {
  const kind = commandKindOf(sensor);
  return kind && COMMANDS[kind](sensor, payload.trim());
}

const COMMANDS: Readonly<Record<CommandKind, (sensor: SensorInfo, payload: string) => BridgeCommand | undefined>> = {
  output: ({ name }, payload) => {
    const action = ON_OFF.get(payload);
    return action === undefined ? undefined : { tool: gpioIds(name).tool(action), params: {} };
  },
  on_off: (sensor, payload) => {
    const action = ON_OFF.get(payload);
    return action === undefined ? undefined : controlDevice(sensor, action);
  },
  brightness: (sensor, payload) => {
    const brightness = percentOf(payload);
    if (brightness === undefined) return undefined;
    return brightness === 0 ? controlDevice(sensor, 'turn_off') : controlDevice(sensor, 'set_brightness', { brightness });
  },
  heating_setpoint: ({ device }, payload) =>
    NUMBER.test(payload) ? { tool: 'set_thermostat', params: { device_id: device, target_temp: Number(payload) } } : undefined,
  mode: ({ device }, payload) => {
    const mode = THERMOSTAT_MODES.find((known) => known === payload);
    return mode && { tool: 'set_thermostat', params: { device_id: device, mode } };
  },
  cover: (sensor, payload) => {
    if (payload === 'STOP') return controlDevice(sensor, 'stop');
    const openPercent = COVER_ENDS.get(payload) ?? percentOf(payload);
    return openPercent === undefined ? undefined : { tool: 'set_cover', params: { device_id: sensor.device, open_percent: openPercent } };
  },
};

/** Returns a call of `control_device`. If the reading's name ends with an endpoint number such as `_2`, the action gets this ending too. */
function controlDevice({ device, name }: SensorInfo, action: string, params: JsonObject = {}): BridgeCommand {
  const suffix = /_\d+$/.exec(name)?.[0] ?? '';
  return { tool: 'control_device', params: { device_id: device, command: `${action}${suffix}`, params } };
}

function percentOf(payload: string): number | undefined {
  const percent = NUMBER.test(payload) ? Math.round(Number(payload)) : -1;
  return percent >= 0 && percent <= PERCENT_MAX ? percent : undefined;
}
