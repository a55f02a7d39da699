import type { KeyObject } from 'node:crypto';
import { kindOf, REPEATABLE } from './device-kinds.ts';
import type { DiskState } from './disk-state.ts';
import type { AutomationHistory } from './invariants/automation-invariants.ts';
import type { ProposedAutomation } from './invariants/proposal-invariants.ts';

/** A token that an agent has, as the owner gave it. */
export interface GivenToken {
  readonly id: string;
  readonly text: string;
  readonly agent: string;
  /** Machine whose hub issued it. */
  readonly issuer: string;
  readonly permissions: readonly string[];
  /** Its end, milliseconds since 1970. */
  readonly expiresMs: number;
  /** The key of its agent, with which each request is signed. */
  readonly key?: KeyObject;
  /** The token that it comes from, if its agent made it. */
  readonly parent?: GivenToken;
  /** When the issuing hub answered that it is revoked, milliseconds of the world. */
  revokedMs?: number;
}

/** When a token or one that it comes from was revoked; undefined if none was. */
export function revokedMsOf({ revokedMs, parent }: GivenToken): number | undefined {
  return revokedMs ?? (parent && revokedMsOf(parent));
}

/** One attempt of an agent to call a tool. */
export interface Attempt {
  /** Trace id, which every hub on the way keeps: 32 hex digits. */
  readonly trace: string;
  readonly agent: string;
  /** Machine to which the request goes. */
  readonly entry: string;
  readonly tool: string;
  readonly params: string;
  /** Attempts with the same key may have one effect together. */
  readonly key: string;
  readonly timeoutMs: number;
  /** It is a job that waits until people have approved it, and runs by itself then. */
  readonly waits: boolean;
  readonly token: GivenToken;
  /** Why the call may not have any effect, if that is so from the begin. */
  readonly forbidden?: string;
  /** When the request reached the entry hub, and when that hub learned that the client has left. Milliseconds of the world. */
  arrivedMs?: number;
  leftMs?: number;
  /** When the agent got the answer that its job is cancelled. */
  cancelledMs?: number;
  jobId?: string;
  /** `success`, an error code, `job` with a state and an error code, or `lost` when no answer came. */
  outcome?: string;
}

/** What a device did for a hub. */
export interface Effect {
  readonly atMs: number;
  readonly machine: string;
  readonly tool: string;
  readonly params: string;
  readonly trace: string;
  readonly requestId: string;
  /** Id of the agent at the hub that acted. */
  readonly agent: string;
  /** What the disk of the machine refused at that moment. */
  readonly disk: DiskState;
}

/** A step that a person has seen. Those that happened are taken out. */
export interface ShownStep {
  readonly tool: string;
  readonly params: string;
  isDone: boolean;
}

/** A person's approval that a hub has accepted. */
interface GivenApproval {
  readonly id: string;
  readonly person: string;
  readonly machine: string;
  readonly agent: string;
  readonly tool: string;
  readonly params: string;
  /** The steps that were shown, each of which may happen once. */
  readonly steps?: readonly ShownStep[];
  /** The job that it is for, if it is for one alone. */
  readonly job?: string;
  /** Present for one that holds for an hour: the token with which the call was made that asked for it. */
  readonly hourOf?: string | undefined;
  /** When it was answered that it counts no more, since its hour was ended or its person removed. Milliseconds of the world. */
  endedMs?: number;
  /** When the person got the answer of the hub; undefined as long as that has not come. Milliseconds of the world. */
  answeredMs?: number;
  /** Trace of the call for which it was used. */
  usedBy?: string;
}

/** A call for which an approval is looked for. */
interface ApprovedCall {
  readonly agent: string;
  readonly attempt: Attempt;
  readonly effect: Effect;
}

/** An approval can be used for so long (docs/approvals.md), in milliseconds. */
export const USABLE_MS = 600_000;

const HOUR_MS = 3_600_000;

/** A time in which the rules of a hub forbid one of its tools to agents, milliseconds of the world. */
interface Ban {
  readonly tool: string;
  readonly fromMs: number;
  untilMs: number;
}

/** All that happened in a world, as a witness saw it who sees everything. Invariants compare it with what was allowed. */
export class Ledger {
  readonly attempts = new Map<string, Attempt>();
  readonly effects: Effect[] = [];
  readonly approvals: GivenApproval[] = [];
  /** The first effect of each idempotency key. */
  readonly firstEffects = new Map<string, Effect>();

  /** Automations by machine and agent. */
  readonly automations = new Map<string, AutomationHistory>();
  /** Automations that agents propose, by machine and agent. */
  readonly proposed = new Map<string, ProposedAutomation>();
  /** When the clock of a machine was wrong last, milliseconds of the world. */
  readonly wrongClocks = new Map<string, number>();
  /** When a hub has lost both copies of what it knew of revocations and approvals, by its machine. Milliseconds of the world. */
  readonly trustLostMs = new Map<string, number>();
  /** Machines at which two persons have to approve each call of the lock. */
  readonly twoPersons = new Set<string>();
  readonly #bans: Ban[] = [];
  /** Calls of which an effect happened, by agent, key, tool and parameters; and the traces of all effects. */
  readonly #done = new Set<string>();
  readonly #acted = new Set<string>();

  automationsOf(machine: string): readonly AutomationHistory[] {
    return [...this.automations.values()].filter((history) => history.machine === machine);
  }

  /** The automations of a machine may have a reason not to run. */
  doubtAutomationsOf(machine: string): void {
    for (const history of this.automationsOf(machine)) history.isUnsure = true;
  }

  /** The rules of a hub forbid one of its tools, until `untilMs` of the returned ban is set. */
  forbid(tool: string, fromMs: number): Ban {
    const ban: Ban = { tool, fromMs, untilMs: Number.POSITIVE_INFINITY };
    this.#bans.push(ban);
    return ban;
  }

  /** The ban that holds at a time; undefined if there is none. */
  banOf({ tool, atMs }: Pick<Effect, 'tool' | 'atMs'>): Ban | undefined {
    return this.#bans.find((ban) => ban.tool === tool && ban.fromMs < atMs && atMs <= ban.untilMs);
  }

  begin(attempt: Attempt): Attempt {
    this.attempts.set(attempt.trace, attempt);
    return attempt;
  }

  /** Adds an effect that has happened. */
  add(effect: Effect): void {
    this.effects.push(effect);
    const attempt = this.attempts.get(effect.trace);
    if (attempt) this.#done.add(doneKey(attempt));
    // A step that may be repeated may have acted before another step fails with any error (docs/registering-tools.md).
    const isRepeatableStep = kindOf(effect) === REPEATABLE && attempt?.tool !== effect.tool;
    if (!isRepeatableStep) this.#acted.add(effect.trace);
  }

  /** Returns whether attempts with the same key have had the effect that this one asks for: with a tool of steps, that of each step. */
  hasDone(attempt: Attempt): boolean {
    const key = doneKey(attempt);
    if (!this.#done.has(key)) return false;
    const served = this.approvals.filter(({ steps, usedBy = '' }) => steps && this.#hasKey(usedBy, key));
    return served.length === 0 || served.some(({ steps }) => steps?.every(({ isDone }) => isDone));
  }

  #hasKey(trace: string, key: string): boolean {
    const attempt = this.attempts.get(trace);
    return attempt !== undefined && doneKey(attempt) === key;
  }

  /** Returns whether this attempt has had an effect, other than of a step that may be repeated. */
  hasActed({ trace }: Attempt): boolean {
    return this.#acted.has(trace);
  }

  /** A hub has lost the keys that it knew: what was called with them through this machine or on it may happen again. */
  forgetKeys(machine: string): void {
    for (const [key, { machine: acted, trace }] of this.firstEffects)
      if (acted === machine || this.attempts.get(trace)?.entry === machine) this.firstEffects.delete(key);
  }

  /** A hub has lost what it knew of revocations and approvals since its newest copy. */
  forgetTrust(machine: string, nowMs: number): void {
    this.trustLostMs.set(machine, nowMs);
    for (const approval of this.approvals) {
      if (approval.machine !== machine) continue;
      delete approval.usedBy;
      delete approval.endedMs;
      for (const step of approval.steps ?? []) step.isDone = false;
    }
  }

  /** Returns the approval, which counts from now on. */
  approve(approval: GivenApproval): GivenApproval {
    this.approvals.push(approval);
    return approval;
  }

  /** The approvals at a machine that served a call and can serve no other one: the only ones of their call, and not for an hour. */
  usedOnce(machine: string): readonly Pick<GivenApproval, 'id' | 'usedBy'>[] {
    const own = this.approvals.filter((approval) => approval.machine === machine);
    const byCall = Map.groupBy(own, ({ agent, tool, params }) => JSON.stringify([agent, tool, params]));
    const single = [...byCall.values()].filter((all) => new Set(all.map(({ id }) => id)).size === 1);
    return single
      .flatMap((all) => all.filter(({ usedBy, hourOf }) => usedBy !== undefined && hourOf === undefined))
      .map((one) => ({ ...one }));
  }

  /** The approvals of a person at a machine count no more. */
  endApprovals({ machine, person, endedMs }: Required<Pick<GivenApproval, 'machine' | 'person' | 'endedMs'>>): void {
    for (const approval of this.approvals) if (approval.machine === machine && approval.person === person) approval.endedMs ??= endedMs;
  }

  /** Takes the approvals of exactly this call that were not used before, by as many persons as it needs; undefined if there are too few. */
  useApproval(call: ApprovedCall): string | undefined {
    const { attempt, effect } = call;
    const needed = attempt.tool === effect.tool && this.twoPersons.has(effect.machine) ? 2 : 1;
    const requests = Map.groupBy(
      this.approvals.filter((approval) => isFor(approval, call) && !hasEnded(approval, attempt)),
      ({ id }) => id,
    );
    for (const [id, approvals] of requests) {
      if (new Set(approvals.map(({ person }) => person)).size < needed || this.#isOver(approvals, call)) continue;
      for (const approval of approvals) use(approval, call);
      return id;
    }
    return undefined;
  }

  /** Returns whether approvals of one request can be used no more. Their end is known only as well as the clock of the hub. */
  #isOver(approvals: readonly GivenApproval[], { effect, attempt }: ApprovedCall): boolean {
    const answeredMs = Math.max(...approvals.map((approval) => approval.answeredMs ?? Number.POSITIVE_INFINITY));
    const lastsMs = approvals.some(({ hourOf }) => hourOf !== undefined) ? HOUR_MS : USABLE_MS;
    const isClockRight = (this.wrongClocks.get(effect.machine) ?? Number.NEGATIVE_INFINITY) < answeredMs - lastsMs;
    return isClockRight && effect.atMs > answeredMs + lastsMs + attempt.timeoutMs;
  }
}

/** Returns whether an approval had ended before a call came. One that was let through before may act after that. */
function hasEnded({ endedMs = Number.POSITIVE_INFINITY }: GivenApproval, { arrivedMs = 0 }: Attempt): boolean {
  return arrivedMs > endedMs;
}

/** An approval serves one call, which has one trace. */
function use(approval: GivenApproval, call: ApprovedCall): void {
  const step = approval.steps?.find((one) => isNext(one, call));
  if (step) step.isDone = true;
  approval.usedBy = call.attempt.trace;
}

function isFor({ machine, agent, tool, params, steps, job, usedBy, hourOf }: GivenApproval, call: ApprovedCall): boolean {
  const { attempt, effect } = call;
  const isSameCall = machine === effect.machine && tool === attempt.tool && params === attempt.params && agent === call.agent;
  const isForJob = job === undefined || (attempt.waits && (attempt.jobId ?? job) === job);
  const isUnused = steps ? (usedBy ?? attempt.trace) === attempt.trace && steps.some((step) => isNext(step, call)) : usedBy === undefined;
  const isOfHour = hourOf !== undefined && hourOf === attempt.token.id;
  return isSameCall && ((isForJob && isUnused) || isOfHour);
}

function isNext({ isDone, tool, params }: ShownStep, { effect }: ApprovedCall): boolean {
  return !isDone && tool === effect.tool && params === effect.params;
}

function doneKey({ agent, key, tool, params }: Attempt): string {
  return JSON.stringify([agent, key, tool, params]);
}
