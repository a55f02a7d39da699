import { KEPT_BY_HUB } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { InnerCall, Restorable } from '../../tools/definition/tool-definition.ts';
import { isSameValue } from './predicted-state.ts';
import type { TracedCall } from './traced-calls.ts';
import { changedSince, irreversible } from './undo-errors.ts';

/** The service that knows what tools change elsewhere than in values of devices. */
export interface RestorationPorts {
  /** Returns what a call changed and how to bring it back; undefined if its tool is no longer there. */
  readonly restorableOf: (call: Pick<TracedCall, 'tool' | 'params'>) => Restorable | undefined;
}

/** Returns whether what a call changed is brought back by a call of its own, so that its effects on devices do not count. */
export function isRestoredByCall({ before }: Pick<TracedCall, 'before'>): boolean {
  return Object.hasOwn(before, KEPT_BY_HUB);
}

/**
 * Returns the calls that bring back what the calls changed elsewhere than in values of devices, the last change first. Throws NOT_SUPPORTED if
 * no call is known that does so, and CONFLICT if it has been changed since or what is there now is not known.
 */
export function restorations(ports: RestorationPorts, calls: readonly TracedCall[]): readonly InnerCall[] {
  const changed = calls.flatMap((call) => changesOf(ports, call));
  const byPath = Map.groupBy(changed, ({ restorable }) => restorable.path);
  return [...byPath.values()].reverse().flatMap((own) => restoration(own) ?? []);
}

/** What one call changed. */
interface Change {
  readonly call: TracedCall;
  readonly restorable: Restorable;
  readonly before: Json;
  readonly after: Json | undefined;
}

function changesOf(ports: RestorationPorts, call: TracedCall): readonly Change[] {
  if (!isRestoredByCall(call)) return [];
  const restorable = knownRestorable(ports, call);
  const before = restorable && call.before[KEPT_BY_HUB]?.[restorable.path];
  if (!restorable || before === undefined) throw unknownReturn(call);
  return [{ call, restorable, before, after: call.after?.[KEPT_BY_HUB]?.[restorable.path] }];
}

/** Returns undefined also for parameters that the audit log could not keep. */
function knownRestorable(ports: RestorationPorts, call: TracedCall): Restorable | undefined {
  try {
    return ports.restorableOf(call);
  } catch {
    return undefined;
  }
}

function restoration(changes: readonly Change[]): InnerCall | undefined {
  const [first, last] = [changes[0], changes.at(-1)];
  if (!first || !last) return undefined;
  const now = last.restorable.now();
  if (now === undefined) throw notKnown(last.call);
  if (isSameValue(now, first.before)) return undefined;
  // A device may report later than its call ended, so a state that is like the one before tells nothing.
  const hasReportedChange = last.after !== undefined && !isSameValue(last.after, last.before);
  if (hasReportedChange && !isSameValue(now, last.after ?? null)) {
    throw changedSince(`What ${last.call.tool} set has been changed since`);
  }
  const call = last.restorable.restore(first.before);
  if (!call) throw unknownReturn(last.call);
  return call;
}

/** Returns the error of a call of which no call is known that brings back what it changed. */
function unknownReturn({ tool }: TracedCall): AtmoError {
  return irreversible(`What ${tool} did cannot be undone`);
}

function notKnown({ tool }: TracedCall): AtmoError {
  return new AtmoError('CONFLICT', `What ${tool} set is not known at the moment; nothing was undone, try again in a moment`, {
    reason: 'not_known',
  });
}
