import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { CompiledDevice, Delegation, DeviceTool } from '../compile/compiled-device.ts';
import { COLOR_SCHEMA } from '../recipes/set-color.ts';
import { propertiesOf } from '../values/converter.ts';
import {
  CLASS_TOOL,
  type ClassToolPorts,
  delegate,
  delegating,
  deviceOf,
  deviceParameter,
  dimming,
  EXAMPLE_DEVICE,
  isAction,
  notFitting,
  toolFor,
  withDeviceId,
} from './class-tool.ts';
import { SETTLEMENT_PROPERTIES } from './run-device-tool.ts';

/** Returns the core tools for classes of devices. They call the device's own tools, with the same effects and risk. */
export function classTools(ports: ClassToolPorts): readonly RegisteredTool[] {
  return [turnOnLight(ports), turnOffLight(ports), setThermostat(ports), setCover(ports), controlDevice(ports)];
}

const LIGHT_NOUNS = new Set(['light', 'dimmer', 'plug', 'switch']);
const LIGHT_TOOL = { ...CLASS_TOOL, capabilities: ['light_control'], isIdempotent: true } as const;
const RETURNS = {
  type: 'object',
  required: ['success', 'state'],
  properties: {
    success: { type: 'boolean' },
    state: { type: 'object', description: 'What the light says now, in human units' },
    ...SETTLEMENT_PROPERTIES,
  },
} as const;

interface LightRequest {
  readonly device_id: string;
  readonly brightness?: number;
  readonly color?: Json;
}

/** Returns the tool `turn_on_light`, which also sets brightness and colour if the light supports them. */
function turnOnLight(ports: ClassToolPorts): RegisteredTool {
  const work = delegating(ports, onDelegations);
  return defineTool(
    {
      ...LIGHT_TOOL,
      name: 'turn_on_light',
      title: 'Turn on a light',
      description: 'Turns on a light, at a brightness and in a color if wanted.',
      tags: ['light', 'lamp', 'brightness', 'color'],
      parameters: {
        device_id: deviceParameter,
        brightness: p.integer({ description: 'Brightness in percent; 0 turns it off', minimum: 0, maximum: 100, unit: '%' }).optional(),
        color: { ...p.json({ description: 'Color' }).optional(), schema: COLOR_SCHEMA },
      },
      returns: RETURNS,
      examples: [{ description: 'Dimmed and red', params: { device_id: EXAMPLE_DEVICE, brightness: 40, color: 'red' } }],
      ...work.declared,
    },
    work.answer,
  );
}

function turnOffLight(ports: ClassToolPorts): RegisteredTool {
  const work = delegating(ports, offDelegations);
  return defineTool(
    {
      ...LIGHT_TOOL,
      name: 'turn_off_light',
      title: 'Turn off a light',
      description: 'Turns off a light.',
      tags: ['light', 'lamp'],
      parameters: { device_id: deviceParameter },
      returns: RETURNS,
      ...work.declared,
    },
    work.answer,
  );
}

function onDelegations(ports: ClassToolPorts, request: LightRequest): readonly Delegation[] {
  const { brightness, color } = request;
  if (brightness === 0) return offDelegations(ports, request);
  const compiled = lightOf(ports, request);
  return lightEndpoints(compiled).flatMap((endpoint) => {
    const tool = (action: string, wish: string) => requireTool(compiled, endpoint, { action, wish });
    const dimmed = (percent: number) => {
      const dimmer = tool('set_brightness', 'be dimmed; leave brightness out');
      return delegate(ports, dimmer, dimming(dimmer, percent));
    };
    const light = brightness === undefined ? delegate(ports, tool('turn_on', 'be turned on'), {}) : dimmed(brightness);
    return color === undefined ? [light] : [light, delegate(ports, tool('set_color', 'change its color; leave color out'), { color })];
  });
}

function offDelegations(ports: ClassToolPorts, request: LightRequest): readonly Delegation[] {
  const compiled = lightOf(ports, request);
  return lightEndpoints(compiled).map((endpoint) =>
    delegate(ports, requireTool(compiled, endpoint, { action: 'turn_off', wish: 'be turned off' }), {}),
  );
}

function lightOf(ports: ClassToolPorts, request: { readonly device_id: string }): CompiledDevice {
  const compiled = deviceOf(ports, request);
  const isLight = (device: CompiledDevice) => lightEndpoints(device).length > 0;
  return isLight(compiled) ? compiled : notFitting(ports, compiled, { what: 'a light', fits: isLight });
}

function lightEndpoints(compiled: CompiledDevice): readonly number[] {
  const tools = compiled.tools.filter((tool) => tool.capability === 'on-off' && LIGHT_NOUNS.has(tool.noun) && isAction(tool, 'turn_off'));
  return tools.map((tool) => tool.endpoint);
}

function requireTool(compiled: CompiledDevice, endpoint: number, wanted: { readonly action: string; readonly wish: string }): DeviceTool {
  const tool = compiled.tools.find((one) => one.endpoint === endpoint && isAction(one, wanted.action));
  if (tool) return tool;
  throw new AtmoError('NOT_SUPPORTED', `${compiled.device.id} cannot ${wanted.wish}`, { device: compiled.device.id });
}

interface CoverRequest {
  readonly device_id: string;
  readonly open_percent: number;
}

/** Returns the tool `set_cover`, which opens blinds, shades and shutters to a given percentage. */
function setCover(ports: ClassToolPorts): RegisteredTool {
  const work = delegating(ports, coverDelegations);
  return defineTool(
    {
      ...CLASS_TOOL,
      capabilities: ['device_control'],
      isIdempotent: true,
      name: 'set_cover',
      title: 'Set a cover',
      description: 'Moves a blind, shade, curtain or shutter: 100 is fully open, 0 closed.',
      tags: ['cover', 'blind', 'shade', 'shutter', 'curtain'],
      parameters: {
        device_id: deviceParameter,
        open_percent: p.integer({ description: 'How far open', minimum: 0, maximum: 100, unit: '%' }),
      },
      returns: {
        type: 'object',
        required: ['success', 'state'],
        properties: { success: { type: 'boolean' }, state: { type: 'object' }, ...SETTLEMENT_PROPERTIES },
      },
      ...work.declared,
    },
    work.answer,
  );
}

/** Returns the call that sets the position. A cover without positions is fully opened for 50 % or more, and closed for less. */
function coverDelegations(ports: ClassToolPorts, request: CoverRequest): readonly Delegation[] {
  const compiled = deviceOf(ports, request);
  const toolOf = (device: CompiledDevice, action: string) => toolFor(device, 'window-covering', action);
  const position = toolOf(compiled, 'set_position');
  if (position) return [delegate(ports, position, { open_percent: request.open_percent })];
  const end = toolOf(compiled, request.open_percent >= 50 ? 'open' : 'close');
  return end ? [delegate(ports, end, {})] : notFitting(ports, compiled, { what: 'a cover', fits: (device) => !!toolOf(device, 'open') });
}

const SETPOINT = { heat: 'heat', cool: 'cool', auto: 'both', off: undefined } as const;

interface ThermostatRequest {
  readonly device_id: string;
  readonly target_temp?: number;
  readonly mode?: keyof typeof SETPOINT;
  readonly unit: 'celsius' | 'fahrenheit';
}

/** Returns the tool `set_thermostat`, which sets temperature (in the caller's unit) and mode. */
function setThermostat(ports: ClassToolPorts): RegisteredTool {
  const work = delegating(ports, thermostatDelegations);
  return defineTool(
    {
      ...CLASS_TOOL,
      capabilities: ['thermostat_control'],
      isIdempotent: true,
      name: 'set_thermostat',
      title: 'Set a thermostat',
      description: 'Sets the temperature that a thermostat keeps, its mode, or both.',
      tags: ['thermostat', 'heating', 'cooling', 'temperature'],
      parameters: {
        device_id: deviceParameter,
        target_temp: p.number({ description: 'Wanted room temperature, in unit. Example: 21.5', minimum: -50, maximum: 150 }).optional(),
        mode: p.enum(['heat', 'cool', 'auto', 'off'], { description: 'What the thermostat does' }).optional(),
        unit: p.enum(['celsius', 'fahrenheit'], { description: 'Unit of the temperatures', default: 'celsius' }),
      },
      returns: {
        type: 'object',
        required: ['success', 'current_temp', 'state'],
        properties: {
          success: { type: 'boolean' },
          current_temp: { type: ['number', 'null'], description: 'Room temperature now, in unit' },
          unit: { type: 'string' },
          state: { type: 'object' },
          ...SETTLEMENT_PROPERTIES,
        },
      },
      examples: [{ description: 'Heat to 21.5 °C', params: { device_id: EXAMPLE_DEVICE, target_temp: 21.5, mode: 'heat' } }],
      canonicalize: (params, caller) => withParameterName(() => work.declared.canonicalize(params, caller)),
      effects: (params) => withParameterName(() => work.declared.effects(params)),
    },
    async (params, context) => {
      const { state, settlement } = await withParameterName(() => work.run(params, context));
      return { success: true, current_temp: state.temperature ?? null, unit: params.unit, state, ...settlement };
    },
  );
}

function thermostatDelegations(ports: ClassToolPorts, request: ThermostatRequest): readonly Delegation[] {
  const compiled = deviceOf(ports, request);
  const toolOf = (device: CompiledDevice, action: string) => toolFor(device, 'thermostat', action);
  const setMode = toolOf(compiled, 'set_mode');
  const setTemperature = toolOf(compiled, 'set_temperature');
  if (!setMode || !setTemperature)
    return notFitting(ports, compiled, { what: 'a thermostat', fits: (device) => !!toolOf(device, 'set_temperature') });
  const { mode, target_temp: temperature, unit } = request;
  if (mode === undefined && temperature === undefined) {
    throw new AtmoError('VALIDATION_ERROR', 'Give target_temp, mode, or both. Example: {"target_temp": 21.5}');
  }
  const takesSetpoint = 'setpoint' in propertiesOf(setTemperature.parameters);
  const setpoint = mode === undefined || !takesSetpoint ? undefined : SETPOINT[mode];
  return [
    ...(mode === undefined ? [] : [delegate(ports, setMode, { mode })]),
    ...(temperature === undefined ? [] : [delegate(ports, setTemperature, { temperature, unit, ...(setpoint && { setpoint }) })]),
  ];
}

/** Runs `make`. In an error about the parameter `temperature`, changes the name to `target_temp`, which this tool uses. */
function withParameterName<Result>(make: () => Result): Result {
  try {
    return make();
  } catch (thrown) {
    if (!(thrown instanceof AtmoError) || thrown.details.pointer !== '/temperature') throw thrown;
    const message = thrown.message.replace(/^temperature:/, 'target_temp:');
    throw new AtmoError(thrown.code, message, { ...thrown.details, pointer: '/target_temp' }, { cause: thrown });
  }
}

/** A call of one of a device's own tools, by its action. */
export interface ControlRequest {
  readonly device_id: string;
  readonly command: string;
  readonly params: JsonObject;
}

/** Returns the tool `control_device`. It runs a device's own tool by its action, with the permission and risk of that tool. */
function controlDevice(ports: ClassToolPorts): RegisteredTool {
  const work = delegating(ports, (_, request: ControlRequest) => [delegationOf(ports, request)]);
  return defineTool(
    {
      ...CLASS_TOOL,
      capabilities: ['device_control'],
      name: 'control_device',
      isDestructive: true,
      title: 'Control a device',
      description:
        'Lets a device do one of its actions, such as turn_on, set_brightness or lock, with human units. An unknown action is answered with those that the device has.',
      tags: ['device', 'action'],
      parameters: {
        device_id: deviceParameter,
        command: p.string({ description: 'Action of the device such as turn_on or set_brightness', maxLength: 80 }),
        params: p.record({ description: 'Parameters of the action. Example: {"brightness": 40}', default: {}, secretMembers: true }),
      },
      returns: {
        type: 'object',
        required: ['success', 'new_state'],
        properties: {
          success: { type: 'boolean' },
          new_state: { type: 'object', description: 'What the device says now, in human units' },
          target: { type: 'object' },
          ...SETTLEMENT_PROPERTIES,
        },
      },
      examples: [
        { description: 'Dim a light', params: { device_id: EXAMPLE_DEVICE, command: 'set_brightness', params: { brightness: 40 } } },
      ],
      ...work.declared,
      canonicalize(params, caller) {
        const resolved = { ...params, ...withDeviceId(ports, params, caller) } as ControlRequest;
        const delegation = delegationOf(ports, resolved);
        return { device_id: resolved.device_id, command: delegation.tool.action, params: delegation.params };
      },
    },
    async (params, context) => {
      const { state, settlement, answer } = await work.run(params, context);
      return {
        success: true,
        new_state: state,
        ...('target' in answer && { target: answer.target ?? {} }),
        ...('settled' in answer && settlement),
      };
    },
  );
}

/** Returns the call of the device's own tool. Throws VALIDATION_ERROR, with the actions that the device has, if it has no such action. */
export function delegationOf(ports: ClassToolPorts, request: ControlRequest): Delegation {
  const compiled = deviceOf(ports, request);
  const wanted = request.command.trim().toLowerCase().replaceAll('-', '_').replaceAll(' ', '_');
  const tool =
    compiled.tools.find((one) => one.action === wanted) ??
    compiled.tools.find(({ alias, numbered, formerAction }) => [alias, numbered, formerAction].includes(wanted));
  return tool ? delegate(ports, tool, request.params) : unknownAction(compiled, request.command);
}

function unknownAction(compiled: CompiledDevice, command: string): never {
  const actions = compiled.tools.map((tool) => tool.action);
  const near = nearestTexts(command, actions);
  const hint = near.length > 0 ? `did you mean ${near.join(' or ')}?` : `it has ${actions.slice(0, 30).join(', ') || 'none'}`;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `The ${compiled.noun} ${compiled.device.id} has no action ${JSON.stringify(command.slice(0, 80))}; ${hint}`,
    { pointer: '/command', allowed: actions },
  );
}
