import { randomUUID } from 'node:crypto';
import type { Authorizer } from '../core/auth/authorizer.ts';
import type { Principal } from '../core/auth/principal.ts';
import type { TokenAuthority } from '../core/auth/tokens.ts';
import { type ErrorBody, toAtmoError } from '../core/errors.ts';
import { parseSensorId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { type AgentRecord, type AgentStore, isLiving } from './agent-store.ts';
import { canObserve } from './automation-access.ts';
import type { AutomationPlan, Condition, ReadingCondition, TimeCondition, Trigger } from './automation-config.ts';
import { DeviceEventWatch, ReachabilityWatch } from './device-watch.ts';
import { localTimeAt, minutesOf } from './local-time.ts';
import { ReadingWatch, readingMatches } from './reading-watch.ts';
import { type Run, type RunOutcome, type RunPorts, runActions } from './run-actions.ts';
import { IntervalWatch, TimeWatch } from './time-watch.ts';
import type { Fire, Firing, Watch, WatchPorts } from './trigger-watch.ts';

/** A trigger that has to wait longer, for the run before or for the cooldown, is dropped: nothing runs late. */
const MAX_WAIT_MS = 60_000;
/** Failed runs in a row after which an automation rests, and for how long. */
const MAX_FAILURES = 5;
const REST_MS = 3_600_000;

/** Whom an automation works with. */
export interface AutomationPorts extends WatchPorts, RunPorts {
  readonly book: AgentStore;
  readonly tokens: Pick<TokenAuthority, 'principalOf'>;
  readonly authorizer: Authorizer;
  readonly logger: Logger;
  /** Told when the token turns out to have ended. */
  readonly onTokenEnded: (id: string, code: ErrorBody['code'], message: string) => void;
}

/** One automation at work: watches its triggers and runs its actions, one run at a time, with the rights of its own token. */
export class Automation {
  readonly #ports: AutomationPorts;
  readonly #id: string;
  readonly #gate = new RunRateLimit();
  readonly #abort = new AbortController();
  #plan: AutomationPlan;
  #watches: readonly Watch[] = [];
  /** The latest trigger that waits. */
  #waiting: Firing | undefined;
  #cancelWait: (() => void) | undefined;
  #run: Promise<void> | undefined;

  constructor(ports: AutomationPorts, id: string, plan: AutomationPlan) {
    this.#ports = ports;
    this.#id = id;
    this.#plan = plan;
  }

  start(): void {
    this.#watches = this.#plan.triggers.map((trigger) => createWatch(trigger, this.#ports, (firing) => this.#offer(firing)));
    for (const watch of this.#watches) watch.start();
  }

  /** The same automation with other values of its parameters. */
  update(plan: AutomationPlan): void {
    this.#plan = plan;
    for (const [index, watch] of this.#watches.entries()) {
      const trigger = plan.triggers[index];
      if (trigger) watch.update(trigger);
    }
  }

  /** No trigger counts any more, and a running call is given up; resolves when the run has ended. */
  async stop(): Promise<void> {
    for (const watch of this.#watches) watch.stop();
    this.#watches = [];
    this.#cancelWait?.();
    this.#waiting = undefined;
    this.#abort.abort();
    await this.#run;
  }

  #offer(firing: Firing): void {
    this.#waiting = firing;
    this.#next();
  }

  #next(): void {
    const firing = this.#waiting;
    if (!firing || this.#run || this.#abort.signal.aborted) return;
    const { clock } = this.#ports;
    this.#cancelWait?.();
    const waitMs = this.#gate.waitMs(clock.monotonic(), this.#plan);
    const isLate = clock.monotonic() + waitMs - firing.atMs > MAX_WAIT_MS;
    if (waitMs > 0 && !isLate) {
      this.#cancelWait = clock.after(waitMs, () => this.#next());
      return;
    }
    this.#waiting = undefined;
    if (waitMs === Infinity) this.#tellLimit();
    if (isLate || !firing.holds()) return;
    this.#run = this.#perform(firing).finally(() => {
      this.#run = undefined;
      this.#next();
    });
  }

  /** Never rejects: what goes wrong is kept with the agent. */
  async #perform(firing: Firing): Promise<void> {
    const { book, clock, logger } = this.#ports;
    try {
      const record = book.get(this.#id);
      if (!record || !isLiving(record) || (record.restsUntilMs ?? 0) > clock.now()) return;
      const principal = this.#principal(record);
      if (!principal || !this.#isCalledFor(firing, principal)) return;
      const runId = randomUUID();
      this.#gate.started(clock.monotonic());
      // On the disk before anything happens: after a crash in the middle this run is not begun again.
      book.put({ ...record, running: { runId, startedAtMs: clock.now() } });
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

  /** Rights, devices in groups and readings are looked at as they are now, not as they were when it was spawned. */
  #isCalledFor({ trigger }: Firing, principal: Principal): boolean {
    const { conditions } = this.#plan;
    if (![trigger, ...conditions].every((about) => canObserve(about, principal, this.#ports.authorizer))) {
      this.#note('PERMISSION_DENIED', 'Its permissions no longer show it what it is set off by or looks at');
      return false;
    }
    return conditionsHold(conditions, this.#ports);
  }

  #finish({ isStopped, error }: RunOutcome): void {
    const { book, clock, logger } = this.#ports;
    const before = book.get(this.#id);
    if (!before || !isLiving(before)) return;
    const { running, restsUntilMs: _, ...rest } = before;
    const isOurStop = error?.code === 'SHUTTING_DOWN' || this.#abort.signal.aborted;
    const failures = isOurStop ? before.failures : isStopped ? before.failures + 1 : 0;
    const isFailing = failures >= MAX_FAILURES;
    const restsUntilMs = clock.now() + REST_MS;
    if (isFailing) logger.warn('agent.failing', { agent_id: this.#id, code: error?.code ?? '', rests_ms: REST_MS });
    book.put({
      ...rest,
      status: isFailing ? 'failing' : 'active',
      runs: before.runs + 1,
      failures,
      lastRunAtMs: running?.startedAtMs ?? clock.now(),
      ...(isFailing && { restsUntilMs }),
      ...(error && { lastError: { ...error, atMs: clock.now() } }),
    });
  }

  /** Told once for each hour that was too full, not for each trigger. */
  #tellLimit(): void {
    const lastError = this.#ports.book.get(this.#id)?.lastError;
    if (lastError?.code === 'RATE_LIMITED') return;
    this.#note('RATE_LIMITED', `It ran ${this.#plan.maxRunsPerHour} times within an hour (max_runs_per_hour): triggers are dropped`);
  }

  #note(code: ErrorBody['code'], message: string): void {
    const { book, clock } = this.#ports;
    const record = book.get(this.#id);
    if (!record || !isLiving(record) || record.lastError?.message === message) return;
    book.put({ ...record, lastError: { code, message, atMs: clock.now() } });
  }
}

const HOUR_MS = 3_600_000;

interface GateLimits {
  readonly cooldownMs: number;
  readonly maxRunsPerHour: number;
}

/** How soon an automation may run again; times are those of a clock that never jumps. */
class RunRateLimit {
  #starts: number[] = [];

  /** Milliseconds until a run may start; infinite when this hour has had all of its runs. */
  waitMs(nowMs: number, { cooldownMs, maxRunsPerHour }: GateLimits): number {
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

/** Do all conditions hold now? A reading that is unknown, too old or of a device that does not answer holds nothing. */
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

/** The watch of a trigger's type; it does nothing before it is started. */
function createWatch(trigger: Trigger, ports: WatchPorts, fire: Fire): Watch {
  switch (trigger.type) {
    case 'reading':
      return new ReadingWatch(ports, trigger, fire);
    case 'device_event':
      return new DeviceEventWatch(ports, trigger, fire);
    case 'reachability':
      return new ReachabilityWatch(ports, trigger, fire);
    case 'time':
      return new TimeWatch(ports, trigger, fire);
    case 'every':
      return new IntervalWatch(ports, trigger, fire);
  }
}
