import type { KeyObject } from 'node:crypto';
import { signedDecision } from '../../src/cli/identity/approver-key.ts';
import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { generatePrivateKey, rawPublicKey } from '../../src/codec/public-key.ts';
import type { ApprovalDecision } from '../../src/core/auth/approvals.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { BrokenInvariant } from './broken-invariant.ts';
import { ASKED_MS, SimulatedClient } from './client.ts';
import type { Draw } from './draw.ts';
import { checkShown } from './invariants/shown-invariants.ts';
import type { SimulatedMachine } from './simulated-machine.ts';
import type { World } from './world.ts';

const LOOKS_EVERY_MS = 40_000;
/** A request for approval has been told after so many milliseconds (docs/approvals.md: within a second), while all is well. */
const TOLD_AFTER_MS = 5_000;
/** Share of its looks at which the owner looks whether an approval that was used can be used again. */
const CHECKS_USED = 0.3;
/** Share of its looks at which a person ends an answer that holds for an hour. */
const ENDS_HOUR = 0.03;

interface ApproverParts {
  readonly client: SimulatedClient;
  readonly person: string;
  /** The key with which the person signs; undefined for nobody at the moment. */
  readonly key: () => KeyObject | undefined;
  /** Returns whether the key counts no more, since the person was removed. */
  readonly isRemoved: () => boolean;
}

type Answer = ReturnType<typeof JSON.parse>;

/** A person who decides about the calls of agents at a hub: approves them once or for an hour, or denies them. */
export class SimulatedApprover {
  readonly #world: World;
  readonly #machine: SimulatedMachine;
  readonly #parts: ApproverParts;
  readonly #draw: Draw;
  #lastDecision: object | undefined;

  constructor(world: World, machine: SimulatedMachine, parts: ApproverParts) {
    this.#world = world;
    this.#machine = machine;
    this.#parts = parts;
    this.#draw = parts.client.draw;
  }

  /** Decides about calls until the world ends. */
  async decide(): Promise<void> {
    for (;;) {
      await this.#parts.client.pause(this.#draw.pause(this.#world.paced(LOOKS_EVERY_MS)));
      if (this.#world.isEnding) return;
      const listed = await this.#call('list_approvals', { state: 'pending' });
      const requests = listed?.approvals ?? [];
      if (this.#parts.person === 'owner') await this.#checkTold(requests);
      if (this.#parts.person === 'owner' && this.#draw.chance(CHECKS_USED)) await this.#checkUsed();
      for (const request of requests) await this.#answer(request);
      if (this.#draw.chance(ENDS_HOUR)) await this.#endHour();
    }
  }

  /**
   * The owner was told of each request that has waited for a while, if all was well since before it. Requests of one agent for the same tool
   * share a message, also with one that was decided since.
   */
  async #checkTold(requests: readonly Request[]): Promise<void> {
    const { process, name } = this.#machine;
    const { calmSinceMs = Number.POSITIVE_INFINITY, queue, told } = this.#world;
    if (process.clockErrorMs !== 0) return;
    const ageMs = ({ created_at: created }: Request) => process.wallMs() - Date.parse(created);
    const late = requests.filter((one) => ageMs(one) > TOLD_AFTER_MS && queue.nowMs - ageMs(one) > calmSinceMs + ASKED_MS);
    const untold = late.filter(({ approval_id: id }) => !told.has(name, 'owner', id));
    if (untold.length === 0) return;
    const all: readonly Request[] | undefined = (await this.#call('list_approvals', {}))?.approvals;
    for (const { approval_id: id, agent_id: agent, tool } of all ? untold : []) {
      const others = all?.filter((other) => other.agent_id === agent && other.tool === tool) ?? [];
      if (others.some((other) => told.has(name, 'owner', other.approval_id))) continue;
      this.#world.fail(new BrokenInvariant('no notice is lost', `${name} has not told the owner of the request ${id}`, [id]));
    }
  }

  /** An approval that was used stays used, whatever happens to the hub. */
  async #checkUsed(): Promise<void> {
    const used = this.#world.ledger.usedOnce(this.#machine.name);
    if (used.length === 0) return;
    const approved: readonly Request[] = (await this.#call('list_approvals', { state: 'approved' }))?.approvals ?? [];
    for (const { id, usedBy = '' } of used)
      if (approved.some((one) => one.approval_id === id))
        this.#world.fail(new BrokenInvariant('an approval is used once', `${id}, which served ${usedBy}, can be used again`, [id, usedBy]));
  }

  async #answer(request: Answer): Promise<void> {
    const { person, key, client, isRemoved } = this.#parts;
    const signer = key();
    if (this.#draw.chance(0.1) || !signer) return;
    const decision = this.#decisionFor(request);
    const body = signedDecision(request, { decision, person, key: signer });
    const { approval_id: id, agent_id: agent, tool, params, runs, job_id: job } = request;
    this.#world.guard(() => checkShown(this.#machine, request));
    const asked = this.#world.ledger.attempts.get(request.trace_id)?.token.id;
    const shown = {
      id,
      machine: this.#machine.name,
      person,
      agent,
      ...shownCall({ tool, params }),
      ...(runs?.steps && { steps: runs.steps.map((step: Shown) => ({ ...shownCall(step), isDone: false })) }),
      ...(job && { job }),
      ...(decision === 'approve_for_hour' && { hourOf: asked }),
    };
    await this.#replay(id);
    const isFormer = isRemoved();
    // It counts from now on, since the answer of the hub may be lost.
    const approval = decision.startsWith('approve') && !isFormer ? this.#world.ledger.approve(shown) : undefined;
    this.#world.note(client.process.name, `answers ${id} of ${agent} for ${tool} ${shown.params}: ${decision}`);
    const answered = await this.#send(`/api/v1/approvals/${id}`, body);
    if (approval && answered) approval.answeredMs = this.#world.queue.nowMs;
    if (isFormer && answered?.approval_id !== undefined)
      this.#world.fail(new BrokenInvariant('who was removed decides nothing', `${person} could ${decision} ${id}`, [id]));
    this.#lastDecision = body;
  }

  #decisionFor({
    answers,
    agent_id: agent,
  }: {
    readonly answers: readonly ApprovalDecision[];
    readonly agent_id: string;
  }): ApprovalDecision {
    // The owner asked that herself, such as to let a key approve.
    if (agent === 'owner') return 'approve';
    if (!this.#draw.chance(0.8)) return 'deny';
    return answers.includes('approve_for_hour') && this.#draw.chance(0.35) ? 'approve_for_hour' : 'approve';
  }

  /** Ends an answer that holds for an hour. */
  async #endHour(): Promise<void> {
    const hours = this.#world.ledger.approvals.filter(
      (one) => one.machine === this.#machine.name && 'hourOf' in one && one.endedMs === undefined,
    );
    if (hours.length === 0) return;
    const { id } = this.#draw.pick(hours);
    const answer = await this.#parts.client.ask(this.#machine, { path: `/api/v1/standing-answers/${id}`, method: 'DELETE' });
    this.#world.note(this.#parts.client.process.name, `ends the hour of ${id}: ${JSON.stringify(answer)?.slice(0, 120)}`);
    if (answer?.approval_id === id) for (const one of hours) if (one.id === id) one.endedMs ??= this.#world.queue.nowMs;
  }

  /** Somebody who has stolen the token of the owner, but no key, answers a request with what was signed for the one before. */
  async #replay(id: string): Promise<void> {
    if (this.#lastDecision && this.#draw.chance(0.1)) await this.#send(`/api/v1/approvals/${id}`, this.#lastDecision);
  }

  /** The result of a tool; undefined if it failed or no answer came. */
  async #call(tool: string, params: object): Promise<Answer | undefined> {
    const body = await this.#send(`/api/v1/tools/${tool}/invoke`, params);
    return body?.status === 'success' ? body.result : undefined;
  }

  async #send(path: string, body: object): Promise<Answer | undefined> {
    return await this.#parts.client.ask(this.#machine, { path, body });
  }
}

type Request = Readonly<Record<'approval_id' | 'agent_id' | 'tool' | 'created_at', string>>;

interface Shown {
  readonly tool: string;
  readonly params: JsonObject;
}

/** A call as a request shows it, without the version of its tool. */
function shownCall({ tool, params }: Shown): { readonly tool: string; readonly params: string } {
  return { tool: tool.replace(/@.*/, ''), params: canonicalJson(params) };
}

/** The owner lets a key approve within so many tries. */
const ENROL_TRIES = 30;

/** Anna, an adult of the household whose key approves calls too. After she was removed, she goes on with her former key. */
export class SimulatedAdult {
  readonly #world: World;
  readonly #machine: SimulatedMachine;
  readonly #client: SimulatedClient;
  #key: { readonly key: KeyObject; readonly enrolledMs: number } | undefined;

  constructor(world: World, machine: SimulatedMachine, seed: number) {
    this.#world = world;
    this.#machine = machine;
    this.#client = new SimulatedClient(world.queue, { name: `anna of ${machine.name}`, seed });
  }

  start(): void {
    this.#client.process.run(() => {
      void this.#enrol();
      const parts = { client: this.#client, person: 'anna', key: () => this.#key?.key, isRemoved: () => this.#isRemoved() };
      void new SimulatedApprover(this.#world, this.#machine, parts).decide();
    });
  }

  /** Returns whether she is being removed, or does not belong to the household now. */
  #isAway(): boolean {
    return this.#world.told.absences.some(({ machine, untilMs }) => machine === this.#machine.name && untilMs === undefined);
  }

  /** Returns whether she was removed after her key was enrolled. */
  #isRemoved(): boolean {
    const { enrolledMs = Number.POSITIVE_INFINITY } = this.#key ?? {};
    return this.#world.told.absences.some(({ machine, fromMs = 0 }) => machine === this.#machine.name && fromMs > enrolledMs);
  }

  /** The owner lets a key of hers approve, and another one when she has come back. */
  async #enrol(): Promise<void> {
    for (;;) {
      await this.#client.pause(this.#client.draw.pause(this.#world.paced(LOOKS_EVERY_MS)));
      if (this.#world.isEnding) return;
      if (!this.#isAway() && (!this.#key || this.#isRemoved())) await this.#enrolKey(generatePrivateKey());
    }
  }

  /** The owner agrees to it at a look at what waits. */
  async #enrolKey(key: KeyObject): Promise<void> {
    this.#world.told.approvers.add(`${this.#machine.name} anna`);
    for (let tries = 0; tries < ENROL_TRIES && !this.#isAway(); tries++) {
      const begunMs = this.#world.queue.nowMs;
      const body = { person: 'anna', key: rawPublicKey(key) };
      const answer = await this.#client.ask(this.#machine, { path: '/api/v1/tools/enroll_approver/invoke', body });
      this.#world.note(this.#client.process.name, `offers a key: ${answer?.status} ${answer?.error?.code ?? ''}`);
      if (answer?.status === 'success') {
        this.#key = { key, enrolledMs: begunMs };
        return;
      }
      await this.#client.pause(ASKED_MS);
    }
  }
}
