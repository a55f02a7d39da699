import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { SimulatedClient } from './client.ts';
import { DEVICE_KINDS, type DeviceKind, deviceTool, GUARDED } from './device-kinds.ts';
import { Draw } from './draw.ts';
import { checkAnswer } from './invariants/answer-invariants.ts';
import type { Attempt, GivenToken } from './ledger.ts';
import { misbehave } from './misdeeds.ts';
import type { SimulatedAnswer, SimulatedMachine } from './simulated-machine.ts';
import { SimulatedProcess } from './simulated-process.ts';
import type { World } from './world.ts';

/** How an agent behaves: it waits for answers, repeats calls at once, or does what it must not do. */
export const AGENT_MANNERS = ['honest', 'hurried', 'hostile'] as const;
export type AgentManner = (typeof AGENT_MANNERS)[number];

export interface AgentPlan {
  readonly name: string;
  readonly seed: number;
  readonly manner: AgentManner;
  readonly home: SimulatedMachine;
}

/** Mean time between the calls of an agent, in milliseconds. */
const BETWEEN_CALLS_MS = 90_000;
const TRIES = 4;
/** Ends of the answers with which an agent repeats a call. */
const WORTH_REPEATING = new Set(['lost', 'APPROVAL_REQUIRED', 'SERVICE_UNAVAILABLE', 'NODE_UNAVAILABLE', 'SHUTTING_DOWN', 'TIMEOUT']);

/** A call that an agent may attempt several times. */
export type Call = Pick<Attempt, 'tool' | 'params' | 'key' | 'timeoutMs' | 'waits'> & {
  readonly entry: SimulatedMachine;
  readonly isJob: boolean;
};

/** With what an agent calls. */
export interface Credential {
  readonly token: GivenToken;
  /** Why no hub may let the call have an effect. */
  readonly forbidden?: string;
}

/** An agent that calls tools of all hubs with the token that the owner of its home hub gave it. */
export class SimulatedAgent {
  readonly plan: AgentPlan;
  token: GivenToken | undefined;
  /** Tokens that were taken from this agent. A hostile one goes on to use them. */
  readonly formerTokens: GivenToken[] = [];
  /** The call that this agent made last. */
  lastCall: Call | undefined;
  readonly draw: Draw;
  readonly client: SimulatedClient;
  readonly #world: World;
  #calls = 0;

  constructor(world: World, plan: AgentPlan) {
    this.plan = plan;
    this.#world = world;
    const process = new SimulatedProcess(world.queue, plan);
    this.draw = new Draw(process.random);
    this.client = new SimulatedClient(world.queue, process, this.draw);
  }

  /** Calls tools until the world ends. */
  start(): void {
    this.client.process.run(() => void this.#live());
  }

  async #live(): Promise<void> {
    for (;;) {
      await this.client.pause(this.draw.pause(BETWEEN_CALLS_MS));
      const { token } = this;
      if (!token || this.#world.isEnding) continue;
      if (this.plan.manner === 'hostile' && this.draw.chance(0.6)) await misbehave(this, token);
      else await this.#callUntilAnswered(this.newCall(), token);
    }
  }

  /** A call that this agent has not made before, of a device of the kind on any machine. */
  newCall(kind: DeviceKind = this.draw.pick(DEVICE_KINDS)): Call {
    const machine = this.draw.pick(this.#world.machines);
    const timeoutMs = Math.round(this.draw.chance(0.3) ? this.draw.between(200, 3_000) : 20_000);
    const entry = this.draw.chance(0.8) ? this.plan.home : this.draw.pick(this.#world.machines);
    this.#calls += 1;
    const params = canonicalJson({ value: this.draw.index(100) });
    const isJob = this.draw.chance(kind === GUARDED ? 0.3 : 0.1);
    const call = {
      tool: deviceTool(kind, machine.name),
      params,
      key: `${this.plan.name}-${this.#calls}`,
      timeoutMs,
      entry,
      isJob,
      waits: isJob && kind === GUARDED && this.draw.chance(0.8),
    };
    this.lastCall = call;
    return call;
  }

  async #callUntilAnswered(call: Call, token: GivenToken): Promise<void> {
    const isHurried = this.plan.manner === 'hurried';
    for (let tries = 1; tries <= TRIES; tries++) {
      const attempted = this.attempt(call, { token });
      // Who is hurried repeats the call while the first one runs.
      if (isHurried && this.draw.chance(0.5)) void this.attempt(call, { token });
      const outcome = await attempted;
      if (!WORTH_REPEATING.has(outcome)) return;
      await this.client.pause(this.draw.pause(isHurried ? 500 : outcome === 'APPROVAL_REQUIRED' ? 60_000 : 10_000));
    }
  }

  /** Cancels a job or asks for its end. Who waits for people asks until the job has ended. */
  async #watchJob(id: string, { entry, attempt }: BegunJob): Promise<void> {
    const { waits } = attempt;
    const [meanMs, most] = waits ? [90_000, 8] : [2_000, 1];
    for (let looks = 1; looks <= most; looks++) {
      const isCancelled = this.draw.chance(waits ? 0.05 : 0.3);
      await this.client.pause(this.draw.pause(isCancelled ? meanMs / 10 : meanMs));
      const job = { path: `/api/v1/jobs/${id}`, token: attempt.token.text, timeoutMs: attempt.timeoutMs };
      const answer = await this.client.send(entry, isCancelled ? { ...job, method: 'DELETE' } : job);
      if (answer?.body.status === 'cancelled') attempt.cancelledMs = this.#world.queue.nowMs;
      // Any other answer is about the question, such as that the token has ended.
      if (typeof answer?.body.job_id === 'string') this.#answered(attempt, answer);
      if (!/^job (?:waiting|running|queued)/.test(attempt.outcome ?? '')) return;
    }
  }

  /** Keeps what an attempt has come to, and checks that it is true. */
  #answered(attempt: Attempt, answer: SimulatedAnswer | undefined): void {
    const outcome = outcomeOf(answer);
    attempt.outcome = outcome;
    this.#world.note(this.plan.name, `gets ${outcome} for trace ${attempt.trace} ${answer?.body.error?.message ?? ''}`.trimEnd());
    this.#world.guard(() => checkAnswer(this.#world.ledger, attempt));
  }

  /** Sends a call once. Returns `success`, the code of the error, or `lost`. */
  async attempt({ entry, isJob, ...call }: Call, { token, forbidden }: Credential): Promise<string> {
    const { ledger } = this.#world;
    const trace = this.draw.hex(16);
    const attempt = ledger.begin({ ...call, trace, agent: this.plan.name, entry: entry.name, token, ...(forbidden && { forbidden }) });
    this.#world.note(this.plan.name, `calls ${call.tool} ${call.params} at ${entry.name}, key ${call.key}, trace ${trace}`);
    const answer = await this.client.send(entry, {
      path: `/api/v1/tools/${encodeURIComponent(call.tool)}/invoke${isJob ? `?async=true${call.waits ? '&wait_for_approval=true' : ''}` : ''}`,
      token: token.text,
      body: JSON.parse(call.params),
      headers: {
        traceparent: `00-${trace}-${this.draw.hex(8)}-01`,
        'idempotency-key': call.key,
        'x-timeout-ms': String(call.timeoutMs),
      },
      timeoutMs: call.timeoutMs,
      ...(this.draw.chance(0.05) && { leavesAfterMs: this.draw.pause(800) }),
      onArrival: () => {
        attempt.arrivedMs = this.#world.queue.nowMs;
      },
      onLeft: () => {
        // A job goes on when its client leaves.
        if (!isJob) attempt.leftMs = this.#world.queue.nowMs;
      },
    });
    this.#answered(attempt, answer);
    const id = answer?.body.job_id;
    if (typeof id === 'string') {
      attempt.jobId = id;
      const watched = this.#watchJob(id, { entry, attempt });
      if (!attempt.waits) await watched;
    }
    return attempt.outcome ?? 'lost';
  }
}

/** A job that an agent has begun. */
interface BegunJob {
  readonly entry: SimulatedMachine;
  readonly attempt: Attempt;
}

function outcomeOf(answer: SimulatedAnswer | undefined): string {
  if (!answer) return 'lost';
  const { status, error, code, job_id: jobId } = answer.body;
  if (typeof jobId === 'string') return ['job', status, error?.code].filter((part) => part !== undefined).join(' ');
  return status === 'success' ? 'success' : (error?.code ?? code ?? `HTTP ${answer.status}`);
}
