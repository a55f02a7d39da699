import type { IssuedToken, Principal } from '../core/auth/principal.ts';
import { AtmoError } from '../core/errors.ts';
import type { AgentRecord, AgentStatus, EndCause } from './agent-store.ts';
import type { Definition } from './versions/definition.ts';
import type { VersionFacts } from './versions/version-store.ts';

/** What somebody asks for who makes an agent. */
export interface SpawnRequest extends Pick<AgentRecord, 'type' | 'config' | 'permissions'> {
  /** Word of the caller for an external agent, if it is not `external`. */
  readonly kind?: string;
  readonly name?: string;
  /** The proposal that a person accepts by this, and the hash that its definition has to have. */
  readonly accepted?: Acceptance;
  /** Lifetime; if undefined, an automation of the owner has no end, and any other agent lives for a day. */
  readonly ttlMs: number | undefined;
}

/** A new definition of an automation. */
export interface AutomationEdit extends Pick<Definition, 'config'> {
  /** Undefined if the permissions stay. */
  readonly permissions?: readonly string[] | undefined;
  /** What the author says about the new version. */
  readonly note?: string | undefined;
  /** The proposal that a person accepts with this edit, and the hash that its definition has to have. */
  readonly accepted?: Acceptance;
}

/** What a person accepted. */
export type Acceptance = NonNullable<AgentRecord['accepted']> & { readonly hash: string };

/** What became of an edit. */
export interface EditOutcome {
  readonly record: AgentRecord;
  /** False if the definition was the present one, so that no version was made. */
  readonly isChanged: boolean;
}

/** How an agent ends: `by` a caller who asked for it, or by itself from a `cause`. */
export type AgentEnd = { readonly status: Extract<AgentStatus, 'killed' | 'expired'>; readonly reason: string } & (
  | { readonly by: string }
  | { readonly cause: EndCause }
);

/** Who makes an agent, and when, in milliseconds since 1970. */
interface Making {
  readonly by: Principal;
  readonly atMs: number;
}

/** Returns the record of a new agent, which has the token. */
export function spawnedRecord(
  request: SpawnRequest & Pick<AgentRecord, 'renewsItself'>,
  { token, principal }: IssuedToken,
  { by, atMs }: Making,
): AgentRecord {
  const facts = principal.token;
  if (!facts) throw new AtmoError('INTERNAL_ERROR', 'The issued token has no facts');
  return {
    id: principal.id,
    type: request.type,
    ...(request.kind !== undefined && { kind: request.kind }),
    name: request.name ?? principal.id,
    status: 'active',
    ...parentOf(by),
    createdAtMs: atMs,
    expiresAtMs: facts.expiresAtMs,
    ...(request.renewsItself && { renewsItself: request.renewsItself }),
    tokenId: facts.id,
    chain: facts.chain,
    permissions: principal.permissions,
    ...(request.type === 'automation' && { token }),
    config: request.config,
    ...acceptedIn(request.accepted),
    runs: 0,
    failures: 0,
  };
}

/** Returns which agent is the parent of what `by` makes: none if it is the owner. */
export function parentOf(by: Principal): Pick<AgentRecord, 'parent'> {
  return by.kind === 'owner' ? {} : { parent: by.id };
}

/** Returns the record of an automation with a new definition, without its failures, and without its run, which the edit gives up. */
export function editedRecord(
  { restsUntilMs: _, running, ...record }: AgentRecord,
  { accepted, ...changes }: Definition & { readonly version: VersionFacts; readonly accepted: Acceptance | undefined },
): AgentRecord {
  const edited: AgentRecord = { ...record, ...changes, ...acceptedIn(accepted), status: 'active', failures: 0 };
  if (!running) return edited;
  const message = 'The automation was edited during this run, which was given up; what it had done stays done';
  return {
    ...edited,
    runs: record.runs + 1,
    lastRunAtMs: running.startedAtMs,
    lastOutcome: 'stopped',
    lastError: { code: 'CANCELLED', message, atMs: changes.version.atMs },
  };
}

type RunningRecord = AgentRecord & Required<Pick<AgentRecord, 'running'>>;

/** Returns the record of an agent without the run that a stop of the hub interrupted. */
export function interruptedRecord({ running, ...record }: RunningRecord, atMs: number): AgentRecord {
  const message = 'The hub stopped during its last run: some of its calls may have taken effect; the run is not repeated';
  return {
    ...record,
    lastRunAtMs: running.startedAtMs,
    lastOutcome: 'unknown',
    lastError: { code: 'OUTCOME_UNKNOWN', message, atMs },
  };
}

/** Returns the record of an agent that has ended, without its token and its run. */
export function endedRecord(record: AgentRecord, { status, reason, ...why }: AgentEnd, atMs: number): AgentRecord {
  const { token: _token, running: _running, restsUntilMs: _rests, ...rest } = record;
  return { ...rest, status, reason, ended: { atMs, ...why } };
}

/** Returns what a record says about the proposal that a person accepted. */
function acceptedIn(accepted: Acceptance | undefined): Pick<AgentRecord, 'accepted'> {
  if (!accepted) return {};
  const { by, proposal, proposedBy } = accepted;
  return { accepted: { by, proposal, proposedBy } };
}
