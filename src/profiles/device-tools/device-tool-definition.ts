import { type Device, REACHABILITIES } from '../../core/devices/device-model.ts';
import type { JsonSchema } from '../../core/json.ts';
import type { ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { ownSchema } from '../../tools/schema/own-schema.ts';
import type { DeviceTool } from '../compile/compiled-device.ts';
import { quoted, words } from '../words.ts';

/** Definition of a device's tool in the hub's form. `name` is its final name. */
export function deviceToolDefinition(device: Device, tool: DeviceTool, name: string): ToolDefinition {
  const isRead = tool.kind === 'read';
  const example = tool.example && { description: tool.title, params: tool.example };
  return {
    name,
    namespace: 'matter',
    version: '1.0.0',
    description: describe(device, tool),
    parameters: ownSchema(tool.parameters),
    returns: ownSchema(returnsOf(tool)),
    requires: {
      capabilities: ['matter_bridge'],
      permissions: [`${tool.isAdministrative ? 'admin:device' : isRead ? 'device:read' : 'device:control'}:${device.id}`],
      network: false,
      gpu: false,
      gpuPreferred: false,
    },
    execution: {
      timeoutMs: tool.timeoutMs,
      retries: 0,
      isIdempotent: tool.isIdempotent,
      isAsyncAllowed: true,
      isStreamSupported: false,
      hasSideEffects: !isRead,
      determinism: 'nondeterministic',
    },
    routing: { preferLocal: true, nodeAffinity: [], hopLimit: 3, preferGpu: false },
    metadata: {
      title: tool.title,
      category: isRead ? 'sensing' : 'acting',
      tags: [...new Set([...tool.noun.split(' '), tool.capability ?? 'generic', ...words(tool.cluster).split(' ')])],
      author: 'atmosphere-edge',
      examples: example ? [example] : [],
      device: device.id,
      ...(device.area !== undefined && { area: device.area }),
      createdBy: 'system',
      isDangerous: tool.risk === 'dangerous',
      audit: { logParams: true, logResult: true, notifyAdmins: false },
    },
  };
}

/** For models: the sentence of the profile with noun, quoted name, area and part. */
function describe(device: Device, tool: DeviceTool): string {
  const sentence = tool.description.replaceAll('{device}', `the ${tool.noun} ${quoted(device.name)}`);
  const area = device.area === undefined ? '' : ` In the area ${quoted(device.area)}.`;
  const part = /_\d+$/.test(tool.action) ? ` Endpoint ${tool.endpoint} of several.` : '';
  const danger = tool.risk === 'dangerous' ? ' Dangerous: a person has to approve the call.' : '';
  return `${sentence}${part}${area}${danger}`;
}

/** Shapes of answers are the same for all tools over the same values. */
function returnsOf(tool: DeviceTool): JsonSchema {
  const properties = Object.fromEntries(tool.values.map((value) => [value.name, value.schema]));
  const state = { type: 'object', properties, additionalProperties: false, description: 'What the device says now' };
  if (tool.kind === 'read') {
    return {
      type: 'object',
      properties: {
        state,
        age_seconds: { type: 'integer', minimum: 0, description: 'Seconds since the device said so' },
        reachability: { type: 'string', enum: REACHABILITIES },
      },
      required: ['state', 'age_seconds', 'reachability'],
      additionalProperties: false,
    };
  }
  const unit =
    'unit' in ((tool.parameters.properties ?? {}) as object) ? { unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } } : {};
  return {
    type: 'object',
    properties: {
      state: { ...state, description: 'What the device said right after the command' },
      target: { type: 'object', description: 'What was asked for, by the names of state' },
      settled: { type: 'boolean', description: 'True when the device already shows the target; false while it is on its way' },
      state_error: { type: 'string', description: 'Why the state could not be read after the command was acknowledged' },
      ...unit,
      ...(tool.response && { response: tool.response }),
    },
    required: ['state', 'target', 'settled'],
    additionalProperties: false,
  };
}
