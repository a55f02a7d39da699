import type { PeopleDirectory } from '../core/auth/people.ts';
import { OWNER, type Principal, type RateLimiter, requireUnreservedName, type TokenAuthority } from '../core/auth/principal.ts';
import type { TrustedTime } from '../core/clock.ts';
import { type ErrorBody, toAtmoError } from '../core/errors.ts';
import type { EventBus } from '../core/events.ts';
import type { Json } from '../core/json.ts';
import { oncePerObject, type Service } from '../core/lifecycle.ts';
import { atWallTime } from '../core/local-time.ts';
import type { Logger } from '../core/logger.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import {
  type AgentEnd,
  type AutomationEdit,
  type EditOutcome,
  editedRecord,
  endedRecord,
  interruptedRecord,
  parentOf,
  type SpawnRequest,
  spawnedRecord,
} from './agent-changes.ts';
import { AgentDirectory } from './agent-directory.ts';
import { type AgentRecord, AgentStore, isLiving } from './agent-store.ts';
import { Automation, type AutomationPorts } from './automation.ts';
import { type ComingRuns, type DefinitionPorts, NO_COMING_RUNS } from './automation-ports.ts';
import { checkDefinition } from './definition-check.ts';
import type { HouseState } from './house/house.ts';
import { ObservedByPlan } from './observed.ts';
import { parseAutomation, withParameter } from './plan/parse-automation.ts';
import type { AutomationPlan } from './plan/plan-schema.ts';
import type { WaitingStep } from './run/run-notes.ts';
import { RunRateLimit } from './run/run-rate-limit.ts';
import {
  childId,
  idPartOf,
  requireAgentCapacity,
  requireAutomation,
  requireFree,
  requireMaker,
  requireOther,
  requireOwnPermissions,
  requireRevivable,
} from './spawn-checks.ts';
import { lifetimeOf, TokenRenewal } from './token-renewal.ts';
import { AutomationTracer } from './traces/automation-tracer.ts';
import type { TraceLog } from './traces/trace-log.ts';
import { EventIndex, webhookDelivery } from './triggers/watch.ts';
import { definitionHash, requireAccepted } from './versions/definition.ts';
import { permissionsAfter } from './versions/edit-checks.ts';
import { nextVersion } from './versions/version-store.ts';

/** The parts of the hub against which automations are checked, and those that they use. */
export interface AgentParts extends DefinitionPorts {
  readonly logger: Logger;
  readonly events: EventBus;
  readonly store: KeyValueStore;
  readonly time: Pick<TrustedTime, 'isTrusted'>;
  /** IANA time zone of triggers and conditions that name none. */
  readonly timeZone: string;
  readonly tokens: TokenAuthority;
  readonly people: Pick<PeopleDirectory, 'personOf'>;
  /** Limits how often one agent edits, with all that comes from it. */
  readonly edits: Pick<RateLimiter, 'charge'>;
  readonly house: HouseState;
  readonly pipeline: AutomationPorts['pipeline'];
  readonly questions: AutomationPorts['questions'];
  readonly traces: Pick<TraceLog, 'note'>;
}

/**
 * Runs and manages the agents of this hub: its automations, and external processes with a token from this hub. An agent lives as long as
 * its token. Methods throw NOT_FOUND for an unknown agent or parameter, CONFLICT for a used id or an ended agent, PERMISSION_DENIED for
 * missing permissions, RESOURCE_EXCEEDED for too many agents, VALIDATION_ERROR or PAYLOAD_TOO_LARGE for an invalid configuration,
 * STORAGE_FAILED if a write fails, and errors about tools, sensors and devices that an automation names.
 */
export class AgentRunner implements Service {
  readonly directory: AgentDirectory;
  readonly #parts: AgentParts;
  readonly #automationPorts: AutomationPorts;
  readonly #agents: AgentStore;
  readonly #renewal: TokenRenewal;
  readonly #running = new Map<string, { readonly automation: Automation | undefined; readonly cancelExpiry: () => void }>();
  /** The limits of the runs of living automations. An edit, or to disable and enable one, begins it anew, but not its limit. */
  readonly #rateLimits = new Map<string, RunRateLimit>();
  #unsubscribe: (() => void) | undefined;

  constructor(parts: AgentParts) {
    this.#agents = new AgentStore(parts);
    const { clock, logger, time, tokens, authorizer, validator } = parts;
    this.directory = new AgentDirectory({ agents: this.#agents, authorizer, validator });
    const observed = oncePerObject((plan: AutomationPlan) => new ObservedByPlan(plan, authorizer));
    this.#parts = parts;
    this.#automationPorts = {
      clock,
      logger,
      time,
      tokens,
      events: parts.events,
      pipeline: parts.pipeline,
      house: parts.house,
      questions: parts.questions,
      devices: parts.devices,
      readings: parts.readings,
      agents: this.#agents,
      index: new EventIndex(parts.events),
      timeZone: parts.timeZone,
      canObserveAll: (plan, principal) => observed(plan).areVisibleTo(principal),
      tracerOf: (id) => new AutomationTracer(parts.traces, id),
      rateLimitOf: (id) => this.#rateLimitOf(id),
      onTokenEnded: (id, code, message) => this.#onTokenEnded(id, code, message),
    };
    this.#renewal = new TokenRenewal({ agents: this.#agents, tokens, clock, logger, time });
  }

  async start(): Promise<void> {
    this.#agents.load();
    this.#unsubscribe = this.#parts.tokens.onRevoked((tokenId) => this.#onRevoked(tokenId));
    // A crash may have come between the end of an agent and that of its tokens.
    for (const record of this.#agents.all()) if (!isLiving(record)) this.#renewal.endRest(record);
    for (const { id } of this.#agents.living()) {
      const record = this.#agents.get(id);
      // What is settled for one agent may end others that come from it.
      if (record && isLiving(record)) this.#resume(record);
    }
    for (const { automation } of this.#running.values()) automation?.deliver({ type: 'hub_start' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe?.();
    this.#automationPorts.index.stop();
    const running = [...this.#running.values()];
    this.#running.clear();
    for (const { cancelExpiry } of running) cancelExpiry();
    await Promise.all(running.map(({ automation }) => automation?.suspend()));
  }

  /** Creates an agent with its own token, which never has more permissions than `by`. Only this call returns the token. */
  spawn(request: SpawnRequest, by: Principal): { readonly record: AgentRecord; readonly token: string } {
    requireAgentCapacity(this.#agents.living(), by);
    const part = idPartOf(request.name, request.type);
    requireUnreservedName(part);
    const id = childId(by, part);
    requireFree(id, this.#agents, this.#parts);
    requireOwnPermissions(request.permissions, by);
    const { type, permissions } = request;
    const { config, plan } = checkDefinition(request, { ...by, id, permissions }, this.#parts);
    requireAccepted({ config, permissions }, request.accepted);
    const { ttlMs, renewsItself } = lifetimeOf(request.ttlMs, { type, ...parentOf(by) });
    const issued = this.#parts.tokens.issue({ agentId: part, permissions, ttlMs }, by);
    const making = { by, atMs: this.#parts.clock.now() };
    const record = spawnedRecord({ ...request, config, ...(renewsItself && { renewsItself }) }, issued, making);
    this.#store(record);
    this.#begin(record, plan);
    return { record, token: issued.token };
  }

  /**
   * Ends an agent and its descendants. Returns false if it had already ended. Throws NOT_FOUND if the agent is unknown. The call can be
   * repeated if it throws STORAGE_FAILED.
   */
  kill(id: string, { by, reason }: { readonly by: string; readonly reason?: string | undefined }): boolean {
    const record = this.directory.require(id);
    if (record.status === 'expired') return false;
    const why = reason === undefined ? `Ended by ${by}` : `Ended by ${by}: ${reason}`;
    if (isLiving(record)) this.#end(record, { status: 'killed', reason: why, by });
    return this.#renewal.revokeAll(record);
  }

  /**
   * Enables or disables an automation. A disabled one never runs, also after a restart; a run that is in progress is given up. Returns
   * false if nothing changes. Throws NOT_SUPPORTED for an external agent, which only its end can stop.
   */
  setEnabled(id: string, isEnabled: boolean, by: Principal): boolean {
    const record = this.directory.requireLiving(id);
    requireAutomation(record, 'be disabled: it is a process elsewhere. kill_agent ends its token');
    const { disabled, ...rest } = record;
    if (isEnabled !== (disabled !== undefined)) return false;
    if (isEnabled) {
      const { restsUntilMs: _, ...rested } = rest;
      this.#restart({ ...rested, status: 'active', failures: 0 });
      if (disabled) this.#parts.traces.note(id, { cause: 'disabled', facts: { by: disabled.by }, sinceMs: disabled.atMs });
    } else {
      this.#restart({ ...rest, disabled: { atMs: this.#parts.clock.now(), by: by.id } });
    }
    return true;
  }

  /**
   * Gives an automation a new end, or none if `ttlMs` is undefined and it is the owner's. One whose time is over starts again. Throws
   * PERMISSION_DENIED unless `by` is its parent, or for an automation of the owner the owner or a holder of `admin:agents`.
   */
  renew(id: string, ttlMs: number | undefined, by: Principal): AgentRecord {
    const record = this.directory.require(id);
    requireAutomation(record, 'be renewed: spawn_agent gives it a new token, once it has ended');
    requireOther(id, by, 'renew');
    requireMaker(record, by, { verb: 'renew', authorizer: this.#parts.authorizer });
    if (!isLiving(record)) requireRevivable({ record, by }, this.#agents, this.#parts);
    const renewed = this.#renewal.renew(record, lifetimeOf(ttlMs, record), record.parent === undefined ? OWNER : by);
    if (this.#running.get(id)?.automation) this.#exchangeEnd(renewed);
    else this.#resumeAnew(renewed);
    return renewed;
  }

  /**
   * Gives an automation a new definition. Its id, its end and what it counts stay; its token has the permissions of the new version. A run in
   * progress is given up. Nothing happens if the definition is the present one. Throws PERMISSION_DENIED unless `by` may renew it and has the
   * permissions itself, CONFLICT if the definition is not what a person accepted, and RATE_LIMITED after too many edits.
   */
  edit(id: string, edit: AutomationEdit, by: Principal): EditOutcome {
    const before = this.directory.requireLiving(id);
    const permissions = permissionsAfter({ before, edit, by }, this.#parts);
    const { config, plan } = checkDefinition({ type: before.type, config: edit.config }, { ...by, id, permissions }, this.#parts);
    requireAccepted({ config, permissions }, edit.accepted);
    this.#parts.edits.charge(by);
    if (definitionHash({ config, permissions }) === definitionHash(before)) {
      this.#renewal.endSuperseded(before);
      return { record: before, isChanged: false };
    }
    const version = nextVersion(before, { by: by.id, note: edit.note, atMs: this.#parts.clock.now() });
    // The old version is kept first. The present one is part of the record, which one write replaces.
    this.#agents.versions.keep(before);
    const edited = this.#renewal.revise(
      before,
      (record) => editedRecord(record, { config, permissions, version, accepted: edit.accepted }),
      by,
    );
    this.#stop(id);
    this.#begin(edited, before.disabled ? undefined : plan);
    this.#renewal.endSuperseded(edited);
    return { record: edited, isChanged: true };
  }

  /** Returns when a trigger of the automation fires next because of the time; undefined if none does or it is not known. */
  nextRunMs({ id }: AgentRecord): number | undefined {
    return this.#running.get(id)?.automation?.nextFiringMs();
  }

  /** Returns what the agent does now, for people who ask why: whether it watches its triggers, and the step that waits for people. */
  activityOf({ id }: Pick<AgentRecord, 'id'>): { readonly isWatching: boolean; readonly waiting?: WaitingStep } {
    const automation = this.#running.get(id)?.automation;
    const waiting = automation?.waitingStep();
    return { isWatching: automation !== undefined, ...(waiting && { waiting }) };
  }

  /** Returns what the automation will do by the time alone. */
  comingOf({ id }: Pick<AgentRecord, 'id'>): ComingRuns {
    return this.#running.get(id)?.automation?.coming() ?? NO_COMING_RUNS;
  }

  /** Sets a declared parameter of an agent, with immediate effect. Returns the old value. A paused automation becomes active again. */
  adjust(id: string, name: string, value: Json): Json {
    const record = this.directory.requireLiving(id);
    const { config, oldValue } = withParameter(record.config, name, value);
    const plan = record.type === 'automation' ? parseAutomation(config, this.#parts.validator) : undefined;
    const { restsUntilMs: _, ...rest } = record;
    this.#agents.put({ ...rest, config, status: 'active', failures: 0 });
    if (plan) this.#running.get(id)?.automation?.update(plan);
    return oldValue;
  }

  /** Delivers what was posted to a webhook. Returns whether a trigger waits for it: a disabled automation has none. */
  post(id: string, name: string, body: Json): boolean {
    const record = this.directory.requireLiving(id);
    requireAutomation(record, 'have webhooks: it is a process elsewhere');
    const delivery = webhookDelivery(name, body);
    return this.#running.get(id)?.automation?.deliver(delivery) ?? false;
  }

  /** Stores a new agent. If that fails, revokes its token, because a token must not be valid without its agent. */
  #store(record: AgentRecord): void {
    try {
      this.#agents.put(record);
    } catch (error) {
      this.#parts.tokens.revoke(record.tokenId);
      throw error;
    }
  }

  #begin(record: AgentRecord, plan: AutomationPlan | undefined): void {
    const automation = plan && new Automation(this.#automationPorts, record.id, plan);
    this.#running.set(record.id, { cancelExpiry: this.#atEnd(record), automation });
    automation?.start();
  }

  #rateLimitOf(id: string): RunRateLimit {
    const limit = this.#rateLimits.get(id) ?? new RunRateLimit(this.#parts.clock, this.#agents.get(id)?.recentRuns);
    this.#rateLimits.set(id, limit);
    return limit;
  }

  /** Resumes an agent after a start of the hub. A run that waited goes on; any other that was interrupted is recorded as an error. */
  #resume(found: AgentRecord): void {
    try {
      const settled = this.#renewal.settle(this.#withoutRun(found));
      const record = this.#renewal.isDue(settled) ? this.#renewal.renewByItself(settled) : settled;
      this.#renewal.requireUsable(record);
      const isRun = record.type === 'automation' && !record.disabled;
      this.#begin(record, isRun ? parseAutomation(record.config, this.#parts.validator) : undefined);
      const { waiting } = record.running ?? {};
      if (waiting) this.#running.get(record.id)?.automation?.resume(waiting);
    } catch (thrown) {
      const { code, message } = toAtmoError(thrown);
      this.#parts.logger.warn('agent.not_resumed', { agent_id: found.id, code, problem: message });
      this.#onTokenEnded(found.id, code, message);
      this.#leaveIdle(found.id, { code, message });
    }
  }

  /** Stores the record and starts the agent anew with it. If the write fails, the agent runs as before. */
  #restart(record: AgentRecord): void {
    const plan = record.disabled ? undefined : parseAutomation(record.config, this.#parts.validator);
    this.#agents.put(record);
    this.#stop(record.id);
    this.#begin(record, plan);
  }

  #stop(id: string): void {
    void this.#takeOut(id)?.stop();
  }

  #takeOut(id: string): Automation | undefined {
    const running = this.#running.get(id);
    this.#running.delete(id);
    running?.cancelExpiry();
    return running?.automation;
  }

  #renewByItself(id: string): void {
    const record = this.#agents.get(id);
    if (!record || !isLiving(record)) return;
    this.#exchangeEnd(this.#renewal.renewByItself(record));
  }

  /** Gives an agent that is started the end of its new token; a run in progress goes on. */
  #exchangeEnd(record: AgentRecord): void {
    const running = this.#running.get(record.id);
    running?.cancelExpiry();
    if (running) this.#running.set(record.id, { cancelExpiry: this.#atEnd(record), automation: running.automation });
  }

  #resumeAnew(record: AgentRecord): void {
    this.#stop(record.id);
    this.#resume(record);
  }

  /** Renews or ends an agent when its token ends. The returned function cancels this. */
  #atEnd(record: AgentRecord): () => void {
    if (record.renewsItself) return this.#renewal.atRenewal(record, () => this.#renewByItself(record.id));
    return atWallTime(this.#parts.clock, record.expiresAtMs, () => this.#expire(record.id));
  }

  /** Sets the status of an agent to `failing`, because the agent cannot be resumed. The agent stays idle until its token ends. */
  #leaveIdle(id: string, { code, message }: Pick<ErrorBody, 'code' | 'message'>): void {
    const record = this.#agents.get(id);
    if (!record || !isLiving(record)) return;
    this.#agents.remember({ ...record, status: 'failing', lastError: { code, message, atMs: this.#parts.clock.now() } });
    this.#begin(record, undefined);
  }

  #withoutRun(record: AgentRecord): AgentRecord {
    const { running } = record;
    if (!running || (running.waiting && !record.disabled)) return record;
    const ended = interruptedRecord({ ...record, running }, this.#parts.clock.now());
    this.#agents.put(ended);
    this.#parts.traces.note(record.id, { cause: 'interrupted', runId: running.runId, facts: {}, sinceMs: running.startedAtMs });
    return ended;
  }

  #onRevoked(tokenId: string): void {
    for (const { id } of this.#agents.living()) {
      const record = this.#agents.get(id);
      // The end of one agent may have ended others that come from it.
      if (!record || !isLiving(record) || !record.chain.includes(tokenId)) continue;
      this.#endByItself(record, { status: 'killed', reason: 'Its token, or one that it comes from, was revoked', cause: 'token_revoked' });
    }
  }

  #expire(id: string): void {
    const record = this.#agents.get(id);
    if (!record || !isLiving(record)) return;
    this.#endByItself(record, { status: 'expired', reason: 'Its time is over', cause: 'lifetime_over' });
  }

  #onTokenEnded(id: string, code: ErrorBody['code'], message: string): void {
    const record = this.#agents.get(id);
    if (!record || !isLiving(record)) return;
    if (code === 'TOKEN_EXPIRED' && record.renewsItself) this.#renewByItself(id);
    else if (code === 'TOKEN_EXPIRED') this.#endByItself(record, { status: 'expired', reason: message, cause: 'lifetime_over' });
    else if (code === 'TOKEN_INVALID') this.#endByItself(record, { status: 'killed', reason: message, cause: 'token_invalid' });
  }

  /** Ends an agent, and what is left of its tokens. */
  #endByItself(record: AgentRecord, end: AgentEnd): void {
    this.#end(record, end);
    this.#renewal.endRest({ ...record, status: end.status });
  }

  /** Ends an agent. It is stopped before its record is written, so that it also stops if the write fails. */
  #end(record: AgentRecord, end: AgentEnd): void {
    this.#stop(record.id);
    this.#rateLimits.delete(record.id);
    const ended = endedRecord(record, end, this.#parts.clock.now());
    try {
      this.#agents.put(ended);
    } catch (thrown) {
      this.#agents.remember(ended);
      this.#parts.logger.error('agent.end_not_stored', { agent_id: record.id, problem: toAtmoError(thrown).message });
    }
  }
}
