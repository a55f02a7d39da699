import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { SimulatedClient } from './client.ts';
import { deviceTool, REPEATABLE } from './device-kinds.ts';
import type { Draw } from './draw.ts';
import { checkAccepted, failProposal, type ProposedAutomation, type ProposedDefinition } from './invariants/proposal-invariants.ts';
import type { SimulatedMachine } from './simulated-machine.ts';
import type { World } from './world.ts';

/** Mean times between two proposals, and between two looks of the owner, in milliseconds. A hub takes 16 proposals of an agent in a day. */
const PROPOSED_EVERY_MS = 8 * 60_000;
const LOOKS_EVERY_MS = 6 * 60_000;
/** An accepted automation runs so often, in milliseconds. */
const RUNS_EVERY_MS = 5 * 60_000;
const PERMISSIONS = ['agent:propose', 'agent:spawn', `${REPEATABLE}:use`];

type Answer = ReturnType<typeof JSON.parse>;

/** A proposal as the hub lists it. */
interface ListedProposal {
  readonly proposal_id: string;
  readonly hash: string;
  readonly name: string;
  readonly actions: readonly { readonly params: object }[];
}

/**
 * An agent that proposes automations, and changes of those that live, and tries to accept them itself; and the owner, who accepts them, declines
 * them, ends them, and looks at lists that are out of date.
 */
export class SimulatedProposer {
  readonly #world: World;
  readonly #machine: SimulatedMachine;
  readonly #client: SimulatedClient;
  readonly #draw: Draw;
  #token: string | undefined;
  /** Automations by the ids of agents that they have, or would have. */
  readonly #automations = new Map<string, ProposedAutomation>();
  readonly #definitions = new Map<string, ProposedDefinition>();
  #value = 0;
  /** The hash of a proposal that the owner has seen before. */
  #formerHash: string | undefined;

  constructor(world: World, machine: SimulatedMachine, seed: number) {
    this.#world = world;
    this.#machine = machine;
    this.#client = new SimulatedClient(world.queue, { name: `proposer-${machine.name}`, seed });
    this.#draw = this.#client.draw;
  }

  start(): void {
    this.#client.process.run(() => {
      void this.#propose();
      void this.#answer();
    });
  }

  async #propose(): Promise<void> {
    for (;;) {
      await this.#client.pause(this.#draw.pause(this.#world.paced(PROPOSED_EVERY_MS)));
      if (this.#world.isEnding) return;
      this.#token ??= (await this.#owner('mint_token', { agent_id: this.#client.process.name, permissions: PERMISSIONS }))?.token;
      if (this.#token !== undefined) await this.#proposeOne(this.#token);
    }
  }

  async #proposeOne(token: string): Promise<void> {
    this.#value += 1;
    const living = this.#living();
    const replaced = living.length > 0 && this.#draw.chance(0.5) ? this.#draw.pick(living) : undefined;
    const agent = replaced?.agent ?? `proposed-${this.#value}-${this.#machine.name}`;
    const automation = replaced ?? this.#automationOf(agent);
    const params = { value: 5_000_000 + this.#value };
    const proposal = {
      name: agent,
      config: {
        trigger: { type: 'time', cron: this.#cron(), time_zone: 'UTC' },
        actions: [{ tool: deviceTool(REPEATABLE, this.#machine.name), params, on_error: 'continue' }],
      },
      permissions: [`${REPEATABLE}:use`],
      ...(replaced && { replaces: agent }),
    };
    const answer = await this.#call('propose_automation', proposal, token);
    this.#world.note(this.#client.process.name, `proposes ${agent} with ${canonicalJson(params)}: ${textOf(answer)}`);
    const { proposal_id: id, hash } = answer?.result ?? {};
    if (id === undefined) return;
    const definition: ProposedDefinition = {
      proposalId: id,
      params: canonicalJson(params),
      replaces: automation.present,
      isAccepted: false,
    };
    automation.definitions.push(definition);
    this.#definitions.set(id, definition);
    if (this.#draw.chance(0.3)) await this.#mustFail('accept_automation', { proposal_id: id, hash }, token);
  }

  /** The times at which a proposed automation runs: each minute at least where people do more. */
  #cron(): string {
    const minutes = Math.min(59, Math.max(1, Math.round(this.#world.paced(RUNS_EVERY_MS) / 60_000)));
    return minutes === 1 ? '* * * * *' : `*/${minutes} * * * *`;
  }

  #living(): readonly ProposedAutomation[] {
    return [...this.#automations.values()].filter(({ present }) => present && present.endedMs === undefined);
  }

  #automationOf(agent: string): ProposedAutomation {
    const automation: ProposedAutomation = { machine: this.#machine.name, agent, definitions: [], isUnsure: false };
    this.#automations.set(agent, automation);
    this.#world.ledger.proposed.set(`${this.#machine.name} ${agent}`, automation);
    return automation;
  }

  /** The owner looks at the proposals, and answers some of them one after the other, though the list may be out of date by then. */
  async #answer(): Promise<void> {
    for (;;) {
      await this.#client.pause(this.#draw.pause(this.#world.paced(LOOKS_EVERY_MS)));
      if (this.#world.isEnding) return;
      await this.#endOne();
      const shown: readonly ListedProposal[] = (await this.#owner('list_automation_proposals', {}))?.proposals ?? [];
      for (const proposal of shown) {
        if (this.#draw.chance(0.3)) continue;
        if (this.#draw.chance(0.3)) await this.#confuse(proposal, shown);
        if (this.#draw.chance(0.25)) await this.#decline(proposal);
        else await this.#accept(proposal);
      }
      this.#formerHash = shown.at(-1)?.hash ?? this.#formerHash;
    }
  }

  async #accept(proposal: ListedProposal): Promise<void> {
    const { proposal_id: id, hash, name, actions } = proposal;
    const definition = this.#definitions.get(id);
    const automation = this.#automations.get(name);
    // The agent may not have got the answer when it proposed this.
    if (!definition || !automation) return;
    if (canonicalJson(actions[0]?.params as never) !== definition.params)
      this.#world.guard(() => failProposal(`the proposal ${id} is shown with ${JSON.stringify(actions)}`, [id]));
    definition.isAccepted = true;
    const answer = await this.#call('accept_automation', { proposal_id: id, hash });
    this.#world.note(this.#client.process.name, `accepts ${id}: ${textOf(answer)}`);
    if (!answer) automation.isUnsure = true;
    if (answer?.status === 'success') this.#world.guard(() => checkAccepted(automation, definition, this.#world.queue.nowMs));
  }

  /** The owner declines a proposal, and somebody at an old list accepts it after that. */
  async #decline({ proposal_id: id, hash }: ListedProposal): Promise<void> {
    const answer = await this.#call('decline_automation', { proposal_id: id });
    this.#world.note(this.#client.process.name, `declines ${id}: ${textOf(answer)}`);
    if (answer?.status === 'success' && this.#draw.chance(0.5)) await this.#mustFail('accept_automation', { proposal_id: id, hash });
  }

  /** The owner accepts what another row of the list shows, or an older list did. */
  async #confuse({ proposal_id: id, hash }: ListedProposal, shown: readonly ListedProposal[]): Promise<void> {
    const other = shown.find((one) => one.hash !== hash)?.hash ?? this.#formerHash;
    if (other !== undefined && other !== hash) await this.#mustFail('accept_automation', { proposal_id: id, hash: other });
  }

  /** The owner ends an automation that was proposed. */
  async #endOne(): Promise<void> {
    const [automation] = this.#living();
    if (!automation || this.#draw.chance(0.7)) return;
    const answer = await this.#call('kill_agent', { agent_id: automation.agent });
    this.#world.note(this.#client.process.name, `ends ${automation.agent}: ${textOf(answer)}`);
    if (answer?.result?.success === true) for (const one of automation.definitions) one.endedMs ??= this.#world.queue.nowMs;
  }

  async #mustFail(tool: string, params: object, token?: string): Promise<void> {
    const answer = await this.#call(tool, params, token);
    this.#world.note(this.#client.process.name, `${tool} ${JSON.stringify(params)}, which must fail: ${textOf(answer)}`);
    if (answer?.status === 'success') this.#world.guard(() => failProposal(`${tool} ${JSON.stringify(params)} succeeded`, []));
  }

  /** The result of a call of the owner; undefined if it failed or no answer came. */
  async #owner(tool: string, params: object): Promise<Answer> {
    const answer = await this.#call(tool, params);
    return answer?.status === 'success' ? answer.result : undefined;
  }

  async #call(tool: string, params: object, token?: string): Promise<Answer> {
    return await this.#client.ask(this.#machine, {
      path: `/api/v1/tools/${tool}/invoke`,
      body: params,
      ...(token !== undefined && { token }),
    });
  }
}

function textOf(answer: Answer): string {
  return `${answer?.status ?? 'no answer'} ${answer?.error?.message ?? ''}`.trim();
}
