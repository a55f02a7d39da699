import { randomBytes } from 'node:crypto';
import type { PeopleDirectory } from '../../core/auth/people.ts';
import { commonPermissions, requireGrant } from '../../core/auth/permission.ts';
import { isSelfOrDescendant, OWNER, type Principal } from '../../core/auth/principal.ts';
import { AtmoError, invalidInput } from '../../core/errors.ts';
import type { EventBus } from '../../core/events.ts';
import type { JsonObject } from '../../core/json.ts';
import { isWrittenVisibly } from '../../core/untrusted-text.ts';
import { callerView } from '../../tools/definition/tool-permissions.ts';
import type { Acceptance, AutomationEdit, EditOutcome, SpawnRequest } from '../agent-changes.ts';
import { type AgentRecord, isLiving } from '../agent-store.ts';
import { checkActionsFor } from '../automation-access.ts';
import type { CheckToolPorts } from '../automation-ports.ts';
import { observedBy, requireVisible } from '../observed.ts';
import { boundSeenDefinition, thingsIn } from '../plan/bind-names.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
import { callsIn } from '../run/step-calls.ts';
import { idPartOf, requireOwnPermissions } from '../spawn-checks.ts';
import { definitionHash, sortedPermissions } from '../versions/definition.ts';
import { isUnbounded } from '../versions/edit-checks.ts';
import { presentVersion } from '../versions/version-store.ts';
import type { Proposal, ProposalStore } from './proposal-store.ts';

/** Port: makes automations and edits them, as far as `by` may. */
interface AutomationMaker {
  spawn(request: SpawnRequest, by: Principal): { readonly record: AgentRecord };
  edit(id: string, edit: AutomationEdit, by: Principal): EditOutcome;
}

interface ProposalParts {
  readonly store: ProposalStore;
  readonly runner: AutomationMaker;
  readonly people: Pick<PeopleDirectory, 'personOf'>;
  readonly events: Pick<EventBus, 'emit'>;
  readonly ports: CheckToolPorts;
}

/** What an agent proposes. */
interface ProposalRequest {
  readonly name: string;
  readonly sentence?: string | undefined;
  readonly config: JsonObject;
  readonly permissions: readonly string[];
  /** Id of the automation that it would replace. */
  readonly replaces?: string | undefined;
}

/** Keeps the automations that agents propose until a person accepts or declines them. */
export class Proposals {
  readonly #parts: ProposalParts;

  constructor(parts: ProposalParts) {
    this.#parts = parts;
  }

  /**
   * Stores a proposal. It may ask for permissions that the agent does not have, but what it names has to be visible to the agent: anything
   * else is as unknown as what does not exist. Throws as the check of a new automation does, and RESOURCE_EXCEEDED or RATE_LIMITED.
   */
  propose(request: ProposalRequest, by: Principal): Proposal {
    const { store, events } = this.#parts;
    store.requireRoom(by.id);
    idPartOf(request.name, 'automation');
    const permissions = sortedPermissions(request.permissions);
    for (const permission of permissions) requireGrant(permission);
    const { config, plan } = this.#checked({ ...request, permissions }, by);
    const replaces = request.replaces === undefined ? undefined : this.#replaced(request.replaces, by);
    const proposal: Proposal = {
      id: randomBytes(8).toString('hex'),
      name: request.name,
      ...(request.sentence !== undefined && { sentence: request.sentence }),
      by: by.id,
      ...store.times(),
      config,
      permissions,
      hash: definitionHash({ config, permissions }),
      ...(replaces && { replaces }),
      named: this.#named(config, plan),
    };
    store.put(proposal);
    events.emit('proposal.changed', proposal.id, { agent_id: by.id, state: 'open' });
    return proposal;
  }

  /** Returns the proposals that wait, the newest first. */
  open(): readonly Proposal[] {
    const made = this.#made();
    return this.#parts.store.open().filter(({ id }) => !made.has(id));
  }

  /** Returns the proposals that wait, for a person who may accept them; for an agent its own, also those that were answered. */
  list(by: Principal): readonly Proposal[] {
    if (this.#mayAnswer(by)) return this.open();
    if (by.kind !== 'agent') return [];
    const own = this.#parts.store.all().filter((proposal) => isSelfOrDescendant(proposal.by, by.id));
    const made = this.#made();
    return own.filter(({ id, answer }) => answer !== undefined || !made.has(id));
  }

  /**
   * Makes the automation of a proposal, or edits the one that it replaces, for the person who accepts it. Throws CONFLICT if the definition is
   * not the one with this hash, or if what it names is not what it was. Throws PERMISSION_DENIED for permissions beyond the person's own.
   */
  accept(id: string, hash: string, by: Principal): AgentRecord {
    const { store, runner, events } = this.#parts;
    this.#requirePerson(by);
    const proposal = store.requireOpen(id);
    if (this.#made().has(id)) throw new AtmoError('CONFLICT', `The proposal ${id} was accepted already`);
    if (hash !== proposal.hash)
      throw new AtmoError('CONFLICT', 'The proposal is not the one with this hash; look at it again', { reason: 'other_hash' });
    this.#requireSameNames(proposal);
    const { name, config, permissions } = proposal;
    requireOwnPermissions(permissions, by);
    const accepted: Acceptance = { by: by.id, proposal: id, proposedBy: proposal.by, hash };
    const record = proposal.replaces
      ? this.#replace(proposal, accepted, by)
      : runner.spawn({ type: 'automation', name, config, permissions, accepted, ...this.#lifeFor(proposal, by) }, this.#makerFor(by))
          .record;
    store.put({ ...proposal, answer: { kind: 'accepted', by: by.id, atMs: store.times().atMs, agentId: record.id } });
    events.emit('proposal.changed', id, { agent_id: proposal.by, state: 'accepted' });
    return record;
  }

  decline(id: string, reason: string | undefined, by: Principal): void {
    const { store, events } = this.#parts;
    this.#requirePerson(by);
    const proposal = store.requireOpen(id);
    const answer = { kind: 'declined', by: by.id, atMs: store.times().atMs, ...(reason !== undefined && { reason }) } as const;
    store.put({ ...proposal, answer });
    events.emit('proposal.changed', id, { agent_id: proposal.by, state: 'declined' });
  }

  /** Returns the automation that a proposal would replace, as it is now; undefined if there is none or `by` may not see its definition. */
  replacedBy({ replaces }: Proposal, by: Principal): AgentRecord | undefined {
    const { ports } = this.#parts;
    const mayAll = ports.authorizer.authorize(by, ['admin:agents']).allowed;
    return replaces && ports.agents.records().find((one) => one.id === replaces.id && isLiving(one) && (mayAll || one.parent === by.id));
  }

  #checked({ name, config: written, permissions }: ProposalRequest, by: Principal) {
    const { ports } = this.#parts;
    if (!isWrittenVisibly(JSON.stringify(written))) throw invalidInput('The config has characters that people cannot see; leave them out');
    const { config, plan } = boundSeenDefinition(written, by, ports);
    const caller = callerView(by, ports.authorizer);
    // The readings of expressions are no members with a name, so that binding does not look at them.
    for (const about of observedBy(plan)) if ('sensor_id' in about) ports.things.idOf('sensor', about.sensor_id, caller);
    const holder: Principal = { id: idPartOf(name, 'automation'), kind: 'agent', permissions };
    requireVisible(plan, holder, ports.check);
    checkActionsFor(plan.actions, { viewer: by, holder }, ports.check);
    return { config, plan };
  }

  #replaced(id: string, by: Principal): NonNullable<Proposal['replaces']> {
    const { agents } = this.#parts.ports;
    const isOwn = ({ accepted }: AgentRecord) => accepted !== undefined && isSelfOrDescendant(accepted.proposedBy, by.id);
    const seen = new Set(agents.list(by).map((record) => record.id));
    const record = agents.records().find((one) => one.id === id && (seen.has(id) || isOwn(one)));
    if (record?.type === 'automation' && isLiving(record)) return { id, version: presentVersion(record).number };
    throw new AtmoError('NOT_FOUND', `There is no automation ${JSON.stringify(id.slice(0, 100))} that you may see`);
  }

  /** Returns what a definition names: devices, sensors and scenes, and the devices whose tools it calls. */
  #named(config: JsonObject, { actions }: AutomationPlan): Proposal['named'] {
    const { things, registry, check } = this.#parts.ports;
    const devices = callsIn(actions, check.clock.now()).flatMap(
      ({ action }) => registry.find(action.tool)?.definition.metadata.device ?? [],
    );
    const all = [...thingsIn(config), ...devices.map((id) => ({ kind: 'device', id }) as const)];
    return all.flatMap(({ kind, id }) => {
      const name = things.nameOf(kind, id);
      return name === undefined ? [] : [{ kind, id, name }];
    });
  }

  /** Throws CONFLICT if something has another name than when it was proposed: the person may take it for another thing. */
  #requireSameNames({ named }: Proposal): void {
    const { things } = this.#parts.ports;
    const other = named.find(({ kind, id, name }) => things.nameOf(kind, id) !== name);
    if (!other) return;
    const now = things.nameOf(other.kind, other.id);
    const what = `The ${other.kind} ${other.id} was called ${JSON.stringify(other.name)} when this was proposed`;
    throw changed(
      `${what}; ${now === undefined ? 'it is gone' : `it is called ${JSON.stringify(now)} now`}. The agent has to propose it anew`,
    );
  }

  #replace({ config, permissions, by: proposedBy, replaces }: Proposal, accepted: Acceptance, by: Principal): AgentRecord {
    const { runner, ports } = this.#parts;
    const present = ports.agents.records().find((record) => record.id === replaces?.id && isLiving(record));
    if (!present || !replaces) throw changed('The automation that it would replace has ended');
    const { number } = presentVersion(present);
    if (number !== replaces.version) {
      throw changed(
        `${replaces.id} has version ${number} now and had ${replaces.version} when this was proposed; the agent has to propose it anew`,
      );
    }
    return runner.edit(replaces.id, { config, permissions, note: `Proposed by ${proposedBy}`, accepted }, by).record;
  }

  /** Returns who makes the automation: the owner for a person with all rights and no bounds, so that it does not end with a sign-in of the page. */
  #makerFor(by: Principal): Principal {
    const { people, ports } = this.#parts;
    return isUnbounded(by, people) && ports.authorizer.authorize(by, ['admin:agents']).allowed ? OWNER : by;
  }

  /** Returns when an automation that a person accepts ends: with the person's sign-in; undefined if it is one of the owner, or edits another. */
  endFor({ replaces }: Proposal, by: Principal): number | undefined {
    if (replaces || !this.#mayAnswer(by)) return undefined;
    return this.#makerFor(by).kind === 'owner' ? undefined : by.token?.expiresAtMs;
  }

  /** Returns the lifetime of the automation of a proposal: none, or what is left until its end. */
  #lifeFor(proposal: Proposal, by: Principal): { readonly ttlMs: number | undefined } {
    const endMs = this.endFor(proposal, by);
    return { ttlMs: endMs === undefined ? undefined : Math.max(endMs - this.#parts.ports.check.clock.now(), 60_000) };
  }

  #requirePerson(by: Principal): void {
    if (this.#mayAnswer(by)) return;
    throw new AtmoError('PERMISSION_DENIED', 'Only a person of the household accepts or declines what agents propose');
  }

  #mayAnswer(by: Principal): boolean {
    const { people, ports } = this.#parts;
    return people.personOf(by) !== undefined && ports.authorizer.authorize(by, ['agent:spawn']).allowed;
  }

  /** Returns the ids of the proposals of which automations were made. A crash may have kept the answer to one from being stored. */
  #made(): ReadonlySet<string> {
    return new Set(this.#parts.ports.agents.records().flatMap(({ accepted }) => accepted?.proposal ?? []));
  }
}

/** Returns what of the permissions of a proposal a viewer has too: what the rest would reach is not shown. */
export function sharedPermissions({ permissions }: Pick<Proposal, 'permissions'>, by: Principal): readonly string[] {
  return commonPermissions(permissions, by.permissions);
}

/** Returns the error of an outdated proposal. The home has changed since the proposal was made, so nobody can accept it. */
function changed(message: string): AtmoError {
  return new AtmoError('CONFLICT', message, { reason: 'outdated' });
}
