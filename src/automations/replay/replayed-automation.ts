import type { CallAnswer, CallRequest, ToolCaller } from '../../calls/request-and-answer.ts';
import type { Principal } from '../../core/auth/principal.ts';
import type { EventType } from '../../core/events.ts';
import { silentLogger } from '../../core/logger.ts';
import type { Question } from '../../core/questions.ts';
import type { AgentRecord, AgentStore } from '../agent-store.ts';
import { Automation, type AutomationPorts } from '../automation.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
import { RunRateLimit } from '../run/run-rate-limit.ts';
import type { Tracer } from '../traces/automation-tracer.ts';
import { EventIndex, type Firing } from '../triggers/watch.ts';
import type { PastClock } from './past-clock.ts';
import type { PastHome } from './past-home.ts';

/** A run that the automation would have had, with the calls that it would have made. Times are in milliseconds since 1970. */
export interface PastRun {
  readonly atMs: number;
  readonly firing: Firing;
  readonly calls: CallRequest[];
}

/** What is played, and in which past. */
interface Played {
  readonly plan: AutomationPlan;
  readonly principal: Principal;
  readonly clock: PastClock;
  readonly home: PastHome;
  readonly timeZone: string;
  /** Called when a run begins. */
  readonly onRun: (run: PastRun) => void;
}

/** Most calls of one run that are kept. */
const MAX_CALLS = 20;

/**
 * Plays an automation in the past: the same watches, conditions, waits and limits as of one that lives. Its calls go nowhere and count as done.
 * What it may look at was checked before, so that it is not asked for at each run.
 */
export class ReplayedAutomation {
  readonly #played: Played;
  readonly #index: EventIndex;
  readonly #ports: AutomationPorts;
  #record: AgentRecord;
  #run: PastRun | undefined;
  #automation: Automation | undefined;

  constructor(played: Played) {
    this.#played = played;
    this.#record = recordOf(played);
    this.#index = new EventIndex(played.home.bus);
    this.#ports = this.#portsOf(played);
  }

  /** Starts it, as at a start of the hub. A run that waited goes on. */
  start(): void {
    const { plan, principal } = this.#played;
    const { running, ...rest } = this.#record;
    if (!running?.waiting) this.#record = rest;
    this.#automation = new Automation(this.#ports, principal.id, plan);
    this.#automation.start();
    if (running?.waiting) this.#automation.resume(running.waiting);
  }

  /** Stops it, as the hub does when it stops. */
  async stop(): Promise<void> {
    await this.#automation?.suspend();
    this.#automation = undefined;
  }

  /** Starts it again, as at a start of the hub. */
  async restart(): Promise<void> {
    await this.stop();
    this.start();
    this.#automation?.deliver({ type: 'hub_start' });
  }

  /** Returns whether a trigger or a wait waits for events of a type about a subject. */
  isAwaiting(type: EventType, subject: string): boolean {
    return this.#index.isAwaited(type, subject);
  }

  /** True while nothing runs, so that nothing more happens at this moment. */
  get isIdle(): boolean {
    return this.#automation?.isIdle ?? true;
  }

  #onRun(firing: Firing): void {
    this.#run = { atMs: this.#played.clock.now(), firing, calls: [] };
    this.#played.onRun(this.#run);
  }

  async #call(request: CallRequest): Promise<CallAnswer> {
    if (this.#run && this.#run.calls.length < MAX_CALLS) this.#run.calls.push(request);
    return { ...DONE, trace_id: request.traceId ?? '' };
  }

  #portsOf({ principal, clock, home, timeZone }: Played): AutomationPorts {
    const agents: Pick<AgentStore, 'get' | 'put'> = {
      get: () => this.#record,
      put: (record) => {
        this.#record = record;
      },
    };
    const pipeline: Pick<ToolCaller, 'call'> = { call: (request) => this.#call(request) };
    // A replay counts the runs and leaves no traces.
    const nothing = () => {};
    const tracer: Tracer = { missed: nothing, noRun: nothing, unmet: nothing, began: (firing) => this.#onRun(firing), ended: nothing };
    return {
      clock,
      timeZone,
      agents,
      pipeline,
      events: home.bus,
      index: this.#index,
      readings: home.readings,
      devices: home.devices,
      house: home.house,
      time: { isTrusted: () => true },
      tokens: { principalOf: () => principal },
      logger: silentLogger,
      canObserveAll: () => true,
      tracerOf: () => tracer,
      rateLimitOf: () => new RunRateLimit(clock, this.#record.recentRuns),
      questions: { get: () => UNANSWERED, end: () => undefined, onEnd: () => () => {} },
      onTokenEnded: () => {},
    };
  }
}

/** Every question of the past: nobody answers it. */
const UNANSWERED: Question = { id: '', agentId: '', persons: [], text: '', answers: [], atMs: 0, untilMs: Infinity };

/** The answer to each call: nothing was done, and it counts as done. */
const DONE = {
  id: '',
  request_id: '',
  timestamp: '',
  execution: { node_id: '', duration_ms: 0, hops: 0 },
  response_hash: '',
  status: 'success',
  result: {},
} as const;

function recordOf({ principal, clock }: Played): AgentRecord {
  return {
    id: principal.id,
    type: 'automation',
    name: principal.id,
    status: 'active',
    createdAtMs: clock.now(),
    expiresAtMs: Infinity,
    tokenId: '',
    chain: [],
    permissions: principal.permissions,
    token: '',
    config: {},
    runs: 0,
    failures: 0,
  };
}
