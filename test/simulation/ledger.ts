import type { AutomationHistory } from './invariants/automation-invariants.ts';

/** A token that an agent has, as the owner gave it. */
export interface GivenToken {
  readonly id: string;
  readonly text: string;
  readonly agent: string;
  /** Machine whose hub issued it. */
  readonly issuer: string;
  readonly permissions: readonly string[];
  /** When the issuing hub answered that it is revoked, milliseconds of the world. */
  revokedMs?: number;
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
  readonly token: GivenToken;
  /** Why the call may not have any effect, if that is so from the begin. */
  readonly forbidden?: string;
  /** When the request reached the entry hub, and when that hub learned that the client has left. Milliseconds of the world. */
  arrivedMs?: number;
  leftMs?: number;
  /** When the agent got the answer that its job is cancelled. */
  cancelledMs?: number;
  /** `success`, an error code, or `lost` when no answer came. */
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
}

/** A person's approval that a hub has accepted. */
interface GivenApproval {
  readonly id: string;
  readonly machine: string;
  readonly agent: string;
  readonly tool: string;
  readonly params: string;
  isUsed: boolean;
}

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
  readonly #bans: Ban[] = [];

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

  /** A hub has lost the keys that it knew: what was called with them through this machine or on it may happen again. */
  forgetKeys(machine: string): void {
    for (const [key, { machine: acted, trace }] of this.firstEffects)
      if (acted === machine || this.attempts.get(trace)?.entry === machine) this.firstEffects.delete(key);
  }

  approve(approval: Omit<GivenApproval, 'isUsed'>): void {
    this.approvals.push({ ...approval, isUsed: false });
  }

  /** Takes an approval of exactly this call that was not used before; undefined if there is none. */
  useApproval(call: Pick<GivenApproval, 'machine' | 'agent' | 'tool' | 'params'>): string | undefined {
    const found = this.approvals.find(
      ({ isUsed, machine, agent, tool, params }) =>
        !isUsed && machine === call.machine && agent === call.agent && tool === call.tool && params === call.params,
    );
    if (found) found.isUsed = true;
    return found?.id;
  }
}
