import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import type { CompiledDevice, DeviceTool } from '../compile/compiled-device.ts';
import { SETTLEMENT_PROPERTIES } from '../device-tools/settlement.ts';
import { COLOR_SCHEMA } from '../recipes/set-color.ts';
import {
  CLASS_TOOL,
  type ClassToolPorts,
  type Delegation,
  delegate,
  delegating,
  deviceOf,
  deviceParameter,
  isAction,
  notFitting,
  SOME_DEVICE,
} from './class-tool.ts';

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

/** `turn_on_light` (source 000 §5): also dims and colors where the light can. */
export function turnOnLight(ports: ClassToolPorts): RegisteredTool {
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
      examples: [{ description: 'Dimmed and red', params: { device_id: SOME_DEVICE, brightness: 40, color: 'red' } }],
      ...work.declared,
    },
    async (params, context) => {
      const { state, settlement } = await work.run(params, context);
      return { success: true, state, ...settlement };
    },
  );
}

/** `turn_off_light`, the other half. */
export function turnOffLight(ports: ClassToolPorts): RegisteredTool {
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
      examples: [{ description: 'Off', params: { device_id: SOME_DEVICE } }],
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
      ? delegate(ports, need(compiled, endpoint, { action: 'turn_on', wish: 'be turned on' }), {})
      : delegate(
          ports,
          need(compiled, endpoint, { action: 'set_brightness', wish: 'be dimmed; leave brightness out' }),
          dimming(compiled, endpoint, request.brightness),
        ),
    ...(request.color === undefined
      ? []
      : [
          delegate(ports, need(compiled, endpoint, { action: 'set_color', wish: 'change its color; leave color out' }), {
            color: request.color,
          }),
        ]),
  ]);
}

function offDelegations(ports: ClassToolPorts, request: LightRequest): readonly Delegation[] {
  const compiled = lightOf(ports, request);
  return lightEndpoints(compiled).map((endpoint) =>
    delegate(ports, need(compiled, endpoint, { action: 'turn_off', wish: 'be turned off' }), {}),
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

function need(compiled: CompiledDevice, endpoint: number, wanted: { readonly action: string; readonly wish: string }): DeviceTool {
  const tool = toolAt(compiled, endpoint, wanted.action);
  if (tool) return tool;
  throw new AtmoError('NOT_SUPPORTED', `${compiled.device.id} cannot ${wanted.wish}`, { device: compiled.device.id });
}

function toolAt(compiled: CompiledDevice, endpoint: number, action: string): DeviceTool | undefined {
  return compiled.tools.find((tool) => tool.endpoint === endpoint && isAction(tool, action));
}
