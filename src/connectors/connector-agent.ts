import { type Authorizer, OWNER, type Principal, type TokenAuthority } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError, type ErrorBody, toAtmoError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';

/** Port: the agent that a connector uses to call tools for a person or program outside of the hub. */
export type AgentCalls = Pick<TokenAgent, keyof TokenAgent>;

/** Port: calls a tool by its name. Resolves with an error result if the call is refused or fails. */
interface ToolCaller {
  call(request: {
    readonly principal: Principal;
    readonly tool: string;
    readonly params: JsonObject;
    readonly signal: AbortSignal;
  }): Promise<{ readonly status: 'success'; readonly result: Json } | { readonly status: 'error'; readonly error: ErrorBody }>;
}

/** The parts of the hub that a connector's agent needs. */
export interface AgentServices {
  readonly clock: Clock;
  readonly pipeline: ToolCaller;
  readonly tokens: Pick<TokenAuthority, 'issue' | 'revoke' | 'list'>;
  readonly authorizer: Pick<Authorizer, 'authorize'>;
}

interface AgentOptions {
  /** Id of the agent in the audit log. */
  readonly name: string;
  readonly permissions: readonly string[];
}

const DAY_MS = 86_400_000;
/** A token is renewed when at most this many milliseconds of its lifetime remain. Calls are shorter, so no token expires during a call. */
const RENEW_BEFORE_MS = 3_600_000;
/** The principal that grants the permissions of agents: the owner, who wrote them in the configuration. */

/** An agent whose token lasts a day. The token is renewed while the agent is used, and revoked when the connector stops. */
export class TokenAgent implements Disposable {
  readonly #collaborators: AgentServices;
  readonly #options: AgentOptions;
  #principal: Principal | undefined;

  constructor(services: AgentServices, options: AgentOptions) {
    this.#collaborators = services;
    this.#options = options;
  }

  /** Calls a tool and returns the result. Rejects with the pipeline's error, or CONFIG_INVALID if the permissions cannot be granted. */
  async call(tool: string, params: JsonObject, signal: AbortSignal): Promise<Json> {
    const answer = await this.#collaborators.pipeline.call({ principal: this.#currentPrincipal(), tool, params, signal });
    if (answer.status === 'success') return answer.result;
    throw new AtmoError(answer.error.code, answer.error.message, answer.error.details);
  }

  /** Returns whether the agent has a permission such as `device:control:hall-lamp`. */
  may(permission: string): boolean {
    return this.#collaborators.authorizer.authorize(this.#currentPrincipal(), [permission]).allowed;
  }

  [Symbol.dispose](): void {
    this.#principal = undefined;
    this.#revokeAll();
  }

  #currentPrincipal(): Principal {
    const endsMs = this.#principal?.token?.expiresAtMs ?? 0;
    if (this.#principal && endsMs - this.#collaborators.clock.now() > RENEW_BEFORE_MS) return this.#principal;
    // Tokens from before a crash of the hub may still be valid, so they are revoked first.
    if (!this.#principal) this.#revokeAll();
    this.#principal = this.#issue();
    return this.#principal;
  }

  #issue(): Principal {
    const { name, permissions } = this.#options;
    try {
      return this.#collaborators.tokens.issue({ agentId: name, permissions, ttlMs: DAY_MS }, OWNER).principal;
    } catch (thrown) {
      const error = toAtmoError(thrown);
      if (error.code !== 'VALIDATION_ERROR') throw thrown;
      throw new AtmoError('CONFIG_INVALID', `The permissions of ${name} in the configuration cannot be granted: ${error.message}`);
    }
  }

  #revokeAll(): void {
    const { tokens, clock } = this.#collaborators;
    for (const { id, agentId, revokedAtMs, expiresAtMs } of tokens.list()) {
      if (agentId === this.#options.name && revokedAtMs === undefined && expiresAtMs > clock.now()) tokens.revoke(id);
    }
  }
}
