import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { CompiledDevice, DeviceTool } from '../compile/compiled-device.ts';
import { COLOR_SCHEMA } from '../recipes/set-color.ts';
import { propertiesOf } from '../values/converter.ts';
import {
  CLASS_TOOL,
  type ClassToolPorts,
  type Delegation,
  delegate,
  delegating,
  deviceOf,
  deviceParameter,
  EXAMPLE_DEVICE,
  isAction,
  notFitting,
  toolFor,
} from './class-tool.ts';
import { controlDevice } from './control-device.ts';
import { SETTLEMENT_PROPERTIES } from './run-device-tool.ts';

/** Core tools over any fitting device; they use the device's own tools, with the same effects and risk. */
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

/** `turn_on_light`: also dims and colors where the light can. */
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
    async (params, context) => {
      const { state, settlement } = await work.run(params, context);
      return { success: true, state, ...settlement };
    },
  );
}

/** `turn_off_light`, the other half. */
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
      examples: [{ description: 'Off', params: { device_id: EXAMPLE_DEVICE } }],
      ...work.declared,
    },
    async (params, context) => {
      const { state, settlement } = await work.run(params, context);
      return { success: true, state, ...settlement };
    },
  );
}

function onDelegations(ports: ClassToolPorts, request: LightRequest): readonly Delegation[] {
  if (request.brightness === 0) return offDelegations(ports, request);
  const compiled = lightOf(ports, request);
  return lightEndpoints(compiled).flatMap((endpoint) => [
    request.brightness === undefined
      ? delegate(ports, requireTool(compiled, endpoint, { action: 'turn_on', wish: 'be turned on' }), {})
      : delegate(
          ports,
          requireTool(compiled, endpoint, { action: 'set_brightness', wish: 'be dimmed; leave brightness out' }),
          dimming(compiled, endpoint, request.brightness),
        ),
    ...(request.color === undefined
      ? []
      : [
          delegate(ports, requireTool(compiled, endpoint, { action: 'set_color', wish: 'change its color; leave color out' }), {
            color: request.color,
          }),
        ]),
  ]);
}

function offDelegations(ports: ClassToolPorts, request: LightRequest): readonly Delegation[] {
  const compiled = lightOf(ports, request);
  return lightEndpoints(compiled).map((endpoint) =>
    delegate(ports, requireTool(compiled, endpoint, { action: 'turn_off', wish: 'be turned off' }), {}),
  );
}

/** A light whose lowest level is above what is asked for shines at its lowest. */
function dimming(compiled: CompiledDevice, endpoint: number, brightness: number): JsonObject {
  const schema = (toolAt(compiled, endpoint, 'set_brightness')?.parameters.properties ?? {}) as {
    brightness?: { minimum?: number; maximum?: number };
  };
  const { minimum = brightness, maximum = brightness } = schema.brightness ?? {};
  return { brightness: Math.min(Math.max(brightness, minimum), maximum) };
}

function lightOf(ports: ClassToolPorts, request: { readonly device_id: string }): CompiledDevice {
  const compiled = deviceOf(ports, request);
  return isLight(compiled) ? compiled : notFitting(ports, compiled, { what: 'a light', fits: isLight });
}

function isLight(compiled: CompiledDevice): boolean {
  return lightEndpoints(compiled).length > 0;
}

function lightEndpoints(compiled: CompiledDevice): readonly number[] {
  const tools = compiled.tools.filter((tool) => tool.capability === 'on-off' && LIGHT_NOUNS.has(tool.noun) && isAction(tool, 'turn_off'));
  return tools.map((tool) => tool.endpoint);
}

function requireTool(compiled: CompiledDevice, endpoint: number, wanted: { readonly action: string; readonly wish: string }): DeviceTool {
  const tool = toolAt(compiled, endpoint, wanted.action);
  if (tool) return tool;
  throw new AtmoError('NOT_SUPPORTED', `${compiled.device.id} cannot ${wanted.wish}`, { device: compiled.device.id });
}

function toolAt(compiled: CompiledDevice, endpoint: number, action: string): DeviceTool | undefined {
  return compiled.tools.find((tool) => tool.endpoint === endpoint && isAction(tool, action));
}

interface CoverRequest {
  readonly device_id: string;
  readonly open_percent: number;
}

/** `set_cover`: blinds, shades and shutters by how far they are open. */
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
      examples: [{ description: 'Half open', params: { device_id: EXAMPLE_DEVICE, open_percent: 50 } }],
      ...work.declared,
    },
    async (params, context) => {
      const { state, settlement } = await work.run(params, context);
      return { success: true, state, ...settlement };
    },
  );
}

/** By position where the cover knows it; else fully open or closed, whichever is nearer. */
function coverDelegations(ports: ClassToolPorts, request: CoverRequest): readonly Delegation[] {
  const compiled = deviceOf(ports, request);
  const position = coverTool(compiled, 'set_position');
  if (position) return [delegate(ports, position, { open_percent: request.open_percent })];
  const end = coverTool(compiled, request.open_percent >= 50 ? 'open' : 'close');
  return end ? [delegate(ports, end, {})] : notFitting(ports, compiled, { what: 'a cover', fits: (device) => !!coverTool(device, 'open') });
}

function coverTool(compiled: CompiledDevice, action: string): DeviceTool | undefined {
  return toolFor(compiled, 'window-covering', action);
}

const SETPOINT = { heat: 'heat', cool: 'cool', auto: 'both', off: undefined } as const;

interface ThermostatRequest {
  readonly device_id: string;
  readonly target_temp?: number;
  readonly mode?: keyof typeof SETPOINT;
  readonly unit: 'celsius' | 'fahrenheit';
}

/** `set_thermostat`: absolute setpoint and mode, in the caller's unit. */
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
  const setMode = thermostatTool(compiled, 'set_mode');
  const setTemperature = thermostatTool(compiled, 'set_temperature');
  if (!setMode || !setTemperature)
    return notFitting(ports, compiled, { what: 'a thermostat', fits: (device) => !!thermostatTool(device, 'set_temperature') });
  const { mode, target_temp: temperature, unit } = request;
  if (mode === undefined && temperature === undefined) {
    throw new AtmoError('VALIDATION_ERROR', 'Give target_temp, mode, or both. Example: {"target_temp": 21.5}');
  }
  const setpoint = mode === undefined || !takes(setTemperature, 'setpoint') ? undefined : SETPOINT[mode];
  return [
    ...(mode === undefined ? [] : [delegate(ports, setMode, { mode })]),
    ...(temperature === undefined ? [] : [delegate(ports, setTemperature, { temperature, unit, ...(setpoint && { setpoint }) })]),
  ];
}

/** A mistake in the temperature under the name that the caller gave it. */
function withParameterName<Result>(make: () => Result): Result {
  try {
    return make();
  } catch (thrown) {
    if (!(thrown instanceof AtmoError) || thrown.details.pointer !== '/temperature') throw thrown;
    const message = thrown.message.replace(/^temperature:/, 'target_temp:');
    throw new AtmoError(thrown.code, message, { ...thrown.details, pointer: '/target_temp' }, { cause: thrown });
  }
}

function thermostatTool(compiled: CompiledDevice, action: string): DeviceTool | undefined {
  return toolFor(compiled, 'thermostat', action);
}

function takes(tool: DeviceTool, parameter: string): boolean {
  return parameter in propertiesOf(tool.parameters);
}
