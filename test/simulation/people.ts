import { readApproverKey } from '../../src/cli/identity/approver-key.ts';
import { generatePrivateKey, rawPublicKey } from '../../src/codec/public-key.ts';
import type { SimulatedAgent } from './agents.ts';
import { SimulatedApprover } from './approvers.ts';
import { ASKED_MS, SimulatedClient } from './client.ts';
import { DEVICE_KINDS } from './device-kinds.ts';
import type { Draw } from './draw.ts';
import type { GivenToken } from './ledger.ts';
import type { SimulatedMachine } from './simulated-machine.ts';
import type { World } from './world.ts';

const TOKEN_CHANGES_MS = 3 * 3_600_000;
/** Mean time for which an agent has a token that has ended, in milliseconds. */
const TOKEN_ENDED_MS = 5 * 60_000;
/** A short token lasts for so many seconds at most. */
const LONGEST_SHORT_SECONDS = 1_800;

/** The owner of a hub, who gives agents tokens, takes them back, and decides about their calls. */
export class SimulatedOwner {
  readonly #world: World;
  readonly #machine: SimulatedMachine;
  readonly #agents: readonly SimulatedAgent[];
  readonly #client: SimulatedClient;
  readonly #draw: Draw;

  constructor(
    world: World,
    machine: SimulatedMachine,
    { seed, agents }: { readonly seed: number; readonly agents: readonly SimulatedAgent[] },
  ) {
    this.#world = world;
    this.#machine = machine;
    this.#agents = agents;
    this.#client = new SimulatedClient(world.queue, { name: `owner of ${machine.name}`, seed });
    this.#draw = this.#client.draw;
  }

  start(): void {
    this.#client.process.run(() => {
      const key = () => readApproverKey(this.#machine.ownerKeyFile);
      void new SimulatedApprover(this.#world, this.#machine, {
        client: this.#client,
        person: 'owner',
        key,
        isRemoved: () => false,
      }).decide();
      for (const agent of this.#agents) void this.#manage(agent);
    });
  }

  /** Gives an agent a token, and takes it back from time to time. */
  async #manage(agent: SimulatedAgent): Promise<void> {
    for (;;) {
      agent.token ??= await this.#giveToken(agent);
      // Who asks again gets another token beside it, as for a second program of the same agent.
      if (agent.token && this.#draw.chance(0.7))
        agent.otherToken = (await this.#giveToken(agent, agent.token.permissions)) ?? agent.otherToken;
      await this.#client.pause(this.#untilChange(agent.token));
      if (agent.token) await this.#takeToken(agent);
    }
  }

  /** The owner looks after a token that has ended some time after its end. */
  #untilChange(token: GivenToken | undefined): number {
    if (!token) return ASKED_MS;
    const leftMs = token.expiresMs - this.#client.process.wallMs();
    return Math.min(this.#draw.pause(this.#world.paced(TOKEN_CHANGES_MS)), leftMs + this.#draw.pause(TOKEN_ENDED_MS));
  }

  /** Permissions for some kinds of devices. Who has `admin:token` makes narrower tokens for helpers, by asking the hub. */
  #drawPermissions(): readonly string[] {
    const devices = DEVICE_KINDS.filter(() => this.#draw.chance(0.7)).map((kind) => `${kind}:use`);
    return devices.length > 0 && this.#draw.chance(0.4) ? [...devices, 'admin:token'] : devices;
  }

  async #giveToken({ plan: { name } }: SimulatedAgent, permissions = this.#drawPermissions()): Promise<GivenToken | undefined> {
    if (permissions.length === 0) return undefined;
    const key = this.#draw.chance(0.3) ? generatePrivateKey() : undefined;
    const ttl = this.#draw.chance(0.2) ? Math.round(this.#draw.between(60, LONGEST_SHORT_SECONDS)) : undefined;
    const asked = { agent_id: name, permissions, ...(key && { key: rawPublicKey(key) }), ...(ttl !== undefined && { ttl_seconds: ttl }) };
    const minted = await this.#call('mint_token', asked);
    if (!minted) return undefined;
    const { token: text, token_id: id, expires_at: end } = minted;
    this.#world.note(
      this.#client.process.name,
      `gives ${name} the token ${id} for ${permissions}${key ? ', with its own key' : ''} until ${end}`,
    );
    return { id, text, agent: name, issuer: this.#machine.name, permissions, expiresMs: Date.parse(end), ...(key && { key }) };
  }

  async #takeToken(agent: SimulatedAgent): Promise<void> {
    const { token } = agent;
    if (!token) return;
    if (token.expiresMs < this.#client.process.wallMs()) {
      agent.token = undefined;
      agent.formerTokens.push(token);
      return;
    }
    const answer = await this.#call('revoke_token', { token_id: token.id });
    if (answer?.revoked !== true) return;
    token.revokedMs = this.#world.queue.nowMs;
    this.#world.note(this.#client.process.name, `has revoked the token ${token.id} of ${agent.plan.name}`);
    agent.token = undefined;
    agent.formerTokens.push(token);
  }

  /** The result of a tool; undefined if it failed or no answer came. */
  async #call(tool: string, params: object): Promise<ReturnType<typeof JSON.parse> | undefined> {
    const body = await this.#send(`/api/v1/tools/${tool}/invoke`, params);
    return body?.status === 'success' ? body.result : undefined;
  }

  async #send(path: string, body: object): Promise<ReturnType<typeof JSON.parse> | undefined> {
    return await this.#client.ask(this.#machine, { path, body });
  }
}
