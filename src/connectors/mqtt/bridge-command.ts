import type { JsonObject } from '../../core/json.ts';
import type { SensorInfo } from '../../core/reading-store.ts';

/** The call that a command stands for. */
export interface BridgeCommand {
  readonly tool: string;
  readonly params: JsonObject;
}

/** What can be commanded; the reading that shows a thing is where it is set. */
export type Commandable = 'on_off' | 'brightness' | 'heating_setpoint' | 'mode' | 'cover';

const NUMBER = /^-?\d{1,3}(\.\d{1,2})?$/;
const PERCENT_MAX = 100;
const COVER_ENDS: Readonly<Record<string, number>> = { OPEN: PERCENT_MAX, CLOSE: 0 };
/** Modes that `set_thermostat` takes, in the words of Home Assistant too. */
export const THERMOSTAT_MODES = ['off', 'heat', 'cool', 'auto'] as const;

/** What is set where a reading is shown; undefined for readings that only tell. */
export function commandableOf({ kind, name }: Pick<SensorInfo, 'kind' | 'name'>): Commandable | undefined {
  if (kind === 'on_off' && /^is_on(_\d+)?$/.test(name)) return 'on_off';
  if (kind === 'brightness' && /^brightness(_\d+)?$/.test(name)) return 'brightness';
  if (kind === 'setpoint' && name === 'heating_setpoint') return 'heating_setpoint';
  if (kind === 'thermostat_mode' && name === 'mode') return 'mode';
  return kind === 'cover_position' && name === 'open_percent' ? 'cover' : undefined;
}

/** The call for what was published for a reading; undefined when it is nothing that the reading's device can be told. */
export function commandFor(sensor: SensorInfo, payload: string): BridgeCommand | undefined {
  const kind = commandableOf(sensor);
  return kind && COMMANDS[kind](sensor, payload.trim());
}

type Reader = (sensor: SensorInfo, payload: string) => BridgeCommand | undefined;

const COMMANDS: Readonly<Record<Commandable, Reader>> = {
  on_off: (sensor, payload) => {
    if (payload !== 'ON' && payload !== 'OFF') return undefined;
    return control(sensor, payload === 'ON' ? 'turn_on' : 'turn_off');
  },
  brightness: (sensor, payload) => {
    const brightness = percentOf(payload);
    if (brightness === undefined) return undefined;
    return brightness === 0 ? control(sensor, 'turn_off') : control(sensor, 'set_brightness', { brightness });
  },
  heating_setpoint: ({ device }, payload) =>
    NUMBER.test(payload) ? { tool: 'set_thermostat', params: { device_id: device, target_temp: Number(payload) } } : undefined,
  mode: ({ device }, payload) => {
    const mode = THERMOSTAT_MODES.find((known) => known === payload);
    return mode && { tool: 'set_thermostat', params: { device_id: device, mode } };
  },
  cover: (sensor, payload) => {
    if (payload === 'STOP') return control(sensor, 'stop');
    const openPercent = COVER_ENDS[payload] ?? percentOf(payload);
    return openPercent === undefined ? undefined : { tool: 'set_cover', params: { device_id: sensor.device, open_percent: openPercent } };
  },
};

/** Actions carry the same number of the endpoint as the readings do. */
function control({ device, name }: SensorInfo, action: string, params: JsonObject = {}): BridgeCommand {
  const suffix = /_\d+$/.exec(name)?.[0] ?? '';
  return { tool: 'control_device', params: { device_id: device, command: `${action}${suffix}`, params } };
}

function percentOf(payload: string): number | undefined {
  const percent = NUMBER.test(payload) ? Math.round(Number(payload)) : -1;
  return percent >= 0 && percent <= PERCENT_MAX ? percent : undefined;
}
