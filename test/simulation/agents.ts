import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { SimulatedClient } from './client.ts';
import { Draw } from './draw.ts';
import type { Attempt, GivenToken } from './ledger.ts';
import { DEVICE_KINDS, deviceTool } from './simulated-devices.ts';
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

type Call = Pick<Attempt, 'tool' | 'params' | 'key' | 'timeoutMs'> & { readonly entry: SimulatedMachine; readonly isJob: boolean };

/** An agent that calls tools of all hubs with the token that the owner of its home hub gave it. */
export class SimulatedAgent {
  readonly plan: AgentPlan;
  token: GivenToken | undefined;
  /** Tokens that were taken from this agent. A hostile one goes on to use them. */
  readonly formerTokens: GivenToken[] = [];
  readonly #world: World;
  readonly #client: SimulatedClient;
  readonly #draw: Draw;
  #calls = 0;
  #lastCall: Call | undefined;

  constructor(world: World, plan: AgentPlan) {
    this.plan = plan;
    this.#world = world;
    const process = new SimulatedProcess(world.queue, plan);
    this.#draw = new Draw(process.random);
    this.#client = new SimulatedClient(world.queue, process, this.#draw);
  }

  /** Calls tools until the world ends. */
  start(): void {
    this.#client.process.run(() => void this.#live());
  }

  async #live(): Promise<void> {
    for (;;) {
      await this.#client.pause(this.#draw.pause(BETWEEN_CALLS_MS));
      const { token } = this;
      if (!token || this.#world.isEnding) continue;
      if (this.plan.manner === 'hostile' && this.#draw.chance(0.6)) await this.#misbehave(token);
      else await this.#callUntilAnswered(this.#newCall(), token);
    }
  }

  #newCall(): Call {
    const machine = this.#draw.pick(this.#world.machines);
    const timeoutMs = Math.round(this.#draw.chance(0.3) ? this.#draw.between(200, 3_000) : 20_000);
    const entry = this.#draw.chance(0.8) ? this.plan.home : this.#draw.pick(this.#world.machines);
    this.#calls += 1;
    const params = canonicalJson({ value: this.#draw.index(100) });
    const call = {
      tool: deviceTool(this.#draw.pick(DEVICE_KINDS), machine.name),
      params,
      key: `${this.plan.name}-${this.#calls}`,
      timeoutMs,
      entry,
      isJob: this.#draw.chance(0.1),
    };
    this.#lastCall = call;
    return call;
  }

  async #callUntilAnswered(call: Call, token: GivenToken): Promise<void> {
    const isHurried = this.plan.manner === 'hurried';
    for (let tries = 1; tries <= TRIES; tries++) {
      const attempted = this.#attempt(call, { token });
      // Who is hurried repeats the call while the first one runs.
      if (isHurried && this.#draw.chance(0.5)) void this.#attempt(call, { token });
      const outcome = await attempted;
      if (!WORTH_REPEATING.has(outcome)) return;
      await this.#client.pause(this.#draw.pause(isHurried ? 500 : outcome === 'APPROVAL_REQUIRED' ? 60_000 : 10_000));
    }
  }

  /** Does something that no hub may let happen. */
  async #misbehave(token: GivenToken): Promise<void> {
    const call = this.#newCall();
    const former = this.formerTokens.at(-1);
    const deeds = [
      () => this.#attempt(call, { token: { ...token, text: forged(token.text, this.#draw) }, forbidden: 'the token was forged' }),
      () => this.#attempt(call, { token: { ...token, text: cut(token.text) }, forbidden: 'the token was cut' }),
      () => this.#attempt(call, { token: former ?? token }),
      () => this.#repeatChanged(token),
    ];
    await this.#draw.pick(deeds)();
  }

  /** Repeats the last call under its key, with other parameters. */
  async #repeatChanged(token: GivenToken): Promise<void> {
    const last = this.#lastCall;
    if (!last) return;
    await this.#attempt(last, { token });
    await this.#attempt({ ...last, params: canonicalJson({ value: 1_000 }) }, { token });
  }

  /** Cancels a job or asks for its end. */
  async #watchJob(id: string, { entry, attempt }: BegunJob): Promise<void> {
    const isCancelled = this.#draw.chance(0.3);
    await this.#client.pause(this.#draw.pause(isCancelled ? 200 : 2_000));
    const job = { path: `/api/v1/jobs/${id}`, token: attempt.token.text, timeoutMs: attempt.timeoutMs };
    const answer = await this.#client.send(entry, isCancelled ? { ...job, method: 'DELETE' } : job);
    if (answer) attempt.outcome = outcomeOf(answer);
    if (answer?.body.status === 'cancelled') attempt.cancelledMs = this.#world.queue.nowMs;
    this.#world.note(this.plan.name, `gets ${attempt.outcome} of ${id} for trace ${attempt.trace}`);
  }

  async #attempt(
    { entry, isJob, ...call }: Call,
    { token, forbidden }: { readonly token: GivenToken; readonly forbidden?: string },
  ): Promise<string> {
    const { ledger } = this.#world;
    const trace = this.#draw.hex(16);
    const attempt = ledger.begin({ ...call, trace, agent: this.plan.name, entry: entry.name, token, ...(forbidden && { forbidden }) });
    this.#world.note(this.plan.name, `calls ${call.tool} ${call.params} at ${entry.name}, key ${call.key}, trace ${trace}`);
    const answer = await this.#client.send(entry, {
      path: `/api/v1/tools/${encodeURIComponent(call.tool)}/invoke${isJob ? '?async=true' : ''}`,
      token: token.text,
      body: JSON.parse(call.params),
      headers: {
        traceparent: `00-${trace}-${this.#draw.hex(8)}-01`,
        'idempotency-key': call.key,
        'x-timeout-ms': String(call.timeoutMs),
      },
      timeoutMs: call.timeoutMs,
      ...(this.#draw.chance(0.05) && { leavesAfterMs: this.#draw.pause(800) }),
      onArrival: () => {
        attempt.arrivedMs = this.#world.queue.nowMs;
      },
      onLeft: () => {
        // A job goes on when its client leaves.
        if (!isJob) attempt.leftMs = this.#world.queue.nowMs;
      },
    });
    attempt.outcome = outcomeOf(answer);
    if (typeof answer?.body.job_id === 'string') await this.#watchJob(answer.body.job_id, { entry, attempt });
    this.#world.note(this.plan.name, `gets ${attempt.outcome} for trace ${trace}`);
    return attempt.outcome;
  }
}

/** A job that an agent has begun. */
interface BegunJob {
  readonly entry: SimulatedMachine;
  readonly attempt: Attempt;
}

function outcomeOf(answer: SimulatedAnswer | undefined): string {
  if (!answer) return 'lost';
  if (typeof answer.body.job_id === 'string') return `job ${answer.body.status}`;
  return answer.body.status === 'success' ? 'success' : (answer.body.error?.code ?? answer.body.code ?? `HTTP ${answer.status}`);
}

function forged(text: string, draw: Draw): string {
  const at = 4 + draw.index(text.length - 4);
  const other = text[at] === 'A' ? 'B' : 'A';
  return `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
}

function cut(text: string): string {
  return text.slice(0, text.lastIndexOf('.'));
}
