import type { Authorizer } from '../core/auth/authorizer.ts';
import type { Principal } from '../core/auth/principal.ts';
import type { TokenAuthority } from '../core/auth/tokens.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError, type ErrorBody, toAtmoError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';

/** Port: a connector that calls tools for somebody outside, as an agent of its own. */
export interface AgentCalls extends Disposable {
  /** The result of a call; throws the error of the pipeline. */
  call(tool: string, params: JsonObject, signal: AbortSignal): Promise<Json>;
  /** Whether the agent holds a permission such as `device:control:hall-lamp`. */
  may(permission: string): boolean;
}

/** Port: runs a call of a tool by its name; a refusal or failure is an answer. */
export interface ToolCaller {
  call(request: {
    readonly principal: Principal;
    readonly tool: string;
    readonly params: JsonObject;
    readonly signal: AbortSignal;
  }): Promise<{ readonly status: 'success'; readonly result: Json } | { readonly status: 'error'; readonly error: ErrorBody }>;
}

/** What makes calls for a connector possible. */
export interface AgentServices {
  readonly clock: Clock;
  readonly pipeline: ToolCaller;
  readonly tokens: Pick<TokenAuthority, 'issue' | 'revoke' | 'list'>;
  readonly authorizer: Pick<Authorizer, 'authorize'>;
}

interface AgentOptions {
  /** Its id in the journal. */
  readonly name: string;
  readonly permissions: readonly string[];
}

const DAY_MS = 86_400_000;
/** A token is made anew while it still lasts longer than any call. */
const RENEW_BEFORE_MS = 3_600_000;
/** The connector is there because the owner wrote it into the file: what it may do is the owner's to give. */
const OWNER: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };

/** An agent with a token that lasts a day, is made anew while it is used, and ends with the connector. */
export class TokenAgent implements AgentCalls {
  readonly #ground: AgentServices;
  readonly #wish: AgentOptions;
  #principal: Principal | undefined;

  constructor(ground: AgentServices, wish: AgentOptions) {
    this.#ground = ground;
    this.#wish = wish;
  }

  async call(tool: string, params: JsonObject, signal: AbortSignal): Promise<Json> {
    const answer = await this.#ground.pipeline.call({ principal: this.#present(), tool, params, signal });
    if (answer.status === 'success') return answer.result;
    throw new AtmoError(answer.error.code, answer.error.message, answer.error.details);
  }

  may(permission: string): boolean {
    return this.#ground.authorizer.authorize(this.#present(), [permission]).allowed;
  }

  [Symbol.dispose](): void {
    this.#principal = undefined;
    this.#revokeAll();
  }

  #present(): Principal {
    const endsMs = this.#principal?.token?.expiresAtMs ?? 0;
    if (this.#principal && endsMs - this.#ground.clock.now() > RENEW_BEFORE_MS) return this.#principal;
    // Also those that a hub left behind which had no time to say goodbye.
    if (!this.#principal) this.#revokeAll();
    this.#principal = this.#issue();
    return this.#principal;
  }

  #issue(): Principal {
    const { name, permissions } = this.#wish;
    try {
      return this.#ground.tokens.issue({ agentId: name, permissions, ttlMs: DAY_MS }, OWNER).principal;
    } catch (thrown) {
      const error = toAtmoError(thrown);
      if (error.code !== 'VALIDATION_ERROR') throw thrown;
      throw new AtmoError('CONFIG_INVALID', `The permissions of ${name} in the configuration cannot be granted: ${error.message}`);
    }
  }

  #revokeAll(): void {
    const { tokens, clock } = this.#ground;
    const own = tokens.list().filter(({ agentId, revokedAtMs, expiresAtMs }) => {
      return agentId === this.#wish.name && revokedAtMs === undefined && expiresAtMs > clock.now();
    });
    for (const { id } of own) tokens.revoke(id);
  }
}
