import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import type { CompiledDevice, Delegation, DeviceTool } from '../compile/compiled-device.ts';
import { propertiesOf } from '../values/converter.ts';
import { delegate, dimming, isAction } from './class-tool.ts';

/** The kinds of devices that `control_area` controls. */
export const AREA_KINDS = ['lights', 'covers', 'climate', 'media'] as const;
export type AreaKind = (typeof AREA_KINDS)[number];

/** What `control_area` does. `open` and `close` are other words for `on` and `off` of covers. */
export const AREA_ACTIONS = ['on', 'off', 'open', 'close', 'level', 'mode', 'temperature'] as const;
type AreaAction = (typeof AREA_ACTIONS)[number];

/** What all members shall do. */
export interface AreaRequest {
  readonly what: AreaKind;
  readonly action: AreaAction;
  readonly level?: number;
  readonly mode?: string;
  readonly temperature?: number;
  readonly unit: 'celsius' | 'fahrenheit';
}

/** Calls one of the device's own tools; returns nothing if the device does not have it. */
type Call = (capability: string, action: string, params?: JsonObject) => readonly Delegation[];
/** What a device has to do, or the reason why it has nothing to do. */
type Work = readonly Delegation[] | string;

interface KindOfDevice {
  readonly actions: readonly AreaAction[];
  /** Capabilities, each with the nouns of the endpoints that count. A water heater has a thermostat too, and is no climate device. */
  readonly parts: Readonly<Record<string, ReadonlySet<string>>>;
  work(device: DeviceParts, request: AreaRequest): Work;
}

const AIR = ['thermostat', 'air conditioner', 'heat pump'];
const FANS = ['fan', 'air purifier', 'air conditioner'];
const PLAYERS = ['video player', 'speaker', 'app'];

const KINDS: Readonly<Record<AreaKind, KindOfDevice>> = {
  // Plugs and switches may feed a freezer or a heater, so they are no lights here.
  lights: { actions: ['on', 'off', 'level'], parts: { 'on-off': new Set(['light', 'dimmer']) }, work: lightWork },
  covers: { actions: ['on', 'off', 'open', 'close', 'level', 'mode'], parts: { 'window-covering': new Set(['cover']) }, work: coverWork },
  climate: {
    actions: ['on', 'off', 'level', 'mode', 'temperature'],
    parts: { thermostat: new Set(AIR), fan: new Set(FANS), 'on-off': new Set(FANS) },
    work: climateWork,
  },
  media: {
    actions: ['on', 'off', 'level', 'mode'],
    parts: { 'on-off': new Set(['video player']), 'media-playback': new Set(PLAYERS), mute: new Set(PLAYERS), volume: new Set(PLAYERS) },
    work: mediaWork,
  },
};

/** Returns whether the device has a part of the kind. */
export function isOfKind(compiled: CompiledDevice, what: AreaKind): boolean {
  return compiled.tools.some((tool) => isPart(tool, what));
}

function isPart({ capability = '', noun }: DeviceTool, what: AreaKind): boolean {
  const { parts } = KINDS[what];
  return Object.hasOwn(parts, capability) && (parts[capability]?.has(noun) ?? false);
}

/** Returns the calls of the device's own tools for a request, or the reason why the device has nothing to do. */
export function areaWork(validator: SchemaValidator, compiled: CompiledDevice, request: AreaRequest): Work {
  return KINDS[request.what].work(new DeviceParts(validator, compiled, request.what), request);
}

/** Throws VALIDATION_ERROR if the kind does not know the action, or the value of the action is missing. */
export function requireAreaAction({ what, action, level, mode, temperature }: AreaRequest): void {
  const { actions } = KINDS[what];
  if (!actions.includes(action))
    throw new AtmoError('VALIDATION_ERROR', `action: ${what} take ${actions.join(', ')}`, { pointer: '/action', allowed: [...actions] });
  const value = { level, mode, temperature }[action as 'level'];
  if (!['level', 'mode', 'temperature'].includes(action) || value !== undefined) return;
  throw new AtmoError('VALIDATION_ERROR', `${action}: say which ${action}, with the action ${action}`, { pointer: `/${action}` });
}

/** The parts of a device that belong to a kind. */
class DeviceParts {
  readonly #validator: SchemaValidator;
  readonly #tools: readonly DeviceTool[];

  constructor(validator: SchemaValidator, compiled: CompiledDevice, what: AreaKind) {
    this.#validator = validator;
    this.#tools = compiled.tools.filter((tool) => isPart(tool, what) || isBesidePart(tool, compiled, what));
  }

  /** Returns the calls of an action on every part that has it; none if no part has it. */
  readonly call: Call = (capability, action, params = {}) =>
    this.tools(capability, action).map((tool) => delegate({ validator: this.#validator }, tool, params));

  /** Returns the calls that set a percentage, within the range of each part. */
  dim(capability: string, action: string, percent: number): readonly Delegation[] {
    return this.tools(capability, action).map((tool) => delegate({ validator: this.#validator }, tool, dimming(tool, percent)));
  }

  tools(capability: string, action: string): readonly DeviceTool[] {
    return this.#tools.filter((tool) => tool.capability === capability && isAction(tool, action));
  }

  has(capability: string): boolean {
    return this.#tools.some((tool) => tool.capability === capability);
  }

  /** Returns the values that a parameter can have, over all parts with the action. */
  choices(capability: string, action: string, parameter: string): readonly string[] {
    return this.tools(capability, action).flatMap((tool) => {
      const { enum: values } = propertiesOf(tool.parameters)[parameter] ?? {};
      return Array.isArray(values) ? values.map(String) : [];
    });
  }
}

/** Returns whether the tool belongs to an endpoint of the kind, such as the brightness of a light. */
function isBesidePart(tool: DeviceTool, compiled: CompiledDevice, what: AreaKind): boolean {
  return tool.capability === 'brightness' && compiled.tools.some((one) => one.endpoint === tool.endpoint && isPart(one, what));
}

/** Returns the calls, or the reason if there are none. */
function orReason(calls: readonly Delegation[], reason: string): Work {
  return calls.length > 0 ? calls : reason;
}

function lightWork(light: DeviceParts, { action, level = 0 }: AreaRequest): Work {
  if (action === 'on') return orReason(light.call('on-off', 'turn_on'), 'It cannot be turned on');
  if (action === 'off' || level === 0) return orReason(light.call('on-off', 'turn_off'), 'It cannot be turned off');
  return orReason(light.dim('brightness', 'set_brightness', level), 'It has no brightness');
}

function coverWork(cover: DeviceParts, { action, level, mode }: AreaRequest): Work {
  if (action === 'mode')
    return mode === 'stop' ? orReason(cover.call('window-covering', 'stop'), 'It cannot stop') : 'Covers know the mode stop';
  const percent = action === 'level' ? (level ?? 0) : action === 'on' || action === 'open' ? 100 : 0;
  const positioned = action === 'level' ? cover.call('window-covering', 'set_position', { open_percent: percent }) : [];
  if (positioned.length > 0) return positioned;
  // A cover without positions is opened for half or more, and closed for less.
  return orReason(cover.call('window-covering', percent >= 50 ? 'open' : 'close'), 'It cannot be moved');
}

function climateWork(device: DeviceParts, request: AreaRequest): Work {
  const { action, level = 0, temperature, unit } = request;
  switch (action) {
    case 'off':
      return climateOff(device);
    case 'on':
      return climateOn(device);
    case 'level':
      return orReason(device.call('fan', 'set_speed', { speed: level }), 'It has no fan speed');
    case 'mode':
      return modeWork(device, request.mode ?? '');
    default:
      return temperature === undefined
        ? 'No temperature was given'
        : orReason(device.call('thermostat', 'set_temperature', { temperature, unit }), 'It keeps no temperature');
  }
}

function climateOff(device: DeviceParts): Work {
  const switched = device.call('on-off', 'turn_off');
  if (switched.length > 0) return switched;
  if (device.has('thermostat')) return modeWork(device, 'off');
  return orReason(device.call('fan', 'stop_fan'), 'It cannot be turned off');
}

/** Modes in which a thermostat or a fan is on, the one that suits most first. */
const THERMOSTAT_ON = ['auto', 'heat', 'cool'];
const FAN_ON = ['auto', 'medium', 'low', 'high'];

function climateOn(device: DeviceParts): Work {
  const switched = device.call('on-off', 'turn_on');
  if (switched.length > 0) return switched;
  const modes = device.choices('thermostat', 'set_mode', 'mode');
  const mode = THERMOSTAT_ON.find((one) => modes.includes(one));
  if (mode !== undefined) return device.call('thermostat', 'set_mode', { mode });
  const fanModes = device.choices('fan', 'set_fan_mode', 'fan_mode');
  const fanMode = FAN_ON.find((one) => fanModes.includes(one));
  return fanMode === undefined ? 'It cannot be turned on' : device.call('fan', 'set_fan_mode', { fan_mode: fanMode });
}

function modeWork(device: DeviceParts, mode: string): Work {
  const modes = device.choices('thermostat', 'set_mode', 'mode');
  if (modes.includes(mode)) return device.call('thermostat', 'set_mode', { mode });
  const fanModes = device.choices('fan', 'set_fan_mode', 'fan_mode');
  if (modes.length === 0 && fanModes.includes(mode)) return device.call('fan', 'set_fan_mode', { fan_mode: mode });
  const known = modes.length > 0 ? modes : fanModes;
  return known.length === 0 ? 'It has no modes' : `It does not know the mode ${mode.slice(0, 32)}; it has ${known.join(', ')}`;
}

/** The modes of media devices, and the action of a device that has each. */
const MEDIA_MODES: Readonly<Record<string, readonly [capability: string, action: string]>> = {
  play: ['media-playback', 'play'],
  pause: ['media-playback', 'pause_playback'],
  stop: ['media-playback', 'stop_playback'],
  mute: ['mute', 'mute'],
  unmute: ['mute', 'unmute'],
};

function mediaWork(device: DeviceParts, { action, level = 0, mode = '' }: AreaRequest): Work {
  if (action === 'level') return orReason(device.call('volume', 'set_volume', { volume: level }), 'It has no volume');
  if (action === 'mode') {
    const known = Object.hasOwn(MEDIA_MODES, mode) ? MEDIA_MODES[mode] : undefined;
    if (!known) return `Media devices know the modes ${Object.keys(MEDIA_MODES).join(', ')}`;
    return orReason(device.call(...known), `It cannot ${mode}`);
  }
  if (action === 'on') {
    const on = device.call('on-off', 'turn_on');
    return on.length > 0 ? on : orReason(device.call('mute', 'unmute'), 'It cannot be turned on');
  }
  const ways: readonly (readonly [string, string])[] = [
    ['on-off', 'turn_off'],
    ['media-playback', 'stop_playback'],
    ['mute', 'mute'],
  ];
  return ways.map(([capability, name]) => device.call(capability, name)).find((calls) => calls.length > 0) ?? 'It cannot be turned off';
}
