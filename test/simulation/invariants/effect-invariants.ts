import { foreignAgentId, TOKEN_SKEW_MS } from '../../../src/core/auth/principal.ts';
import { BrokenInvariant } from '../broken-invariant.ts';
import { GUARDED, kindOf, REPEATABLE, routineTool } from '../device-kinds.ts';
import { type Attempt, type Effect, type Ledger, revokedMsOf } from '../ledger.ts';
import { checkAfterAnswer } from './answer-invariants.ts';

/** What the checks of an effect need to know. */
export interface EffectFacts {
  readonly ledger: Ledger;
  readonly effect: Effect;
  readonly attempt: Attempt;
  /** Id of the hub of a machine. */
  readonly hubIdOf: (machine: string) => string;
  /** What the clock of the hub that acts shows, milliseconds since 1970. */
  readonly wallMs: number;
  /** Since when all hubs run and reach each other, milliseconds of the world; undefined while a fault lasts. */
  readonly calmSinceMs: number | undefined;
  /** Until when a hub of the mesh was an older member, milliseconds of the world. */
  readonly olderUntilMs: number;
}

/** Longest time after which a revocation holds on every hub that can be reached, in milliseconds. */
const REVOCATION_BOUND_MS = 60_000;
/** Longest time after which a hub on the way learns that the client of a call has left, in milliseconds. */
const CANCEL_BOUND_MS = 1_000;

/** The invariants of effects. Each one throws BrokenInvariant. */
export const EFFECT_INVARIANTS: Readonly<Record<string, (facts: EffectFacts) => void>> = {
  'an effect happens at most once for an idempotency key, unless it may be repeated': ({ ledger, effect, attempt }) => {
    if (kindOf(effect) === REPEATABLE) return;
    const key = `${attempt.agent} ${attempt.key}`;
    const first = ledger.firstEffects.get(key);
    if (first)
      fail('an effect happens at most once', { effect, attempt }, `it happened for ${first.trace} at ${first.atMs}`, [first.trace]);
    ledger.firstEffects.set(key, effect);
  },
  'an effect happens only for a call that may have one': ({ effect, attempt }) => {
    if (attempt.forbidden !== undefined) fail('nothing forbidden happens', { effect, attempt }, attempt.forbidden);
  },
  'an effect is what was asked for': ({ effect, attempt }) => {
    // The steps of a tool are those that people have approved.
    if (isStep({ effect, attempt })) return;
    const isSame = effect.tool === attempt.tool && effect.params === attempt.params;
    if (!isSame) fail('an effect is what was asked for', { effect, attempt }, `${effect.tool} ${effect.params} was done`);
  },
  'an effect happens before the deadline of its call': ({ effect, attempt, olderUntilMs }) => {
    // What people have to wait for begins when they have decided, and ends with their approval.
    if (attempt.waits) return;
    const { arrivedMs = Number.NEGATIVE_INFINITY, timeoutMs } = attempt;
    // What an older member sends, gets or passes on has no deadline by the clock of its receiver.
    if (effect.machine !== attempt.entry && olderUntilMs > arrivedMs) return;
    const deadlineMs = arrivedMs + timeoutMs;
    if (effect.atMs > deadlineMs)
      fail('nothing happens late', { effect, attempt }, `the deadline was ${effect.atMs - deadlineMs} ms before`);
  },
  'an effect happens before its client leaves': ({ effect, attempt, calmSinceMs }) => {
    if (attempt.leftMs === undefined) return;
    const isHere = effect.machine === attempt.entry;
    const isBounded = isHere || (calmSinceMs !== undefined && calmSinceMs < attempt.leftMs);
    const boundMs = isHere ? 0 : CANCEL_BOUND_MS;
    if (isBounded && effect.atMs > attempt.leftMs + boundMs)
      fail('nothing happens for who left', { effect, attempt }, 'the client had left');
  },
  'nothing happens for a job after the answer that it is cancelled': ({ effect, attempt }) => {
    const { cancelledMs = effect.atMs } = attempt;
    if (effect.atMs > cancelledMs)
      fail('nothing happens for a cancelled job', { effect, attempt }, `it was cancelled at ${cancelledMs} ms`);
  },
  'nothing happens after an answer that says that nothing has happened': ({ attempt }) => checkAfterAnswer(attempt),
  'the token of the caller permits the effect': ({ effect, attempt }) => {
    const needed = `${kindOf(effect)}:use`;
    if (!attempt.token.permissions.includes(needed)) fail('nothing happens without permission', { effect, attempt }, `it takes ${needed}`);
  },
  'no effect happens for a revoked token': ({ ledger, effect, attempt, calmSinceMs }) => {
    const { issuer } = attempt.token;
    const revokedMs = revokedMsOf(attempt.token);
    const lostMs = ledger.trustLostMs.get(issuer) ?? Number.NEGATIVE_INFINITY;
    if (revokedMs === undefined || revokedMs <= lostMs) return;
    const isHere = effect.machine === issuer;
    const knownMs = revokedMs + (isHere ? 0 : REVOCATION_BOUND_MS);
    const isBounded = isHere || (calmSinceMs !== undefined && calmSinceMs < revokedMs);
    if (isBounded && effect.atMs > knownMs) fail('a revocation holds', { effect, attempt }, `the token was revoked at ${revokedMs}`);
  },
  'no effect happens for a token that has ended': ({ effect, attempt, wallMs }) => {
    const lateMs = wallMs - attempt.token.expiresMs;
    if (lateMs > TOKEN_SKEW_MS) fail('a token ends', { effect, attempt }, `the token ended ${lateMs} ms before, by the clock of the hub`);
  },
  'no effect happens against the rules': ({ ledger, effect, attempt, calmSinceMs }) => {
    const ban = ledger.banOf(effect);
    if (ban && calmSinceMs !== undefined && calmSinceMs < ban.fromMs)
      fail('rules hold', { effect, attempt }, `a rule has forbidden it since ${ban.fromMs} ms`);
  },
  'an approval is used once, for exactly what was approved': ({ ledger, effect, attempt, hubIdOf }) => {
    if (kindOf(effect) !== GUARDED && !isStep({ effect, attempt })) return;
    const { agent: name, token } = attempt;
    const agent = token.issuer === effect.machine ? name : foreignAgentId(name, hubIdOf(token.issuer));
    const used = ledger.useApproval({ agent, attempt, effect });
    if (used === undefined) fail('nothing dangerous happens without approval', { effect, attempt }, `nobody approved it for ${agent}`);
  },
};

/** Returns whether the effect is of a step of the tool that was called. */
function isStep({ effect, attempt }: Pick<EffectFacts, 'effect' | 'attempt'>): boolean {
  return attempt.tool === routineTool(effect.machine);
}

function fail(
  invariant: string,
  { effect, attempt }: Pick<EffectFacts, 'effect' | 'attempt'>,
  problem: string,
  more: readonly string[] = [],
): never {
  const what = `${effect.tool} ${effect.params} on ${effect.machine} for ${attempt.agent} at ${effect.atMs} ms`;
  throw new BrokenInvariant(invariant, `${what}, although ${problem}`, [attempt.trace, effect.requestId, attempt.token.id, ...more]);
}
