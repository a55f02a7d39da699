import { AtmoError } from '../../core/errors.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import type { CompiledDevice, DeviceTool } from '../compile/compiled-device.ts';
import { SETTLEMENT_PROPERTIES } from '../device-tools/settlement.ts';
import {
  CLASS_TOOL,
  type ClassToolPorts,
  type Delegation,
  delegate,
  delegating,
  deviceOf,
  deviceParameter,
  notFitting,
  SOME_DEVICE,
  toolFor,
} from './class-tool.ts';

const SETPOINT = { heat: 'heat', cool: 'cool', auto: 'both', off: undefined } as const;

interface ThermostatRequest {
  readonly device_id: string;
  readonly target_temp?: number;
  readonly mode?: keyof typeof SETPOINT;
  readonly unit: 'celsius' | 'fahrenheit';
}

/** `set_thermostat` (source 000 §5): absolute setpoint and mode, in the caller's unit. */
export function setThermostat(ports: ClassToolPorts): RegisteredTool {
  const work = delegating(ports, delegations);
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
      examples: [{ description: 'Heat to 21.5 °C', params: { device_id: SOME_DEVICE, target_temp: 21.5, mode: 'heat' } }],
      canonicalize: (params, caller) => inOwnWords(() => work.declared.canonicalize(params, caller)),
      effects: (params) => inOwnWords(() => work.declared.effects(params)),
    },
    async (params, context) => {
      const { state, settlement } = await inOwnWords(() => work.run(params, context));
      return { success: true, current_temp: state.temperature ?? null, unit: params.unit, state, ...settlement };
    },
  );
}

function delegations(ports: ClassToolPorts, request: ThermostatRequest): readonly Delegation[] {
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
function inOwnWords<Result>(make: () => Result): Result {
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
  return parameter in ((tool.parameters.properties ?? {}) as object);
}
