import { type Device, REACHABILITIES } from '../../core/devices/device-model.ts';
import { readableWords } from '../../core/devices/matter-names.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { quoted } from '../../core/untrusted-text.ts';
import type { Restorable, ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { trustedSchema } from '../../tools/schema/schema-validator.ts';
import type { CompiledDevice, DeviceTool } from '../compile/compiled-device.ts';
import { propertiesOf } from '../values/converter.ts';
import { memberOf } from '../values/converters.ts';
import { TEMPERATURE_UNITS } from '../values/temperature-unit.ts';
import { SETTLEMENT_PROPERTIES } from './run-device-tool.ts';

/** Returns the definition of a device's tool under its final name `name`. */
export function deviceToolDefinition(device: Device, tool: DeviceTool, name: string): ToolDefinition {
  const isRead = tool.kind === 'read';
  const example = tool.example && { description: tool.title, params: tool.example };
  return {
    name,
    namespace: 'matter',
    version: '1.0.0',
    description: describe(device, tool),
    parameters: trustedSchema(tool.parameters),
    returns: trustedSchema(returnsOf(tool)),
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
      tags: [...new Set([...tool.noun.split(' '), ...subjectOf(tool)])],
      author: 'atmosphere-edge',
      examples: example ? [example] : [],
      device: device.id,
      ...(device.area !== undefined && { area: device.area }),
      createdBy: 'system',
      isDangerous: tool.risk === 'dangerous',
      audit: { logParams: true, logResult: true, notifyAdmins: tool.risk === 'dangerous' },
    },
  };
}

/** Returns the tags for the subject of a tool: its capability, or, for a generic tool, the word `generic` and the words of its cluster. */
function subjectOf({ capability, cluster }: DeviceTool): readonly string[] {
  return capability === undefined ? ['generic', ...readableWords(cluster).split(' ')] : [capability];
}

/** Returns the description for language models: the profile's sentence with noun, quoted name, area, endpoint label and warnings. */
function describe(device: Device, tool: DeviceTool): string {
  const sentence = tool.description.replaceAll('{device}', `the ${tool.noun} ${quoted(device.name)}`);
  const area = device.area === undefined ? '' : ` In the area ${quoted(device.area)}.`;
  const part = partOf(tool);
  const danger = tool.risk === 'dangerous' ? ' Dangerous: a person has to approve the call.' : '';
  const lasting = tool.undo === undefined ? '' : tool.undo === 'never' ? ' Cannot be undone.' : ' Cannot always be undone.';
  return `${sentence}${part}${area}${danger}${lasting}`;
}

/** Returns a sentence that names the endpoint if several endpoints have the same tool; otherwise an empty text. */
function partOf({ part, numbered, endpoint }: DeviceTool): string {
  if (numbered === undefined) return '';
  return part === undefined ? ` Endpoint ${endpoint} of several.` : ` For its part ${quoted(part)}.`;
}

/** Returns the schema of a tool's result. */
function returnsOf(tool: DeviceTool): JsonSchema {
  const properties = Object.fromEntries(tool.values.map((value) => [value.name, value.schema]));
  const state = { type: 'object', properties, additionalProperties: false, description: 'What the device says now' };
  if (tool.kind === 'read') {
    return {
      type: 'object',
      properties: {
        state,
        age_seconds: {
          type: ['integer', 'null'],
          minimum: 0,
          description: 'Seconds since the device said so; null where that is not known',
        },
        reachability: { type: 'string', enum: REACHABILITIES },
      },
      required: ['state', 'age_seconds', 'reachability'],
      additionalProperties: false,
    };
  }
  const unit = 'unit' in propertiesOf(tool.parameters) && { unit: { type: 'string', enum: TEMPERATURE_UNITS } };
  return {
    type: 'object',
    properties: {
      state: { ...state, description: 'What the device said right after the command' },
      target: { type: 'object', description: 'What was asked for, by the names of state' },
      ...SETTLEMENT_PROPERTIES,
      state_error: { type: 'string', description: 'Why the state could not be read after the command was acknowledged' },
      ...unit,
      ...(tool.response && { response: tool.response }),
    },
    required: ['state', 'target', 'settled'],
    additionalProperties: false,
  };
}

/** A call of a tool that may create something in its device, such as a scene. */
interface CreatingCall {
  readonly compiled: CompiledDevice;
  readonly tool: DeviceTool;
  readonly params: JsonObject;
  /** Returns whether the device has reported its present values. */
  readonly isCurrent: () => boolean;
  /** Returns the full name of another tool of the device. */
  readonly nameOf: (tool: DeviceTool) => string;
}

/**
 * Returns how what the call creates is removed again; undefined for a tool that creates nothing. It can be removed only if the device had none
 * before, since the call may else have replaced one.
 */
export function createdContent({ compiled, tool, params, isCurrent, nameOf }: CreatingCall): Restorable | undefined {
  const { undo, endpoint, cluster } = tool;
  if (typeof undo !== 'object') return undefined;
  const remover = compiled.tools.find((one) => one.endpoint === endpoint && one.cluster === cluster && one.action === undo.removedBy);
  const [attribute = '', member = ''] = undo.count.split('.');
  return {
    path: `created/${compiled.device.id}/${endpoint}/${cluster}`,
    now: () => (isCurrent() ? countIn(compiled.live(endpoint, cluster, attribute), member) : undefined),
    restore: (before) => (before === 0 && remover ? { tool: nameOf(remover), params: sharedParams(remover, params) } : undefined),
  };
}

/** Returns the sum of a member over the items of a list; undefined if the device has not reported it. */
function countIn(raw: Json | undefined, member: string): number | undefined {
  if (!Array.isArray(raw)) return undefined;
  const counts = raw.map((item: Json) => (isJsonObject(item) ? Number(memberOf(item, member)) : Number.NaN));
  const sum = counts.reduce((total, count) => total + count, 0);
  return Number.isNaN(sum) ? undefined : sum;
}

function sharedParams({ parameters }: DeviceTool, params: JsonObject): JsonObject {
  const known = propertiesOf(parameters);
  return Object.fromEntries(Object.entries(params).filter(([name]) => Object.hasOwn(known, name)));
}
