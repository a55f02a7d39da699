import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { normalizeDefinition } from '../../src/tools/definition/public-definition.ts';
import type { RegisteredTool, ToolContext } from '../../src/tools/definition/tool-definition.ts';
import { toolId } from '../../src/tools/definition/tool-names.ts';
import { DEVICE_KINDS, type DeviceKind, deviceTool, forbiddenTool, GUARDED, REPEATABLE } from './device-kinds.ts';
import type { Effect } from './ledger.ts';
import { currentProcess } from './simulated-process.ts';

/** How a device answers a command. */
export interface DeviceMood {
  /** Milliseconds until it answers. */
  readonly answersAfterMs: number;
  /** It does what a command says, and does not answer. */
  readonly isSilent: boolean;
  /** It is being restarted: it does nothing and answers nothing. */
  readonly isOff: boolean;
}

interface DeviceParts {
  readonly machine: string;
  readonly mood: () => DeviceMood;
  readonly onEffect: (effect: Omit<Effect, 'atMs'>) => void;
  /** Called with each command that a hub sends, whether the device does it or not. */
  readonly onCommand: (command: Omit<Effect, 'atMs'>) => void;
}

/** The tools of a machine with which it controls its simulated devices. */
export function deviceTools(parts: DeviceParts): readonly RegisteredTool[] {
  return [
    ...DEVICE_KINDS.map((kind) => toolOf(deviceTool(kind, parts.machine), kind, parts)),
    toolOf(forbiddenTool(parts.machine), REPEATABLE, parts),
  ];
}

function toolOf(name: string, kind: DeviceKind, parts: DeviceParts): RegisteredTool {
  const permission = `${kind}:use`;
  const definition = normalizeDefinition({
    name: name.slice('sim:'.length),
    namespace: 'sim',
    // Other hubs take it from a member of the mesh, who may have written anything.
    description: `Sends a command to the ${kind}\u200b of \u202e${parts.machine}`,
    parameters: { type: 'object', properties: { value: { type: 'integer', description: 'What it is set to' } }, required: ['value'] },
    requires: { permissions: [permission] },
    execution: { side_effects: true, idempotent: kind === REPEATABLE, timeout_ms: 30_000, async_allowed: true },
  });
  return {
    id: toolId(definition),
    definition,
    effects: () => [{ permission, risk: kind === GUARDED ? 'dangerous' : 'low', target: name }],
    handler: (params, context) => command({ ...parts, tool: name }, params, context),
  };
}

async function command(parts: DeviceParts & { readonly tool: string }, params: JsonObject, context: ToolContext): Promise<Json> {
  context.confirm();
  const { machine, tool } = parts;
  const { answersAfterMs, isSilent, isOff } = parts.mood();
  const { traceId: trace, requestId, agentId: agent } = context;
  const { diskState: disk = 'well' } = currentProcess() ?? {};
  const effect = { machine, tool, params: canonicalJson(params), trace, requestId, agent, disk };
  parts.onCommand(effect);
  if (!isOff) parts.onEffect(effect);
  if (isSilent || isOff) return await unknownOutcome(context.signal);
  await new Promise<void>((resolve) => currentProcess()?.after(answersAfterMs, resolve, 'device'));
  return { ok: true };
}

/** Waits until the call ends. Nobody knows then whether the device has done what the command says. */
function unknownOutcome(signal: AbortSignal): Promise<never> {
  const problem = new AtmoError('OUTCOME_UNKNOWN', 'The device has not answered; read its state before calling again');
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(problem), { once: true }));
}
