import type { KeyObject } from 'node:crypto';
import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { toAtmoError } from '../../src/core/errors.ts';
import { type ProofRequest, signProof } from '../auth/tokens/sign-proof.ts';
import { ASKED_MS, type Sending, SimulatedClient } from './client.ts';
import { DEVICE_KINDS, type DeviceKind, deviceTool, GUARDED, routineTool } from './device-kinds.ts';
import type { Draw } from './draw.ts';
import { checkAnswer, checkNarrower } from './invariants/answer-invariants.ts';
import type { Attempt, GivenToken } from './ledger.ts';
import { misbehave } from './misdeeds.ts';
import type { SimulatedAnswer, SimulatedMachine } from './simulated-machine.ts';
import { narrowed } from './token-links.ts';
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
/** An agent makes a call so many times at most. */
const TRIES = 6;
/** Ends of the answers with which an agent repeats a call. */
const WORTH_REPEATING = new Set(['lost', 'APPROVAL_REQUIRED', 'SERVICE_UNAVAILABLE', 'NODE_UNAVAILABLE', 'SHUTTING_DOWN', 'TIMEOUT']);

/** A call that an agent may attempt several times. */
export type Call = Pick<Attempt, 'tool' | 'params' | 'key' | 'timeoutMs' | 'waits'> & {
  readonly entry: SimulatedMachine;
  readonly isJob: boolean;
  /** Whether the hub learns the key. Without one, the agent makes the call once. */
  readonly hasKey: boolean;
};

/** With what an agent calls. */
export interface Credential {
  readonly token: GivenToken;
  /** Why no hub may let the call have an effect. */
  readonly forbidden?: string;
  /** Takes the place of a proof that the agent has the key of the token. */
  readonly proof?: string;
}

type AgentRequest = Omit<Sending, 'token'> & { readonly token: GivenToken; readonly proof?: string };

/** An agent that calls tools of all hubs with the token that the owner of its home hub gave it. */
export class SimulatedAgent {
  readonly plan: AgentPlan;
  token: GivenToken | undefined;
  /** Another token that its owner gave it. */
  otherToken: GivenToken | undefined;
  /** Tokens that were taken from this agent. A hostile one goes on to use them. */
  readonly formerTokens: GivenToken[] = [];
  /** The call that this agent made last. */
  lastCall: Call | undefined;
  /** The proof of possession that this agent sent last. */
  lastProof: string | undefined;
  readonly draw: Draw;
  readonly client: SimulatedClient;
  readonly #world: World;
  #calls = 0;

  constructor(world: World, plan: AgentPlan) {
    this.plan = plan;
    this.#world = world;
    this.client = new SimulatedClient(world.queue, plan);
    this.draw = this.client.draw;
  }

  /** Calls tools until the world ends. */
  start(): void {
    this.client.process.run(() => void this.#live());
  }

  async #live(): Promise<void> {
    for (;;) {
      await this.rest(BETWEEN_CALLS_MS);
      const { token } = this;
      if (!token || this.#world.isEnding) continue;
      if (this.plan.manner === 'hostile' && this.draw.chance(0.6)) await misbehave(this, token);
      else await this.#callUntilAnswered(this.newCall(), await this.#credential(token));
    }
  }

  /** An agent calls with another token at times: a second one of its owner, or a narrower one from its hub or made with a key of its own. */
  async #credential(given: GivenToken): Promise<Credential> {
    const token = this.otherToken && this.draw.chance(0.3) ? this.otherToken : given;
    const { home } = this.plan;
    if (token.permissions.includes('admin:token') && this.draw.chance(0.4)) return { token: (await this.#mintHelper(token)) ?? token };
    const { key } = token;
    if (!key || !home.isRunning || this.draw.chance(0.4)) return { token };
    const { forbidden, ...made } = narrowed({ ...token, key }, home, this.draw);
    return { token: made, ...(forbidden !== undefined && { forbidden }) };
  }

  /** Asks the hub for a narrower token, or for one that is wider in some way, which no hub may give. */
  async #mintHelper(token: GivenToken): Promise<GivenToken | undefined> {
    const devices = DEVICE_KINDS.map((kind) => `${kind}:use`);
    const permissions = this.draw.chance(0.7) ? [this.draw.pick(token.permissions)] : devices;
    const asked = { agent_id: 'helper', permissions, ttl_seconds: Math.round(this.draw.between(60, 86_400)) };
    const begunMs = this.#world.queue.nowMs;
    const answer = await this.#send(this.plan.home, { token, path: '/api/v1/tools/mint_token/invoke', body: asked, timeoutMs: ASKED_MS });
    const { token: text, token_id: id, agent_id: agent, permissions: given, expires_at: end } = answer?.body.result ?? {};
    if (text === undefined) return undefined;
    const made = { id, text, agent, issuer: token.issuer, permissions: given, expiresMs: Date.parse(end), parent: token };
    this.#world.note(this.plan.name, `has the token ${id} of ${agent} for ${given} until ${end}`);
    this.#world.guard(() => checkNarrower(made, { permissions, begunMs }));
    return made;
  }

  /** Waits for a time that is so long in the mean at home, in milliseconds. */
  async rest(ms: number): Promise<void> {
    await this.client.pause(this.draw.pause(this.#world.paced(ms)));
  }

  /** A call that this agent has not made before, of a device of the kind on any machine. */
  newCall(kind: DeviceKind = this.draw.pick(DEVICE_KINDS)): Call {
    const machine = this.draw.pick(this.#world.machines);
    const timeoutMs = Math.round(this.draw.chance(0.3) ? this.draw.between(200, 3_000) : 20_000);
    const entry = this.draw.chance(0.8) ? this.plan.home : this.draw.pick(this.#world.machines);
    this.#calls += 1;
    const isRoutine = kind === GUARDED && this.draw.chance(0.3);
    // Some calls of the lock are the same, so that an answer which holds for an hour serves some.
    const params = isRoutine ? '{}' : canonicalJson({ value: kind === GUARDED && this.draw.chance(0.5) ? 1 : this.draw.index(100) });
    const isJob = this.draw.chance(kind === GUARDED ? 0.3 : 0.1);
    const call = {
      tool: isRoutine ? routineTool(machine.name) : deviceTool(kind, machine.name),
      params,
      key: `${this.plan.name}-${this.#calls}`,
      timeoutMs,
      entry,
      isJob,
      hasKey: this.draw.chance(0.8),
      waits: isJob && kind === GUARDED && this.draw.chance(0.8),
    };
    this.lastCall = call;
    return call;
  }

  async #callUntilAnswered(call: Call, credential: Credential): Promise<void> {
    const isHurried = this.plan.manner === 'hurried';
    for (let tries = 1; tries <= TRIES; tries++) {
      const attempted = this.attempt(call, credential);
      // Who is hurried repeats the call while the first one runs.
      if (isHurried && call.hasKey && this.draw.chance(0.5)) void this.attempt(call, credential);
      const outcome = await attempted;
      if (!WORTH_REPEATING.has(outcome) || !call.hasKey) return;
      await this.client.pause(this.draw.pause(isHurried ? 500 : outcome === 'APPROVAL_REQUIRED' ? this.#world.paced(60_000) : 10_000));
    }
  }

  /** Cancels a job or asks for its end. Who waits for people asks until the job has ended. */
  async #watchJob(id: string, { entry, attempt }: BegunJob): Promise<void> {
    const { waits } = attempt;
    const [meanMs, most] = waits ? [90_000, 8] : [2_000, 1];
    for (let looks = 1; looks <= most; looks++) {
      const isCancelled = this.draw.chance(waits ? 0.05 : 0.3);
      await this.client.pause(this.draw.pause(isCancelled ? meanMs / 10 : meanMs));
      const job = { path: `/api/v1/jobs/${id}`, timeoutMs: attempt.timeoutMs, ...(isCancelled && { method: 'DELETE' as const }) };
      const answer = await this.#send(entry, { ...job, token: attempt.token });
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

  /** Sends a request with a proof of the key to which the token is bound, if it is bound to one of the agent. */
  #send(entry: SimulatedMachine, { token, proof, ...request }: AgentRequest): Promise<SimulatedAnswer | undefined> {
    const { body, method = body ? 'POST' : 'GET', path, headers } = request;
    const content = Buffer.from(body ? JSON.stringify(body) : '');
    const operation = {
      token: token.text,
      operation: `${method} ${path}`,
      content,
      hubId: entry.hubId,
      atMs: this.client.process.wallMs(),
    };
    this.lastProof = proof ?? (token.key && proofOf(operation, token.key));
    const proved = this.lastProof === undefined ? headers : { ...headers, 'atmo-proof': this.lastProof };
    return this.client.send(entry, { ...request, token: token.text, ...(proved && { headers: proved }) });
  }

  /** Sends a call once. Returns `success`, the code of the error, or `lost`. */
  async attempt(call: Call, { proof, ...credential }: Credential): Promise<string> {
    const { entry } = call;
    const { token } = credential;
    const attempt = this.#begin(call, credential);
    const answer = await this.#send(entry, { ...this.#requestOf(call, attempt), token, ...(proof !== undefined && { proof }) });
    this.#answered(attempt, answer);
    const id = answer?.body.job_id;
    if (typeof id === 'string') {
      attempt.jobId = id;
      const watched = this.#watchJob(id, { entry, attempt });
      if (!attempt.waits) await watched;
    }
    return attempt.outcome ?? 'lost';
  }

  #begin({ entry, isJob, hasKey, ...call }: Call, { token, forbidden }: Credential): Attempt {
    const trace = this.draw.hex(16);
    this.#world.note(this.plan.name, `calls ${call.tool} ${call.params} at ${entry.name}, key ${call.key}, trace ${trace}`);
    const attempt = { ...call, trace, agent: token.agent, entry: entry.name, token, ...(forbidden !== undefined && { forbidden }) };
    return this.#world.ledger.begin(attempt);
  }

  /** The request of an attempt, which notes when the hub has it, and when it learns that the client has left. */
  #requestOf(call: Call, attempt: Attempt): Omit<AgentRequest, 'token'> {
    return {
      path: pathOf(call),
      body: JSON.parse(call.params),
      headers: this.#headersOf(call, attempt),
      timeoutMs: call.timeoutMs,
      ...(this.draw.chance(0.05) && { leavesAfterMs: this.draw.pause(800) }),
      onArrival: () => {
        attempt.arrivedMs = this.#world.queue.nowMs;
      },
      onLeft: () => {
        // A job goes on when its client leaves.
        if (!call.isJob) attempt.leftMs = this.#world.queue.nowMs;
      },
    };
  }

  #headersOf({ hasKey, key, timeoutMs }: Call, { trace }: Attempt): Readonly<Record<string, string>> {
    return {
      traceparent: `00-${trace}-${this.draw.hex(8)}-01`,
      ...(hasKey && { 'idempotency-key': key }),
      'x-timeout-ms': String(timeoutMs),
    };
  }
}

function pathOf({ tool, isJob, waits }: Call): string {
  const query = isJob ? `?async=true${waits ? '&wait_for_approval=true' : ''}` : '';
  return `/api/v1/tools/${encodeURIComponent(tool)}/invoke${query}`;
}

/** A proof for a request. Who changed a token so that nobody can read it sends any. */
function proofOf(request: ProofRequest, key: KeyObject): string {
  try {
    return signProof(request, key);
  } catch (thrown) {
    if (toAtmoError(thrown).code === 'TOKEN_INVALID') return 'AAAA';
    throw thrown;
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
