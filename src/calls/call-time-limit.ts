import { TOKEN_SKEW_MS, type TokenFacts } from '../core/auth/principal.ts';
import type { Call } from './call.ts';
import type { StageContext } from './pipeline-context.ts';

/** Starts the clock of a call that ends at its limit and with `signal`; a step ends with the call that it belongs to. */
export function startDeadline(call: Call, context: StageContext, signal: AbortSignal | undefined): void {
  const outer = [signal, parentOf(call)?.signal].filter((one) => one !== undefined);
  const limit = { timeoutMs: timeLimitMs(call, context), waitedMs: call.waitedMs };
  call.startDeadline(context.clock, limit, outer.length > 1 ? AbortSignal.any(outer) : outer[0]);
}

/** Waits before the tool and its limits are known: until `promise` resolves, at most as long as the caller gives the call. */
export async function waitForAtMost(
  { request: { timeoutMs, signal } }: Call,
  { clock }: StageContext,
  promise: Promise<void>,
): Promise<void> {
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  const cancel = timeoutMs !== undefined && timeoutMs > 0 ? clock.after(timeoutMs, resolve) : undefined;
  const giveUp = () => resolve();
  signal?.addEventListener('abort', giveUp);
  if (!signal?.aborted) await Promise.race([promise, isOver]);
  cancel?.();
  signal?.removeEventListener('abort', giveUp);
}

/** What the caller asks for, at most what the tool allows, never longer than the token lives or the call around it may take. */
function timeLimitMs(call: Call, context: StageContext): number {
  const { timeoutMs, isTimeoutDefault } = call.tool.definition.execution;
  const ofTool = isTimeoutDefault ? context.defaultTimeoutMs : timeoutMs;
  const { principal, timeoutMs: wanted = ofTool } = call.request;
  const ofToken = principal.token ? remainingTokenMs(principal.token, context.nowMs()) : ofTool;
  const ofParent = (parentOf(call)?.deadlineMs ?? Number.POSITIVE_INFINITY) - context.clock.now();
  return Math.max(0, Math.min(wanted, ofTool, ofToken, ofParent));
}

/** Until the end of the token, and after it until the end of what clocks may differ by. */
function remainingTokenMs({ expiresAtMs }: TokenFacts, nowMs: number): number {
  return expiresAtMs > nowMs ? expiresAtMs - nowMs : expiresAtMs + TOKEN_SKEW_MS - nowMs;
}

/** A job goes on when the call that started it is over. */
function parentOf(call: Call) {
  return call.mode === 'sync' ? call.request.within : undefined;
}
