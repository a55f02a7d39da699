import { randomUUID } from 'node:crypto';
import { isNotYetValid, type Principal, type TokenAuthority } from '../core/auth/principal.ts';
import { isoTime, pause } from '../core/clock.ts';
import { AtmoError, type ErrorBody, toAtmoError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { type AgentRecord, type AgentStore, authorsOf, isLiving, type RunProgress, type WaitingRun } from './agent-store.ts';
import type { ComingRuns } from './automation-ports.ts';
import type { AutomationPlan } from './plan/plan-schema.ts';
import type { Trigger } from './plan/trigger-schema.ts';
import { conditionsHold } from './run/condition-check.ts';
import { RunLog, type RunWait, SaveBudget } from './run/run-log.ts';
import { RunNotes, type RunOutcome, type WaitingStep } from './run/run-notes.ts';
import type { RunRateLimit } from './run/run-rate-limit.ts';
import { type Run, type RunPorts, runSteps, TRUST_LIMIT_MS, TRUST_POLL_MS, timeNotKnown } from './run/run-steps.ts';
import { unmetConditions } from './run/unmet-conditions.ts';
import type { EndedRun, Tracer } from './traces/automation-tracer.ts';
import { createWatch } from './triggers/create-watch.ts';
import type { Delivery, Firing, Watch, WatchListener, WatchPorts } from './triggers/watch.ts';

/** Maximum milliseconds that a firing waits for the previous run or the cooldown. A firing that would have to wait longer is dropped. */
const MAX_WAIT_MS = 60_000;
/** Number of failed runs in a row after which an automation pauses. */
const MAX_FAILURES = 5;
const REST_MS = 3_600_000;
const NOT_OBSERVABLE = 'Its permissions no longer show it what it is set off by or looks at';

/** The parts of the hub that an automation uses. */
export interface AutomationPorts extends WatchPorts, RunPorts {
  readonly agents: Pick<AgentStore, 'get' | 'put'>;
  readonly tokens: Pick<TokenAuthority, 'principalOf'>;
  readonly logger: Logger;
  /** Returns whether a principal may observe all that a plan looks at now. */
  readonly canObserveAll: (plan: AutomationPlan, principal: Principal) => boolean;
  /** Returns what notes the triggers and runs of an automation. */
  readonly tracerOf: (id: string) => Tracer;
  /** Returns the limit of the runs of an automation, which goes on when the automation is edited or disabled. */
  readonly rateLimitOf: (id: string) => RunRateLimit;
  /** Called when a run finds that the agent's token has expired or was revoked. */
  readonly onTokenEnded: (id: string, code: ErrorBody['code'], message: string) => void;
}

/** A run that begins or goes on. */
interface BegunRun extends Pick<WaitingRun, 'facts'>, Partial<Pick<WaitingRun, 'progress'>> {
  readonly id: string;
  readonly principal: Principal;
  /** Undefined if the run goes on after a restart. */
  readonly trigger: Trigger | undefined;
}

/** Watches the triggers of one automation and runs its actions, one run at a time, with the permissions of its token. */
export class Automation {
  readonly #ports: AutomationPorts;
  readonly #id: string;
  readonly #rateLimit: RunRateLimit;
  readonly #abort = new AbortController();
  readonly #tracer: Tracer;
  readonly #saves: SaveBudget;
  #plan: AutomationPlan;
  #watches: readonly Watch[] = [];
  /** The latest firing that waits for its run. */
  #waiting: Firing | undefined;
  #cancelWait: (() => void) | undefined;
  #run: Promise<void> | undefined;
  #log: RunLog | undefined;
  #notes: RunNotes | undefined;
  #isSuspended = false;
  /** True if the run that this object gives up goes on later. */
  #isKept = false;

  constructor(ports: AutomationPorts, id: string, plan: AutomationPlan) {
    this.#ports = ports;
    this.#id = id;
    this.#plan = plan;
    this.#tracer = ports.tracerOf(id);
    this.#saves = new SaveBudget(ports.clock);
    this.#rateLimit = ports.rateLimitOf(id);
  }

  /** True while no run is in progress, not even one that only checks its conditions. */
  get isIdle(): boolean {
    return this.#run === undefined;
  }

  start(): void {
    const listener: WatchListener = {
      onFiring: (firing) => this.#onFiring(firing),
      onMiss: (trigger, miss) => this.#tracer.missed(trigger, miss),
    };
    this.#watches = this.#plan.triggers.map((trigger) => createWatch(trigger, this.#ports, listener));
    const { lastRunAtMs = 0, running } = this.#ports.agents.get(this.#id) ?? {};
    for (const watch of this.#watches) watch.start(Math.max(lastRunAtMs, running?.startedAtMs ?? 0));
  }

  /** Goes on with a run that waited when the hub stopped. */
  resume(waiting: WaitingRun): void {
    this.#begin(() => this.#resumeRun(waiting));
  }

  /** Passes on what happens to this automation alone. Returns whether a trigger waits for it. */
  deliver(delivery: Delivery): boolean {
    return this.#watches.filter((watch) => watch.deliver(delivery)).length > 0;
  }

  update(plan: AutomationPlan): void {
    this.#plan = plan;
    for (const [index, watch] of this.#watches.entries()) {
      const trigger = plan.triggers[index];
      if (trigger) watch.update(trigger);
    }
  }

  /** Returns when a trigger by time fires next (milliseconds since 1970); undefined if the automation has no such trigger. */
  nextFiringMs(): number | undefined {
    const due = this.#dueByTrigger().filter((dueMs) => dueMs !== undefined);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** Returns what it will do by the time alone. */
  coming(): ComingRuns {
    const beginOf = (firedMs: number) => this.#beginOf(firedMs);
    return { due: this.#dueByTrigger(), beginOf, isRunning: this.#run !== undefined, waits: this.#waits() };
  }

  /** Returns when each trigger fires next by the time alone (milliseconds since 1970), in their order; undefined for one that does not. */
  #dueByTrigger(): readonly (number | undefined)[] {
    return this.#watches.map(({ dueMs }) => dueMs);
  }

  #beginOf(firedMs: number): number | undefined {
    const { agents, clock } = this.#ports;
    const waitMs = this.#rateLimit.waitMs(clock.monotonic() + firedMs - clock.now(), this.#plan);
    const { restsUntilMs = 0 } = agents.get(this.#id) ?? {};
    const isResting = rests(restsUntilMs, clock.now()) && firedMs + waitMs < restsUntilMs;
    return waitMs > MAX_WAIT_MS || isResting ? undefined : firedMs + waitMs;
  }

  /** Returns the waits of the run in progress, with the step that waits and when it ends at the latest. */
  #waits(): readonly RunWait[] {
    if (!this.#run) return [];
    const { waiting } = this.#notes ?? {};
    const approval: RunWait[] = waiting?.awaits === 'approval' ? [{ path: waiting.step, dueMs: Infinity, isCall: true }] : [];
    return [...(this.#log?.waits() ?? []), ...approval];
  }

  /** Returns the step of the run in progress that waits for people to approve it or to answer; undefined if none does. */
  waitingStep(): WaitingStep | undefined {
    return this.#run && this.#notes?.waiting;
  }

  /** Stops as `stop` does, but leaves a run that waits on the disk: it goes on after a restart of the hub. */
  async suspend(): Promise<void> {
    this.#isSuspended = true;
    this.#log?.flush();
    this.#isKept = this.#ports.agents.get(this.#id)?.running?.waiting !== undefined;
    await this.stop();
  }

  /** Stops the watches and gives up the run; resolves when the run has ended. */
  async stop(): Promise<void> {
    for (const watch of this.#watches) watch.stop();
    this.#watches = [];
    this.#cancelWait?.();
    this.#waiting = undefined;
    this.#log?.close();
    this.#abort.abort();
    await this.#run;
  }

  #onFiring(firing: Firing): void {
    if (this.#waiting) this.#tracer.noRun(this.#waiting, 'superseded', { waited_for: this.#run ? 'previous_run' : 'cooldown' });
    this.#waiting = firing;
    this.#startWaitingRun();
  }

  #startWaitingRun(): void {
    const firing = this.#waiting;
    if (!firing || this.#run || this.#abort.signal.aborted) return;
    const { clock } = this.#ports;
    this.#cancelWait?.();
    const waitMs = this.#rateLimit.waitMs(clock.monotonic(), this.#plan);
    const isLate = clock.monotonic() + waitMs - firing.atMs > MAX_WAIT_MS;
    if (waitMs > 0 && !isLate) {
      this.#cancelWait = clock.after(waitMs, () => this.#startWaitingRun());
      return;
    }
    this.#waiting = undefined;
    if (isLate) this.#drop(firing, waitMs);
    else if (firing.holds()) this.#begin(() => this.#perform(firing));
    else this.#tracer.noRun(firing, 'no_longer_holds');
  }

  /** Drops a firing that would have to wait for too long. */
  #drop(firing: Firing, waitMs: number): void {
    const { cooldownMs, maxRunsPerHour } = this.#plan;
    if (waitMs === Infinity) this.#noteRateLimit();
    const waitedMs = this.#ports.clock.monotonic() - firing.atMs;
    if (waitMs === Infinity) this.#tracer.noRun(firing, 'rate_limit', { max_runs_per_hour: maxRunsPerHour });
    else if (waitedMs > MAX_WAIT_MS) this.#tracer.noRun(firing, 'previous_run', { waited_seconds: Math.round(waitedMs / 1000) });
    else this.#tracer.noRun(firing, 'cooldown', { cooldown_seconds: cooldownMs / 1000 });
  }

  /** Runs `work`, and then the latest firing that came meanwhile. Never rejects: errors are stored in the agent's record. */
  #begin(work: () => Promise<void>): void {
    const logged = async () => {
      try {
        await work();
      } catch (thrown) {
        const { code, message } = toAtmoError(thrown);
        this.#ports.logger.warn('agent.run_failed', { agent_id: this.#id, code, problem: message });
      }
    };
    this.#run = logged().finally(() => {
      this.#run = undefined;
      this.#startWaitingRun();
    });
  }

  async #perform(firing: Firing): Promise<void> {
    const record = this.#ports.agents.get(this.#id);
    if (!record || !isLiving(record) || record.disabled || this.#isResting(record, firing)) return;
    const principal = this.#principal(record);
    if (typeof principal === 'string') this.#tracer.noRun(firing, principal);
    if (typeof principal === 'string' || !this.#shouldRun(firing, principal)) return;
    const runId = randomUUID();
    this.#markRunning(record, runId, firing);
    this.#tracer.began(firing);
    await this.#runSteps({ id: runId, principal, facts: firing.facts, trigger: firing.trigger });
  }

  /** Writes the run to the disk before its first action, so that a run which a crash interrupts is not repeated. */
  #markRunning(record: AgentRecord, runId: string, firing: Firing): void {
    const { agents, clock, time } = this.#ports;
    try {
      agents.put({ ...record, recentRuns: this.#rateLimit.started(time), running: { runId, startedAtMs: clock.now() } });
    } catch (thrown) {
      this.#tracer.noRun(firing, 'disk_refused', { message: toAtmoError(thrown).message });
      throw thrown;
    }
  }

  #isResting({ restsUntilMs = 0, failures }: AgentRecord, firing: Firing): boolean {
    const isResting = rests(restsUntilMs, this.#ports.clock.now());
    if (isResting) this.#tracer.noRun(firing, 'resting', { until: isoTime(restsUntilMs), failures });
    return isResting;
  }

  /**
   * Goes on with a run. Waits for a while if the token cannot be used yet: the clock is behind, or the token is to be renewed and the time is not
   * trusted.
   */
  async #resumeRun({ facts, progress }: WaitingRun): Promise<void> {
    const { agents, clock } = this.#ports;
    const { running } = agents.get(this.#id) ?? {};
    if (!running) return;
    const beganMs = clock.monotonic();
    while (!this.#abort.signal.aborted && clock.monotonic() - beganMs < TRUST_LIMIT_MS) {
      const record = agents.get(this.#id);
      const principal = record && this.#principal(record);
      if (principal !== undefined && typeof principal !== 'string')
        return await this.#runSteps({ id: running.runId, principal, facts, progress, trigger: undefined });
      await pause(clock, TRUST_POLL_MS, this.#abort.signal);
    }
    const error = timeNotKnown(Math.min(...Object.values(progress.waits))).toBody();
    const outcome = { isStopped: true, flow: 'fail', error } as const;
    this.#end({ id: running.runId, startedMs: running.startedAtMs, trigger: undefined, facts, outcome, notes: new RunNotes() });
  }

  async #runSteps({ id, principal, facts, progress, trigger }: BegunRun): Promise<void> {
    const startedMs = this.#ports.agents.get(this.#id)?.running?.startedAtMs ?? this.#ports.clock.now();
    const log = new RunLog({ save: (saved) => this.#save(saved, facts), budget: this.#saves }, progress);
    const notes = new RunNotes();
    this.#log = log;
    this.#notes = notes;
    const { parameters } = this.#plan;
    const requireObservable = () => this.#requireObservable(principal);
    const run = { id, principal, facts, parameters, log, notes, signal: this.#abort.signal, requireObservable };
    const outcome = await this.#outcomeOf(run);
    this.#end({ id, startedMs, trigger, facts, outcome, notes });
  }

  /** Stores how a run ended, and leaves its trace, unless the run goes on after a restart of the hub. */
  #end(run: Omit<EndedRun, 'givenUp'>): void {
    if (this.#isKept) return;
    this.#finish(run.id, run.outcome);
    const givenUp = this.#abort.signal.aborted ? (this.#isSuspended ? 'hub_stopped' : 'stopped') : undefined;
    this.#tracer.ended({ ...run, ...(givenUp && { givenUp }) });
  }

  /**
   * Writes how far the run got while it only waits. If the disk refuses, the run waits on and does not go on after a restart. Throws
   * STORAGE_FAILED if that the run does more than wait cannot be written.
   */
  #save(progress: RunProgress | undefined, facts: WaitingRun['facts']): void {
    try {
      this.#saveProgress(progress, facts);
    } catch (thrown) {
      if (!progress) throw thrown;
      this.#ports.logger.warn('agent.wait_not_stored', { agent_id: this.#id, problem: toAtmoError(thrown).message });
    }
  }

  #saveProgress(progress: RunProgress | undefined, facts: WaitingRun['facts']): void {
    const { agents } = this.#ports;
    const record = agents.get(this.#id);
    if (!record?.running) return;
    const { waiting: _, ...running } = record.running;
    agents.put({ ...record, running: { ...running, ...(progress && { waiting: { facts, progress } }) } });
  }

  async #outcomeOf(run: Run): Promise<RunOutcome> {
    try {
      return await runSteps(this.#plan.actions, run, this.#ports);
    } catch (thrown) {
      return { isStopped: true, flow: 'fail', error: toAtmoError(thrown).toBody() };
    }
  }

  /** Returns as whom the automation acts, or why it cannot act now. A clock that is behind does not end it. */
  #principal(record: AgentRecord): Principal | 'token_ended' | 'clock_not_trusted' {
    const { token } = record;
    if (token === undefined) return 'token_ended';
    try {
      return { ...this.#ports.tokens.principalOf(token), authors: authorsOf(record, this.#ports.agents) };
    } catch (thrown) {
      const error = toAtmoError(thrown);
      if (isNotYetValid(error)) return 'clock_not_trusted';
      this.#ports.onTokenEnded(this.#id, error.code, error.message);
      return 'token_ended';
    }
  }

  /** Returns whether a run may start: the agent may still observe the trigger and the conditions, and the conditions hold now. */
  #shouldRun(firing: Firing, principal: Principal): boolean {
    if (!this.#ports.canObserveAll(this.#plan, principal)) {
      this.#note('PERMISSION_DENIED', NOT_OBSERVABLE);
      this.#tracer.noRun(firing, 'not_observable');
      return false;
    }
    const { conditions, parameters } = this.#plan;
    const values = { params: parameters, trigger: firing.facts, answers: {} };
    if (conditionsHold(conditions, values, this.#ports)) return true;
    this.#tracer.unmet(firing, () => unmetConditions(conditions, values, this.#ports));
    return false;
  }

  #requireObservable(principal: Principal): void {
    if (!this.#ports.canObserveAll(this.#plan, principal)) throw new AtmoError('PERMISSION_DENIED', NOT_OBSERVABLE);
  }

  /** Stores how a run ended. An edit, which gives the run up, has stored that already, and another run may have begun since. */
  #finish(runId: string, { isStopped, error }: RunOutcome): void {
    const { agents, clock, logger } = this.#ports;
    const before = agents.get(this.#id);
    if (!before || !isLiving(before) || before.running?.runId !== runId) return;
    const { running, restsUntilMs: _, ...rest } = before;
    const isOurStop = error?.code === 'SHUTTING_DOWN' || this.#abort.signal.aborted;
    const failures = isOurStop ? before.failures : isStopped ? before.failures + 1 : 0;
    const isFailing = failures >= MAX_FAILURES;
    const restsUntilMs = clock.now() + REST_MS;
    if (isFailing) logger.warn('agent.failing', { agent_id: this.#id, code: error?.code ?? '', rests_ms: REST_MS });
    agents.put({
      ...rest,
      status: isFailing ? 'failing' : 'active',
      runs: before.runs + 1,
      failures,
      lastRunAtMs: running?.startedAtMs ?? clock.now(),
      lastOutcome: isOurStop ? 'stopped' : isStopped ? 'failure' : 'success',
      ...(isFailing && { restsUntilMs }),
      ...(error && { lastError: { ...error, atMs: clock.now() } }),
    });
  }

  /** Records the rate limit as the last error, unless the last error already is the rate limit. */
  #noteRateLimit(): void {
    const lastError = this.#ports.agents.get(this.#id)?.lastError;
    if (lastError?.code === 'RATE_LIMITED') return;
    this.#note('RATE_LIMITED', `It ran ${this.#plan.maxRunsPerHour} times within an hour (max_runs_per_hour): triggers are dropped`);
  }

  #note(code: ErrorBody['code'], message: string): void {
    const { agents, clock } = this.#ports;
    const record = agents.get(this.#id);
    if (!record || !isLiving(record) || record.lastError?.message === message) return;
    agents.put({ ...record, lastError: { code, message, atMs: clock.now() } });
  }
}

/** Returns whether a rest goes on. One that would last longer than any does was begun before the clock was set back. */
function rests(restsUntilMs: number, nowMs: number): boolean {
  return restsUntilMs > nowMs && restsUntilMs - nowMs <= REST_MS + MAX_WAIT_MS;
}
