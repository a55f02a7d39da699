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

interface CoverRequest {
  readonly device_id: string;
  readonly open_percent: number;
}

/** `set_cover`: blinds, shades and shutters by how far they are open. */
export function setCover(ports: ClassToolPorts): RegisteredTool {
  const work = delegating(ports, delegations);
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
      examples: [{ description: 'Half open', params: { device_id: SOME_DEVICE, open_percent: 50 } }],
      ...work.declared,
    },
    async (params, context) => {
      const { state, settlement } = await work.run(params, context);
      return { success: true, state, ...settlement };
    },
  );
}

/** By position where the cover knows it; else fully open or closed, whichever is nearer. */
function delegations(ports: ClassToolPorts, request: CoverRequest): readonly Delegation[] {
  const compiled = deviceOf(ports, request);
  const position = coverTool(compiled, 'set_position');
  if (position) return [delegate(ports, position, { open_percent: request.open_percent })];
  const end = coverTool(compiled, request.open_percent >= 50 ? 'open' : 'close');
  return end ? [delegate(ports, end, {})] : notFitting(ports, compiled, { what: 'a cover', fits: (device) => !!coverTool(device, 'open') });
}

function coverTool(compiled: CompiledDevice, action: string): DeviceTool | undefined {
  return toolFor(compiled, 'window-covering', action);
}
