import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { CompiledDevice } from '../compile/compiled-device.ts';
import {
  CLASS_TOOL,
  type ClassToolPorts,
  type Delegation,
  delegate,
  delegating,
  deviceOf,
  deviceParameter,
  EXAMPLE_DEVICE,
  withDeviceId,
} from './class-tool.ts';
import { SETTLEMENT_PROPERTIES } from './run-device-tool.ts';

interface ControlRequest {
  readonly device_id: string;
  readonly command: string;
  readonly params: JsonObject;
}

/** `control_device`: any of a device's own tools by its action. Permission and risk are that tool's. */
export function controlDevice(ports: ClassToolPorts): RegisteredTool {
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

function delegationOf(ports: ClassToolPorts, request: ControlRequest): Delegation {
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
