import { randomUUID } from 'node:crypto';
import type { Authorizer, Principal, TokenAuthority } from '../core/auth/principal.ts';
import { parseSensorId } from '../core/devices/device-names.ts';
import { type ErrorBody, toAtmoError } from '../core/errors.ts';
import { localTimeAt, minutesOf } from '../core/local-time.ts';
import type { Logger } from '../core/logger.ts';
import { type AgentRecord, type AgentStore, isLiving } from './agent-store.ts';
import { canObserve } from './automation-access.ts';
import type { AutomationPlan, Condition, ReadingCondition, TimeCondition, Trigger } from './automation-schema.ts';
import { type Run, type RunOutcome, type RunPorts, runActions } from './run-actions.ts';
import {
  DeviceEventWatch,
  type Firing,
  IntervalWatch,
  ReachabilityWatch,
  ReadingWatch,
  readingMatches,
  TimeWatch,
  type Watch,
  type WatchPorts,
} from './trigger-watch.ts';

/** Maximum milliseconds that a firing waits for the previous run or the cooldown. A firing that would have to wait longer is dropped. */
const MAX_WAIT_MS = 60_000;
/** Number of failed runs in a row after which an automation pauses. */
const MAX_FAILURES = 5;
const REST_MS = 3_600_000;

/** The parts of the hub that an automation uses. */
export interface AutomationPorts extends WatchPorts, RunPorts {
  readonly agents: AgentStore;
  readonly tokens: Pick<TokenAuthority, 'principalOf'>;
  readonly authorizer: Authorizer;
  readonly logger: Logger;
  /** Called when a run finds that the agent's token has expired or was revoked. */
  readonly onTokenEnded: (id: string, code: ErrorBody['code'], message: string) => void;
}

/** Watches the triggers of one automation and runs its actions, one run at a time, with the permissions of its token. */
export class Automation {
  readonly #ports: AutomationPorts;
  readonly #id: string;
  readonly #rateLimit = new RunRateLimit();
  readonly #abort = new AbortController();
  #plan: AutomationPlan;
  #watches: readonly Watch[] = [];
  /** The latest firing that waits for its run. */
  #waiting: Firing | undefined;
  #cancelWait: (() => void) | undefined;
  #run: Promise<void> | undefined;

  constructor(ports: AutomationPorts, id: string, plan: AutomationPlan) {
    this.#ports = ports;
    this.#id = id;
    this.#plan = plan;
  }

  start(): void {
    this.#watches = this.#plan.triggers.map((trigger) => createWatch(trigger, this.#ports, (firing) => this.#onFiring(firing)));
    for (const watch of this.#watches) watch.start();
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
    const due = this.#watches.map(({ dueMs }) => dueMs).filter((dueMs) => dueMs !== undefined);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** Stops the watches and aborts a running call; resolves when the run has ended. */
  async stop(): Promise<void> {
    for (const watch of this.#watches) watch.stop();
    this.#watches = [];
    this.#cancelWait?.();
    this.#waiting = undefined;
    this.#abort.abort();
    await this.#run;
  }

  #onFiring(firing: Firing): void {
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
    if (waitMs === Infinity) this.#noteRateLimit();
    if (isLate || !firing.holds()) return;
    this.#run = this.#perform(firing).finally(() => {
      this.#run = undefined;
      this.#startWaitingRun();
    });
  }

  /** Runs the actions. Never rejects: errors are stored in the agent's record. */
  async #perform(firing: Firing): Promise<void> {
    const { agents, clock, logger } = this.#ports;
    try {
      const record = agents.get(this.#id);
      if (!record || !isLiving(record) || record.disabled || (record.restsUntilMs ?? 0) > clock.now()) return;
      const principal = this.#principal(record);
      if (!principal || !this.#shouldRun(firing, principal)) return;
      const runId = randomUUID();
      this.#rateLimit.started(clock.monotonic());
      // The run is on the disk before its first action, so that a run which a crash interrupts is not repeated.
      agents.put({ ...record, running: { runId, startedAtMs: clock.now() } });
      const run = { id: runId, principal, facts: firing.facts, signal: this.#abort.signal };
      this.#finish(await this.#outcomeOf(run));
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      logger.warn('agent.run_failed', { agent_id: this.#id, code, problem: message });
    }
  }

  async #outcomeOf(run: Run): Promise<RunOutcome> {
    try {
      return await runActions(this.#plan.actions, run, this.#ports);
    } catch (thrown) {
      return { isStopped: true, error: toAtmoError(thrown).toBody() };
    }
  }

  #principal({ token }: AgentRecord): Principal | undefined {
    if (token === undefined) return undefined;
    try {
      return this.#ports.tokens.principalOf(token);
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      this.#ports.onTokenEnded(this.#id, code, message);
      return undefined;
    }
  }

  /** Returns whether a run may start: the agent may still observe the trigger and the conditions, and the conditions hold now. */
  #shouldRun({ trigger }: Firing, principal: Principal): boolean {
    const { conditions } = this.#plan;
    if (![trigger, ...conditions].every((about) => canObserve(about, principal, this.#ports.authorizer))) {
      this.#note('PERMISSION_DENIED', 'Its permissions no longer show it what it is set off by or looks at');
      return false;
    }
    return conditionsHold(conditions, this.#ports);
  }

  #finish({ isStopped, error }: RunOutcome): void {
    const { agents, clock, logger } = this.#ports;
    const before = agents.get(this.#id);
    if (!before || !isLiving(before)) return;
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

const HOUR_MS = 3_600_000;

/** Computes how soon an automation may run again. All times are by the monotonic clock. */
class RunRateLimit {
  #starts: number[] = [];

  /** Returns the milliseconds until a run may start; Infinity if the maximum number of runs in the last hour is reached. */
  waitMs(nowMs: number, { cooldownMs, maxRunsPerHour }: AutomationPlan): number {
    this.#starts = this.#starts.filter((startMs) => nowMs - startMs < HOUR_MS);
    if (this.#starts.length >= maxRunsPerHour) return Infinity;
    const lastMs = this.#starts.at(-1);
    return lastMs === undefined ? 0 : Math.max(0, lastMs + cooldownMs - nowMs);
  }

  started(nowMs: number): void {
    this.#starts.push(nowMs);
  }
}

type ConditionPorts = Pick<WatchPorts, 'clock' | 'readings' | 'timeZone'>;

/** Returns whether all conditions hold now. A condition fails if its reading is unknown or too old, or its device is unreachable. */
function conditionsHold(conditions: readonly Condition[], ports: ConditionPorts): boolean {
  return conditions.every((condition) => (condition.type === 'reading' ? readingHolds(condition, ports) : timeHolds(condition, ports)));
}

function readingHolds(condition: ReadingCondition, { clock, readings }: ConditionPorts): boolean {
  const reading = readings.current(parseSensorId(condition.sensor_id));
  if (!reading || reading.value === null || reading.reachability !== 'reachable') return false;
  const maxAgeMs = (condition.max_age_seconds ?? Infinity) * 1000;
  return clock.now() - reading.atMs <= maxAgeMs && readingMatches(condition, reading.value);
}

function timeHolds(condition: TimeCondition, { clock, timeZone }: ConditionPorts): boolean {
  const { day, minutes } = localTimeAt(clock.now(), condition.time_zone ?? timeZone);
  if (condition.days && !condition.days.includes(day)) return false;
  const from = minutesOf(condition.after ?? '00:00');
  const to = condition.before === undefined ? 24 * 60 : minutesOf(condition.before);
  return from < to ? minutes >= from && minutes < to : minutes >= from || minutes < to;
}

/** Returns a watch for the trigger; the caller has to start it. */
function createWatch(trigger: Trigger, ports: WatchPorts, onFiring: (firing: Firing) => void): Watch {
  switch (trigger.type) {
    case 'reading':
      return new ReadingWatch(ports, trigger, onFiring);
    case 'device_event':
      return new DeviceEventWatch(ports, trigger, onFiring);
    case 'reachability':
      return new ReachabilityWatch(ports, trigger, onFiring);
    case 'time':
      return new TimeWatch(ports, trigger, onFiring);
    case 'every':
      return new IntervalWatch(ports, trigger, onFiring);
  }
}
