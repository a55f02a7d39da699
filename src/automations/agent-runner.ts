import { randomBytes } from 'node:crypto';
import { excessPermissions } from '../core/auth/permission.ts';
import { AGENT_NAME, isSelfOrDescendant, type Principal, rootAgentOf } from '../core/auth/principal.ts';
import type { IssuedToken, TokenAuthority } from '../core/auth/tokens.ts';
import { AtmoError, type ErrorBody, toAtmoError } from '../core/errors.ts';
import { slug } from '../core/ids.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import type { MeshView } from '../core/mesh-view.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { tokenState } from '../tools/builtin/token-tools.ts';
import type { ReferringText } from '../tools/names/name-references.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import { type AgentRecord, type AgentStatus, AgentStore, type AgentType, isLiving } from './agent-store.ts';
import { Automation, type AutomationPorts } from './automation.ts';
import { checkActions, requireVisible } from './automation-access.ts';
import type { AutomationPlan } from './automation-config.ts';
import { atWallTime } from './local-time.ts';
import { checkExternalConfig, parseAutomation, parseParameters, withParameter } from './parse-automation.ts';
import { EventIndex } from './trigger-watch.ts';

/** Whom the agents of a hub work with. */
export interface AgentCollaborators
  extends Pick<AutomationPorts, 'clock' | 'logger' | 'events' | 'readings' | 'devices' | 'authorizer' | 'pipeline' | 'time'> {
  readonly store: KeyValueStore;
  readonly tokens: TokenAuthority;
  /** The tools that its agents may name. */
  readonly registry: Pick<ToolDirectory, 'resolve' | 'hubsOf'>;
  /** The other hubs. */
  readonly outlook: { readonly view: Pick<MeshView, 'peers'> };
  readonly validator: SchemaValidator;
}

interface AgentOptions {
  /** IANA time zone of automations that name none; default that of the machine. */
  readonly timeZone?: string;
}

/** An agent that was just made; the token is seen this once. */
export interface SpawnedAgent {
  readonly record: AgentRecord;
  readonly token: string;
}

interface Work {
  readonly automation?: Automation;
  readonly cancelExpiry: () => void;
}

/**
 * The agents of this hub: automations that it runs, and outside processes that hold a token from here. An agent lives as
 * long as its token. Errors: VALIDATION_ERROR, PAYLOAD_TOO_LARGE, PERMISSION_DENIED, CONFLICT, NOT_FOUND, RESOURCE_EXCEEDED,
 * STORAGE_FAILED, and those of the tools that an automation names.
 */
export class AgentRunner implements Service {
  readonly #with: AgentCollaborators;
  readonly #book: AgentStore;
  readonly #index: EventIndex;
  readonly #timeZone: string;
  readonly #work = new Map<string, Work>();
  #stopListening: (() => void) | undefined;

  constructor(collaborators: AgentCollaborators, options: AgentOptions = {}) {
    this.#with = collaborators;
    this.#book = new AgentStore(collaborators);
    this.#index = new EventIndex(collaborators.events);
    this.#timeZone = options.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  }

  async start(): Promise<void> {
    this.#book.load();
    this.#stopListening = this.#with.tokens.onRevoked((tokenId) => this.#onRevoked(tokenId));
    for (const record of this.#book.living()) this.#resume(record);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening?.();
    this.#index.stop();
    const work = [...this.#work.values()];
    this.#work.clear();
    for (const { cancelExpiry } of work) cancelExpiry();
    await Promise.all(work.map(({ automation }) => automation?.stop()));
  }

  /** Makes an agent with a token of its own, never worth more than that of `by`. */
  spawn(request: SpawnRequest, by: Principal): SpawnedAgent {
    requireAgentCapacity(this.#book.living(), by);
    const part = idPartOf(request.name, request.type);
    const id = childId(by, part);
    this.#requireFree(id);
    requireOwnPermissions(request.permissions, by);
    const plan = this.#check(request, { ...by, id, permissions: request.permissions });
    const issued = this.#with.tokens.issue({ agentId: part, permissions: request.permissions, ttlMs: request.ttlMs }, by);
    const record = this.#enter(request, issued, by);
    this.#begin(record, plan);
    return { record, token: issued.token };
  }

  /** Ends an agent and all that it spawned; false when it had ended already. NOT_FOUND, STORAGE_FAILED (say it again). */
  kill(id: string, reason: string): boolean {
    const record = this.#require(id);
    if (record.status === 'expired') return false;
    if (isLiving(record)) this.#end(record, 'killed', reason);
    return this.#with.tokens.revoke(record.tokenId);
  }

  /** Changes a declared parameter from the next evaluation on; what it was. A resting automation tries again. */
  adjust(id: string, name: string, value: Json): Json {
    const record = this.#require(id);
    if (!isLiving(record)) throw new AtmoError('CONFLICT', `The agent ${id} has ended (${record.status})`);
    const { config, oldValue } = withParameter(record.config, name, value);
    const plan = record.type === 'automation' ? parseAutomation(config, this.#with.validator) : undefined;
    const { restsUntilMs: _, ...rest } = record;
    this.#book.put({ ...rest, config, status: 'active', failures: 0 });
    if (plan) this.#work.get(id)?.automation?.update(plan);
    return oldValue;
  }

  /** The agents that this principal spawned, itself, and all for the owner and whoever may administer agents. */
  list(by: Principal): readonly AgentRecord[] {
    const mayAll = this.#with.authorizer.authorize(by, ['admin:agents']).allowed;
    return this.#book.all().filter(({ id }) => mayAll || (by.kind === 'agent' && isSelfOrDescendant(id, by.id)));
  }

  /** The configuration of each living agent, with the names of devices and tools in it. */
  referringTexts(): readonly ReferringText[] {
    return this.#book
      .living()
      .map(({ id, type, config }) => ({ kind: type === 'automation' ? 'automation' : 'agent', id, content: config }));
  }

  /** Present values of an agent's parameters. */
  parametersOf({ config }: AgentRecord): Readonly<Record<string, Json>> {
    return Object.fromEntries([...parseParameters(config, this.#with.validator)].map(([name, { value }]) => [name, value]));
  }

  /** Two bearers of one id would share their jobs and approvals. */
  #requireFree(id: string): void {
    const nowMs = this.#with.clock.now();
    const tokens = new Map(this.#with.tokens.list().map((token) => [token.id, token]));
    const isHeld = tokens.values().some((token) => token.agentId === id && tokenState(token, tokens, nowMs) === 'valid');
    const known = this.#book.get(id);
    if (!isHeld && !(known && isLiving(known))) return;
    throw new AtmoError('CONFLICT', `There is an agent ${id} with a token already; choose another name, or end it first`);
  }

  #check(request: SpawnRequest, asAgent: Principal): AutomationPlan | undefined {
    const { validator } = this.#with;
    if (request.type === 'external') {
      checkExternalConfig(request.config, validator);
      return undefined;
    }
    const plan = parseAutomation(request.config, validator);
    requireVisible(plan, asAgent, this.#with);
    checkActions(plan.actions, asAgent, this.#with);
    return plan;
  }

  /** Nobody may hold the token of an agent that the hub does not know. */
  #enter(request: SpawnRequest, { token, principal }: IssuedToken, by: Principal): AgentRecord {
    const facts = principal.token;
    if (!facts) throw new AtmoError('INTERNAL_ERROR', 'The issuer of tokens told nothing about the token that it made');
    const record: AgentRecord = {
      id: principal.id,
      type: request.type,
      ...(request.kind !== request.type && { kind: request.kind }),
      name: request.name ?? principal.id,
      status: 'active',
      ...(by.kind !== 'owner' && { parent: by.id }),
      createdAtMs: this.#with.clock.now(),
      expiresAtMs: facts.expiresAtMs,
      tokenId: facts.id,
      chain: facts.chain,
      permissions: principal.permissions,
      ...(request.type === 'automation' && { token }),
      config: request.config,
      runs: 0,
      failures: 0,
    };
    try {
      this.#book.put(record);
    } catch (error) {
      this.#with.tokens.revoke(facts.id);
      throw error;
    }
    return record;
  }

  #begin(record: AgentRecord, plan: AutomationPlan | undefined): void {
    const ports = {
      ...this.#with,
      book: this.#book,
      index: this.#index,
      timeZone: this.#timeZone,
      onTokenEnded: (id: string, code: ErrorBody['code'], message: string) => this.#onTokenEnded(id, code, message),
    };
    const automation = plan && new Automation(ports, record.id, plan);
    const cancelExpiry = atWallTime(this.#with.clock, record.expiresAtMs, () => this.#expire(record.id));
    this.#work.set(record.id, { cancelExpiry, ...(automation && { automation }) });
    automation?.start();
  }

  /** After a start of the hub. A run that a crash interrupted is told and not begun again. */
  #resume(found: AgentRecord): void {
    try {
      const record = this.#withoutRun(found);
      if (record.token !== undefined) this.#with.tokens.principalOf(record.token);
      this.#begin(record, record.type === 'automation' ? parseAutomation(record.config, this.#with.validator) : undefined);
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      this.#with.logger.warn('agent.not_resumed', { agent_id: found.id, code, problem: message });
      this.#onTokenEnded(found.id, code, message);
      this.#leaveIdle(found.id, { code, message });
    }
  }

  /** A config that this version of the hub does not read stands still and says why, until its token ends. */
  #leaveIdle(id: string, { code, message }: Pick<ErrorBody, 'code' | 'message'>): void {
    const record = this.#book.get(id);
    if (!record || !isLiving(record)) return;
    this.#book.remember({ ...record, status: 'failing', lastError: { code, message, atMs: this.#with.clock.now() } });
    this.#begin(record, undefined);
  }

  #withoutRun(record: AgentRecord): AgentRecord {
    const { running, ...rest } = record;
    if (!running) return record;
    const message = 'The hub stopped during its last run: some of its calls may have taken effect; the run is not repeated';
    const ended: AgentRecord = {
      ...rest,
      lastRunAtMs: running.startedAtMs,
      lastError: { code: 'OUTCOME_UNKNOWN', message, atMs: this.#with.clock.now() },
    };
    this.#book.put(ended);
    return ended;
  }

  #onRevoked(tokenId: string): void {
    for (const record of this.#book.living()) {
      if (record.chain.includes(tokenId)) this.#end(record, 'killed', 'Its token, or one that it comes from, was revoked');
    }
  }

  #expire(id: string): void {
    const record = this.#book.get(id);
    if (record && isLiving(record)) this.#end(record, 'expired', 'Its token has expired');
  }

  #onTokenEnded(id: string, code: ErrorBody['code'], message: string): void {
    const record = this.#book.get(id);
    if (!record || !isLiving(record)) return;
    if (code === 'TOKEN_EXPIRED') this.#end(record, 'expired', message);
    else if (code === 'TOKEN_INVALID') this.#end(record, 'killed', message);
  }

  /** What it does ends first, whatever the disk says. */
  #end(record: AgentRecord, status: AgentStatus, reason: string): void {
    const work = this.#work.get(record.id);
    this.#work.delete(record.id);
    work?.cancelExpiry();
    void work?.automation?.stop();
    const { token: _token, running: _running, restsUntilMs: _rests, ...rest } = record;
    const ended: AgentRecord = { ...rest, status, reason };
    try {
      this.#book.put(ended);
    } catch (thrown) {
      this.#book.remember(ended);
      this.#with.logger.error('agent.end_not_kept', { agent_id: record.id, problem: toAtmoError(thrown).message });
    }
  }

  #require(id: string): AgentRecord {
    const record = this.#book.get(id);
    if (record) return record;
    throw new AtmoError('NOT_FOUND', `There is no agent ${JSON.stringify(id.slice(0, 100))}; list_agents tells the ids`);
  }
}

/** What an agent is to be. */
interface SpawnRequest {
  readonly type: AgentType;
  /** The word for it that was asked for. */
  readonly kind: string;
  readonly name?: string;
  readonly config: JsonObject;
  readonly permissions: readonly string[];
  readonly ttlMs: number;
}

/**
 * PERMISSION_DENIED unless the caller has every permission that it asks for. The issuer of the token proves the same; it is
 * looked at first here, so that a config can tell nobody what exists beyond its own rights.
 */
function requireOwnPermissions(permissions: readonly string[], by: Principal): void {
  if (permissions.length === 0) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      'An agent without permissions can do nothing; list in permissions what it needs, such as device:control:@type/light',
    );
  }
  const beyond = excessPermissions(permissions, by.permissions);
  if (beyond.length === 0) return;
  throw new AtmoError('PERMISSION_DENIED', `${by.id} cannot give away what it does not have: ${beyond.join(', ')}`, { required: beyond });
}

const MAX_AGENTS = 64;
/** Of one agent, with all that come from it: its children would otherwise take the places of everybody else. */
const MAX_FAMILY = 16;

/** RESOURCE_EXCEEDED when there is no place for one more agent of `by`. Nobody can take the places of the owner. */
function requireAgentCapacity(living: readonly AgentRecord[], by: Principal): void {
  const isOwner = by.kind === 'owner';
  const counted = isOwner ? living.filter(({ parent }) => parent === undefined) : living;
  if (counted.length >= MAX_AGENTS) throw full(`${isOwner ? 'The owner has' : 'This hub has'} ${counted.length} agents`);
  const root = rootAgentOf(by.id);
  const family = living.filter(({ id }) => id !== root && rootAgentOf(id) === root);
  if (!isOwner && family.length >= MAX_FAMILY) throw full(`${root} and what comes from it have ${MAX_FAMILY} agents`);
}

function full(what: string): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `${what}, which is the most; end one with kill_agent first`);
}

/** An id is the resource of permissions, which have 256 characters. */
const MAX_ID_LENGTH = 200;

/** The part of an agent's id that its name makes: the name itself where it can be, else its letters and digits. */
function idPartOf(name: string | undefined, type: AgentType): string {
  if (name === undefined) return `${type}-${randomBytes(4).toString('hex')}`;
  const part = AGENT_NAME.test(name) ? name : slug(name, '-').slice(0, 64);
  if (AGENT_NAME.test(part)) return part;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `The name ${JSON.stringify(name.slice(0, 64))} has no letter or digit that an id could be made of`,
  );
}

/** The id of a child: below that of the agent that spawns it, so that nobody can take another's. */
export function childId(parent: Principal, part: string): string {
  const id = parent.kind === 'owner' ? part : `${parent.id}/${part}`;
  if (id.length <= MAX_ID_LENGTH) return id;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `The agent's id would have ${id.length} characters, more than ${MAX_ID_LENGTH}; give it a shorter name`,
  );
}
