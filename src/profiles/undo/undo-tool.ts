import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { defineTool, p, TEXT, TEXTS } from '../../tools/definition/define-tool.ts';
import {
  type CallerRights,
  type InnerCall,
  type RegisteredTool,
  RUN_ON,
  type ToolContext,
} from '../../tools/definition/tool-definition.ts';
import { callerView } from '../../tools/definition/tool-permissions.ts';
import { canSeeDevice } from '../../tools/names/resolve-names.ts';
import { callMembers, effectsOfMembers, MEMBERS_PROPERTIES, type MemberToolPorts } from '../tools/member-calls.ts';
import {
  callsToUndo,
  type MayRead,
  requireUntouched,
  touchedDevices,
  UNDO,
  type UndoPlan,
  type UndoPlanPorts,
  undoPlan,
} from './undo-plan.ts';

/** The services of the tool that undoes calls. */
export interface UndoPorts extends UndoPlanPorts {
  readonly members: MemberToolPorts;
  /** Makes calls for the caller of a running call, in order. Rejects before the first one if one of them would be refused. */
  readonly runCalls: (calls: readonly InnerCall[], context: ToolContext) => Promise<void>;
}

interface UndoCall {
  readonly trace_id: string;
  readonly devices?: readonly string[];
  readonly content?: string;
}

/**
 * Returns the tool `hub:undo`. It puts back what the calls of a trace changed, by the devices' own tools, with their permission and risk:
 * to undo that a door was locked is to unlock it.
 */
export function undoTool(ports: UndoPorts): RegisteredTool {
  const tool = defineTool(
    {
      namespace: 'hub',
      name: UNDO,
      title: 'Undo',
      description:
        'Puts back what a call, scene, sequence or run changed on devices and in the home, named by its trace_id. Refuses what somebody changed since.',
      category: 'acting',
      permissions: ['device:control:{devices}'],
      hasSideEffects: true,
      isAsyncAllowed: true,
      preferLocal: true,
      timeoutMs: 60_000,
      tags: ['undo', 'revert', 'back', 'rehearse'],
      parameters: {
        trace_id: p.string({ description: 'trace_id of the answer to the call', minLength: 1, maxLength: 128 }),
        devices: p
          .array(p.string({ description: 'Device id', maxLength: 64 }), {
            description: 'Its devices, which the hub fills in',
            maxItems: 500,
            isRare: true,
          })
          .optional(),
        content: p.string({ description: 'Digest of what it does, which the hub fills in', maxLength: 16, isRare: true }).optional(),
      },
      returns: {
        type: 'object',
        required: ['success', 'summary', 'counts', 'members', 'trace_id', 'undone', 'called', 'elsewhere'],
        properties: {
          ...MEMBERS_PROPERTIES,
          trace_id: TEXT,
          undone: { ...TEXTS, description: 'Tools whose calls were undone' },
          called: { ...TEXTS, description: 'Tools that were called for what is no value of a device, such as its room' },
          elsewhere: { ...TEXTS, description: 'Other hubs that ran calls of the trace, each of which undoes its own when it is named' },
        },
      },
      canonicalize: (call, caller) => canonicalCall(ports, call, caller),
      effects: (call) => effectsOfMembers(planFor(ports, call, () => false).members),
    },
    (call, context) => run(ports, call, context),
  );
  return {
    ...tool,
    // The calls that put back what is no value of a device require their own permissions.
    permissionsFor: ({ devices }) => (Array.isArray(devices) && devices.length === 0 ? [] : undefined),
    innerCalls: (params) => restoringCalls(ports, params),
  };
}

/** Returns the calls that an undo makes. If there can be no plan, its effects refuse the call, and this returns none. */
function restoringCalls(ports: UndoPorts, params: JsonObject | undefined): readonly InnerCall[] {
  if (params === undefined) return [];
  try {
    return planFor(ports, params as unknown as UndoCall, () => false).restoring;
  } catch {
    return [];
  }
}

/**
 * Returns the call with the devices and the digest of the plan, so that people approve exactly what they see. Throws NOT_FOUND if the caller
 * may not see one of the devices: it does not get to know that there was such a call.
 */
function canonicalCall(ports: UndoPorts, call: UndoCall, caller: CallerRights): JsonObject {
  // Errors of the plan contain names and states of devices, so it is checked before that the caller may see them.
  const calls = callsToUndo(ports, call.trace_id);
  const touched = touchedDevices(calls);
  if (!touched.every((id) => canSeeDevice(id, caller))) {
    throw new AtmoError('NOT_FOUND', 'No call with this trace id changed anything that you may know of');
  }
  const plan = requireContent(undoPlan(ports, calls, readingsOf(caller)), call);
  const [hub, ...others] = plan.hubs;
  if (hub !== undefined && plan.devices.length === 0 && plan.restoring.length === 0) throw ranElsewhere(hub, others);
  requireUntouched(ports, plan, { traceId: call.trace_id, showsAgents: caller.may('admin:audit') });
  return { trace_id: call.trace_id, devices: [...plan.devices], content: plan.content };
}

/** Returns the error of a trace whose calls all ran on other hubs. If it was one hub, the call is sent there. */
function ranElsewhere(hub: string, others: readonly string[]): AtmoError {
  if (others.length === 0)
    return new AtmoError('NODE_UNAVAILABLE', `The hub ${hub} ran this; it undoes it when it can be reached`, { [RUN_ON]: hub });
  const hubs = [hub, ...others];
  return new AtmoError('NOT_SUPPORTED', `The hubs ${hubs.join(', ')} ran this; undo it on each of them, by naming the hub`, { hubs });
}

function planFor(ports: UndoPorts, call: UndoCall, mayRead: MayRead): UndoPlan {
  return requireContent(undoPlan(ports, callsToUndo(ports, call.trace_id), mayRead), call);
}

/** Returns the plan. Throws CONFLICT if the devices have changed so that it is no longer the one with the digest of the call. */
function requireContent(plan: UndoPlan, { content }: UndoCall): UndoPlan {
  if (content === undefined || content === plan.content) return plan;
  throw new AtmoError('CONFLICT', 'What would have to be done has changed meanwhile; nothing was undone, look at it and call it again', {
    reason: 'changed_since',
  });
}

function readingsOf(caller: Pick<CallerRights, 'may'>): MayRead {
  return (device) => caller.may(`device:read:${device}`);
}

async function run(ports: UndoPorts, call: UndoCall, context: ToolContext): Promise<Json> {
  const caller = callerView(context.principal, ports.members.authorizer);
  const plan = planFor(ports, call, readingsOf(caller));
  requireUntouched(ports, plan, { traceId: call.trace_id, own: context.requestId, showsAgents: caller.may('admin:audit') });
  requireReachable(ports.members, plan);
  const undone = plan.calls.filter(({ hub }) => hub === undefined).map(({ tool }) => tool);
  const called = plan.restoring.map(({ tool }) => tool);
  const scope = { trace_id: call.trace_id, undone: [...new Set(undone)], called, elsewhere: [...plan.hubs] };
  // What may be refused comes first, so that then no device has been changed.
  if (plan.restoring.length > 0) await ports.runCalls(plan.restoring, context);
  if (plan.members.length === 0) return { ...(called.length > 0 ? withoutDevices(called.length) : NOTHING_TO_DO), ...scope };
  const answer = await callMembers(ports.members, { members: plan.members, others: () => [], subject: 'Undo' }, context);
  return { ...answer, members: answer.members as unknown as Json, ...scope };
}

function withoutDevices(calls: number) {
  return { ...NOTHING_TO_DO, summary: `Undo: done by ${calls} ${calls === 1 ? 'call' : 'calls'}` };
}

const NOTHING_TO_DO = {
  success: true,
  summary: 'Undo: all is as it was before already',
  counts: { settled: 0, not_settled: 0, failed: 0, skipped: 0 },
  members: [],
};

/** Throws DEVICE_UNREACHABLE if a device does not answer, so that nothing is undone rather than a part. */
function requireReachable({ directory }: Pick<MemberToolPorts, 'directory'>, { members }: UndoPlan): void {
  const dead = members.find(({ device }) => directory.get(device)?.reachability === 'unreachable');
  if (dead) throw new AtmoError('DEVICE_UNREACHABLE', `${quoted(dead.name)} does not answer at the moment; nothing was undone`);
}
