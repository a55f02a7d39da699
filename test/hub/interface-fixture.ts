import { readApproverKey, signedDecision } from '../../src/cli/identity/approver-key.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { HubId } from '../../src/core/ids.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { RegisteredTool, ToolContext } from '../../src/tools/definition/tool-definition.ts';
import { makeTool, settled } from '../calls/pipeline-fixture.ts';
import { WholeClock } from '../manual-clock.ts';
import { joined } from '../mesh/membership/membership-fixture.ts';
import { MemoryNetwork } from '../mesh/memory-network.ts';
import { runClock } from '../mesh/run-clock.ts';
import { foundingHub, OtherHub } from './other-hub.ts';
import { MESH_AT, WholeHub } from './whole-hub.ts';

const NEVER = new AbortController().signal;
const GUEST_ADDRESS = 'guest.test:2';
const OTHER_ADDRESS = 'other.test:1';
const RULES = 'rules:\n  - name: nobody\n    effect: deny\n    reason: a test\n    when: { tool: "probe:forbidden" }\n';
/** Tools that tell when they ran, by what a test does with them; `open` needs no permission. */
const TOLD_TOOLS = ['free', 'open', 'guarded', 'required', 'forbidden', 'dangerous', 'watched'];

export interface Minted {
  readonly token: string;
  readonly agentId: string;
  readonly tokenId: string;
}

/** A row of the audit log, as the hub tells it. */
export interface Row {
  readonly seq: number;
  readonly kind: string;
  readonly tool?: string;
  readonly content: { readonly error?: string; readonly message?: string; readonly [name: string]: unknown };
}

/** A hub with tools that say when they ran, and another hub that is in one mesh with it and checks nothing itself. */
export class InterfaceFixture implements AsyncDisposable {
  readonly clock = new WholeClock(Date.now());
  readonly hub: WholeHub;
  /** Which tools ran since a test began, of those that tell it. */
  readonly ran: string[] = [];
  /** The permission that an effect of `probe:guarded` needs. */
  guard = 'probe:use';
  /** What `probe:first` does, the first step of every tool that has two. */
  onFirst: () => Promise<unknown> = async () => undefined;
  /** Kinds of the rows that `probe:watched` found in the audit log about its own call. */
  readonly foundWhileRunning: (readonly string[])[] = [];
  readonly network = new MemoryNetwork({ clock: this.clock });
  readonly #owned: AsyncDisposable[] = [];
  readonly #automations: string[] = [];
  #held = Promise.withResolvers<null>();
  #isHeld = false;
  #names = 0;

  constructor() {
    const config = { tools: { dynamic_registration: true, max_concurrent_per_caller: 1 } };
    this.hub = new WholeHub({ clock: this.clock, network: this.network, rules: RULES, config });
  }

  async start(): Promise<void> {
    await this.hub.hub.start();
    this.#register(probeTool('first', { handler: () => this.onFirst().then(() => ({ ok: true })) }));
    this.#register(probeTool('held', { handler: () => this.#hold() }));
    for (const name of TOLD_TOOLS) this.#register(this.#toldTool(name));
  }

  /** Registers tools that are composed of those of the fixture. */
  async composeTools(): Promise<void> {
    for (const name of TOLD_TOOLS) {
      await this.#compose(`composed_${name}`, [{ tool: `probe:${name}` }]);
      await this.#compose(`composed_open_${name}`, this.openSteps(name));
    }
  }

  get hubId(): HubId {
    return this.hub.hub.orchestrator.orchestratorId as HubId;
  }

  /** Ends what the test before left running. */
  async reset(): Promise<void> {
    for (const id of this.#automations.splice(0)) await this.hub.call('kill_agent', { agent_id: id });
    for (const list of [this.ran, this.foundWhileRunning]) list.length = 0;
    this.guard = 'probe:use';
    this.onFirst = async () => undefined;
    this.release();
    this.require(['probe:use']);
  }

  /** Has the definition of `probe:required` require these permissions. */
  require(permissions: readonly string[]): void {
    const { orchestrator } = this.hub.hub;
    const tool = this.#toldTool('required', permissions);
    orchestrator.unregisterTool(tool.id);
    orchestrator.registerTool(tool);
  }

  /** A step that ends before another one, which takes its result as a parameter. */
  openSteps(name: string): readonly JsonObject[] {
    return [{ tool: 'probe:first' }, { tool: `probe:${name}`, params: { value: { $result: '0/ok' } } }];
  }

  /** Has an automation of the bearer's that calls a tool every 10 s. */
  async automate(token: string, tool: string): Promise<string> {
    const config = { trigger: { type: 'every', seconds: 10 }, actions: [{ tool }], cooldown_seconds: 0, max_runs_per_hour: 3_600 };
    const agent = { agent_type: 'automation', name: 'auto', config, permissions: ['probe:use'] };
    const spawned = await this.hub.call('spawn_agent', agent, token);
    requireSuccess(spawned);
    this.#automations.push(spawned.result.agent_id);
    return spawned.result.agent_id;
  }

  async statusOf(agentId: string): Promise<string> {
    const { result } = await this.hub.call('list_agents');
    return result.agents.find((agent: { agent_id: string }) => agent.agent_id === agentId).status;
  }

  /** A token from the owner. */
  async mint(permissions: readonly string[], callsPerMinute?: number): Promise<Minted> {
    const rate = callsPerMinute === undefined ? {} : { rate_per_minute: callsPerMinute };
    const minted = await this.hub.ask('/api/v1/tokens', { body: { agent_id: this.newName('agent'), permissions, ...rate } });
    return { token: minted.token, agentId: minted.agent_id, tokenId: minted.token_id };
  }

  revoke(tokenId: string) {
    return this.during(this.hub.call('revoke_token', { token_id: tokenId }));
  }

  /** Requests for approval of an agent's calls that nobody has decided. */
  async pending(agentId: string): Promise<readonly JsonObject[]> {
    const { result } = await this.hub.call('list_approvals', { state: 'pending' });
    return result.approvals.filter((request: JsonObject) => request.agent_id === agentId);
  }

  /** Approves the only request of the agent as the owner. */
  async approve(agentId: string): Promise<void> {
    const [request, ...others] = await this.pending(agentId);
    if (!request || others.length > 0) throw new Error(`${agentId} has ${request ? 'several requests' : 'no request'} for approval`);
    const key = readApproverKey(this.hub.ownerKeyFile);
    const body = signedDecision(request, { decision: 'approve', person: 'owner', key });
    const decided = await this.hub.ask(`/api/v1/approvals/${request.approval_id}`, { body });
    if (decided.state !== 'approved') throw new Error(`the request was not approved: ${JSON.stringify(decided)}`);
  }

  /** Rows of the audit log about an agent's calls, newest first, without those of `probe:held`. */
  async rowsOf(agentId: string): Promise<readonly Row[]> {
    const { result } = await this.hub.call('read_audit', { agent: agentId });
    return result.rows.filter(({ tool, kind }: Row) => kind !== 'note' && !tool?.includes('probe:held'));
  }

  /** The end of an agent's latest call. */
  async lastEnd(agentId: string): Promise<Row | undefined> {
    return (await this.rowsOf(agentId)).find(({ kind }) => kind !== 'intent');
  }

  /**
   * What the audit log says of the agent's call that something begins: `success` or a code; undefined when no call ends. `begin` tells
   * the code when it finds that there is no call.
   */
  async codeOfNextRow(agentId: string, begin: () => Promise<string | undefined>): Promise<string | undefined> {
    const before = (await this.lastEnd(agentId))?.seq ?? 0;
    const code = await begin();
    if (code !== undefined) return code;
    for (let turn = 0; turn < 40; turn++) {
      await this.during(settled());
      const row = await this.lastEnd(agentId);
      if (row && row.seq > before) return row.content.error ?? 'success';
    }
    return undefined;
  }

  newName(kind: string): string {
    this.#names += 1;
    return `${kind}-${this.#names}`;
  }

  /** Waits until a call of `probe:held` runs. */
  untilHeld(): Promise<void> {
    return this.during(until(() => this.#isHeld));
  }

  /** Ends the calls of `probe:held`. */
  release(): void {
    this.#held.resolve(null);
    this.#held = Promise.withResolvers();
    this.#isHeld = false;
  }

  /** Lets everything go on that waits for nothing but its turn. */
  async pause(): Promise<void> {
    for (let turn = 0; turn < 10; turn++) await this.during(settled().then(settled));
  }

  /** What came of work that needs time to go on. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    work.then(settle, settle);
    for (let left = 400; left > 0 && !isSettled; left--) {
      await settled();
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (!isSettled && left % 10 === 0) await runClock(this.clock, 25, 25);
    }
    if (!isSettled) throw new Error('the work timed out');
    return work;
  }

  /** The other hub of the mesh, joined with the first use. */
  other(): ReturnType<InterfaceFixture['openOther']> {
    this.#other ??= this.openOther();
    return this.#other;
  }
  #other: ReturnType<InterfaceFixture['openOther']> | undefined;

  async openOther() {
    const { hub, root } = await this.join();
    await this.during(until(() => hub.links.to(this.hubId) !== undefined));
    return { hub, root };
  }

  /** Has the hub join the mesh of another hub, which becomes its neighbour soon. */
  async join() {
    const founder = await foundingHub(this.clock, { network: this.network, address: OTHER_ADDRESS });
    this.#owned.push(founder.hub);
    const { text } = await founder.hub.member.admission.invite({ addresses: [OTHER_ADDRESS] });
    requireSuccess(await this.during(this.hub.call('mesh_join', { invite: text })));
    return founder;
  }

  /** Another member of the mesh, which gives no more than these permissions. */
  async guest(permissions: readonly string[]): Promise<OtherHub> {
    const { hub: host } = await this.other();
    const guest = new OtherHub(await joined(host.member, { permissions }), { network: this.network, address: GUEST_ADDRESS });
    this.#owned.push(guest);
    await guest.start();
    await this.during(guest.engine.connect(MESH_AT, { signal: NEVER }));
    await this.during(until(() => guest.links.to(this.hubId) !== undefined));
    return guest;
  }

  /** Calls a tool of the hub as a bearer at another hub. */
  forward(from: OtherHub, principal: Principal, name: string): Promise<unknown> {
    return from.client.router.forward(this.hubId, {
      principal,
      tool: makeTool({ namespace: 'probe', name }),
      params: {},
      requestId: this.newName('request'),
      traceId: 'far',
      untilMs: this.clock.monotonic() + 30_000,
      mode: 'sync',
      hopBudget: 3,
      signal: NEVER,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.during(this.hub[Symbol.asyncDispose]());
    for (const service of this.#owned.toReversed()) await service[Symbol.asyncDispose]();
  }

  #toldTool(name: string, permissions: readonly string[] = name === 'open' ? [] : ['probe:use']): RegisteredTool {
    const risk = name === 'dangerous' ? 'dangerous' : 'low';
    const effect = () => ({ permission: name === 'guarded' ? this.guard : 'probe:use', risk, target: name }) as const;
    return probeTool(name, {
      requires: { permissions },
      execution: { side_effects: name !== 'open', async_allowed: true },
      effects: () => (name === 'open' ? [] : [effect()]),
      handler: async (_, context) => {
        this.ran.push(name);
        if (name === 'watched') this.foundWhileRunning.push(await this.#kindsOf(context));
        return { ok: true };
      },
    });
  }

  async #kindsOf({ requestId }: ToolContext): Promise<readonly string[]> {
    const { result } = await this.hub.call('read_audit', { request: requestId });
    return result.rows.map(({ kind }: Row) => kind);
  }

  #hold(): Promise<null> {
    this.#isHeld = true;
    return this.#held.promise;
  }

  #register(tool: RegisteredTool): void {
    this.hub.hub.orchestrator.registerTool(tool);
  }

  async #compose(id: string, steps: readonly JsonObject[]): Promise<void> {
    const composed = { id, name: id, description: 'Calls other tools.', input_schema: {}, steps };
    requireSuccess(await this.hub.call('register_tool', { tool: composed }));
  }
}

function probeTool(name: string, more: Parameters<typeof makeTool>[0]): RegisteredTool {
  const parameters = { type: 'object', properties: { value: { description: 'Anything' } } };
  return makeTool({ namespace: 'probe', name, parameters, requires: { permissions: ['probe:use'] }, ...more });
}

export function requireSuccess(answer: { readonly status?: unknown }): void {
  if (answer.status !== 'success') throw new Error(`a call of the fixture failed: ${JSON.stringify(answer)}`);
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1));
}
