import { MeshTokens } from '../../src/auth/tokens/mesh-tokens.ts';
import { signRoot, tokenText } from '../../src/auth/tokens/token-chain.ts';
import { toAtmoError } from '../../src/core/errors.ts';
import type { HubId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { CallClient } from '../../src/mesh/rpc/call-client.ts';
import { ControlLinks } from '../../src/mesh/rpc/control-links.ts';
import { tokenServices } from '../auth/tokens/token-fixture.ts';
import { makeTool, settled } from '../calls/pipeline-fixture.ts';
import { atmo } from '../cli/cli-fixture.ts';
import { HOST } from '../http/http-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { founder } from '../mesh/membership/membership-fixture.ts';
import { MemoryEngine } from '../mesh/memory-engine.ts';
import { MemoryNetwork } from '../mesh/memory-network.ts';
import { runClock } from '../mesh/run-clock.ts';
import { WholeHub } from './whole-hub.ts';

/** What a caller by any door may have to be. */
export interface CallerOptions {
  readonly tool: string;
  /** Calls of the tool that succeed within a minute. */
  readonly callsPerMinute?: number;
}

/** Somebody who calls one tool by one door. */
export interface Caller {
  /** As the audit log and the approvals name it. */
  readonly agentId: string;
  /** The token with which it calls. */
  readonly tokenId: string;
  /** `success`, or the code of the error. */
  call(): Promise<string>;
}

/** A way by which calls come to the hub. */
export type Door = (house: House, options: CallerOptions) => Promise<Caller>;

const USE = ['probe:use'];
const NEVER = new AbortController().signal;
const OTHER_ADDRESS = 'other.test:1';
const RULES = 'rules:\n  - name: nobody\n    effect: deny\n    reason: a test\n    when: { tool: "probe:forbidden" }\n';

interface Minted {
  readonly token: string;
  readonly agentId: string;
  readonly tokenId: string;
}

/** A hub with tools that say when they ran, and another hub that is in one mesh with it and checks nothing itself. */
export class House implements AsyncDisposable {
  readonly clock = new ManualClock(Date.now());
  readonly hub: WholeHub;
  /** Which tools ran since a test began. */
  readonly ran: string[] = [];
  /** What a call of `probe:guarded` needs. */
  guard = 'probe:use';
  readonly #network = new MemoryNetwork({ clock: this.clock });
  readonly #owned: AsyncDisposable[] = [];
  readonly #automations: string[] = [];
  #names = 0;

  constructor() {
    this.hub = new WholeHub({ clock: this.clock, network: this.#network, rules: RULES });
  }

  async start(): Promise<void> {
    await this.hub.hub.start();
    for (const name of ['free', 'guarded', 'forbidden', 'dangerous']) {
      const risk = name === 'dangerous' ? 'dangerous' : 'low';
      this.hub.hub.orchestrator.registerTool(
        makeTool({
          namespace: 'probe',
          name,
          requires: { permissions: ['probe:use'] },
          execution: { side_effects: true },
          effects: () => [{ permission: name === 'guarded' ? this.guard : 'probe:use', risk, target: name }],
          handler: async () => {
            this.ran.push(name);
            return { ok: true };
          },
        }),
      );
      const steps = [{ tool: `probe:${name}` }];
      const composed = { id: `composed_${name}`, name: `Composed ${name}`, description: 'Calls one tool.', input_schema: {}, steps };
      requireSuccess(await this.hub.call('register_tool', { tool: composed }));
    }
  }

  /** Ends what the test before left running. */
  async reset(): Promise<void> {
    for (const id of this.#automations.splice(0)) await this.hub.call('kill_agent', { agent_id: id });
    this.ran.length = 0;
    this.guard = 'probe:use';
  }

  /** Has an automation of the bearer's that calls a tool every 10 s. */
  async automate(token: string, tool: string): Promise<string> {
    const config = { trigger: { type: 'every', seconds: 10 }, actions: [{ tool }], cooldown_seconds: 0, max_runs_per_hour: 3_600 };
    const spawned = await this.hub.call('spawn_agent', { agent_type: 'automation', name: 'auto', config, permissions: USE }, token);
    requireSuccess(spawned);
    this.#automations.push(spawned.result.agent_id);
    return spawned.result.agent_id;
  }

  /** A token from the owner. */
  async mint(permissions: readonly string[], callsPerMinute: number | undefined): Promise<Minted> {
    this.#names += 1;
    const rate = callsPerMinute === undefined ? {} : { rate_per_minute: callsPerMinute };
    const minted = await this.hub.ask('/api/v1/tokens', { body: { agent_id: `agent-${this.#names}`, permissions, ...rate } });
    return { token: minted.token, agentId: minted.agent_id, tokenId: minted.token_id };
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
    if (!isSettled) throw new Error('the work has not ended');
    return work;
  }

  /** The other hub of the mesh, joined with the first use. */
  other(): ReturnType<House['openOther']> {
    this.#other ??= this.openOther();
    return this.#other;
  }
  #other: ReturnType<House['openOther']> | undefined;

  async openOther() {
    const setup = await founder({ clock: this.clock });
    const { self, gate, membership, time } = setup;
    const engine = new MemoryEngine({
      network: this.#network,
      address: OTHER_ADDRESS,
      self: { id: self.hubId, publicKey: self.publicKey },
      gate,
    });
    const drops = { count: () => undefined };
    const links = new ControlLinks({ engine, clock: this.clock, logger: silentLogger, drops });
    for (const service of [engine, links]) {
      await service.start();
      this.#owned.unshift(service);
    }
    const { text } = await setup.admission.invite({ addresses: [OTHER_ADDRESS] });
    requireSuccess(await this.during(this.hub.call('mesh_join', { invite: text })));
    const hubId = this.hub.hub.orchestrator.orchestratorId as HubId;
    await this.during(until(() => links.to(hubId) !== undefined));
    const { router } = new CallClient({
      self,
      links,
      routes: { nextHop: (id) => id, epochOf: () => undefined, reads: () => true },
      members: { keyOf: (id) => membership.member(id) },
      tokens: new MeshTokens({ hub: self, mesh: membership, time }),
      clock: this.clock,
      time,
      drops,
    });
    const tokens = await tokenServices({ meshId: membership.requireOwn().meshId, hub: self, clock: this.clock });
    return { self, router, tokens, hubId };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.during(this.hub[Symbol.asyncDispose]());
    for (const service of this.#owned) await service[Symbol.asyncDispose]();
  }
}

const overHttp: Door = async (house, { tool, callsPerMinute }) => {
  const minted = await house.mint(USE, callsPerMinute);
  return { ...minted, call: async () => codeOf(await house.hub.call(`probe:${tool}`, {}, minted.token)) };
};

const overMcp: Door = async (house, { tool, callsPerMinute }) => {
  const minted = await house.mint(USE, callsPerMinute);
  return {
    ...minted,
    call: async () => {
      const { result, error, code } = await house.hub.mcp(minted.token, { name: tool, arguments: {} });
      if (error ?? code) return error?.data?.code ?? code;
      return result.isError ? result.structuredContent.code : 'success';
    },
  };
};

const overCli: Door = async (house, { tool, callsPerMinute }) => {
  const { token, ...minted } = await house.mint(USE, callsPerMinute);
  const io = { env: { ATMO_TOKEN: token, ATMO_URL: `http://${HOST}` }, fetch: house.hub.fetch.bind(house.hub) };
  return {
    ...minted,
    call: async () => {
      const { code, json, out, err } = await atmo(['call', `probe:${tool}`, '--json'], io);
      if (code === 0) return 'success';
      return out === '' ? (JSON.parse(err).error?.code ?? JSON.parse(err).code) : codeOf(json());
    },
  };
};

const overMesh: Door = async (house, { tool, callsPerMinute }) => {
  const { self, router, tokens, hubId } = await house.other();
  const id = tokens.rootClaims().id;
  const claims = tokens.rootClaims({
    id,
    subject: `far-${id.slice(0, 8)}`,
    key: self.publicKey,
    permissions: USE,
    ...(callsPerMinute !== undefined && { rateLimit: { calls: callsPerMinute, seconds: 60 } }),
  });
  const { principal } = tokens.verifier.verify(tokenText(signRoot(claims, self.privateKey)));
  const call = async () => {
    const deadlineMs = house.clock.now() + 30_000;
    const requestId = `r-${Math.random()}`;
    const asked = { principal, tool: makeTool({ namespace: 'probe', name: tool }), params: {}, requestId, traceId: 'far', deadlineMs };
    try {
      await house.during(router.forward(hubId, { ...asked, mode: 'sync', hopBudget: 3, signal: NEVER }));
      return 'success';
    } catch (error) {
      // What another hub could take instead is an unavailable hub to the one that asked.
      const { code, details } = toAtmoError(error);
      return typeof details.code === 'string' ? details.code : code;
    }
  };
  return { agentId: `${principal.id}@${self.hubId}`, tokenId: id, call };
};

/** Calls by an action of an automation, which has a token of its own that comes from a caller's. */
const byAutomation: Door = async (house, { tool, callsPerMinute }) => {
  // To spawn is a call as well.
  const parent = await house.mint([...USE, 'agent:spawn'], callsPerMinute === undefined ? undefined : callsPerMinute + 1);
  const agentId = await house.automate(parent.token, `probe:${tool}`);
  const view = async () => {
    const { result } = await house.hub.call('list_agents');
    return result.agents.find((agent: { agent_id: string }) => agent.agent_id === agentId);
  };
  const call = async () => {
    const before = house.ran.length;
    house.clock.advance(10_000);
    for (let turn = 0; turn < 20; turn++) await house.during(settled());
    const { last_error: error, is_running: isRunning, status } = await view();
    if (house.ran.length > before) return 'success';
    if (status !== 'active' && status !== 'running') return status;
    return isRunning ? 'APPROVAL_REQUIRED' : (error?.code ?? 'nothing ran');
  };
  return { agentId, tokenId: parent.tokenId, call };
};

/** Calls as a step of a tool that is composed of others. */
const asStep: Door = async (house, { tool, callsPerMinute }) => {
  // Of the two calls that one takes, the second is the one that is refused.
  const minted = await house.mint(USE, callsPerMinute === undefined ? undefined : 2 * callsPerMinute + 1);
  return { ...minted, call: async () => codeOf(await house.hub.call(`composed_${tool}`, {}, minted.token)) };
};

/** Every way to a tool, by what a test says of it. */
export const DOORS: Readonly<Record<string, Door>> = {
  'a call over HTTP': overHttp,
  'a call over MCP': overMcp,
  'a call of atmo': overCli,
  'a call of another hub': overMesh,
  'an action of an automation': byAutomation,
  'a step of a composed tool': asStep,
};

function codeOf(answer: { readonly status?: unknown; readonly code?: string; readonly error?: { readonly code: string } }): string {
  return answer.status === 'success' ? 'success' : (answer.error?.code ?? answer.code ?? JSON.stringify(answer));
}

function requireSuccess(answer: { readonly status?: unknown }): void {
  if (answer.status !== 'success') throw new Error(`a call of the fixture failed: ${JSON.stringify(answer)}`);
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1));
}
