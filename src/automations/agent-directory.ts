import { type Authorizer, isSelfOrDescendant, type Principal } from '../core/auth/principal.ts';
import { AtmoError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { oncePerObject } from '../core/lifecycle.ts';
import type { ReferringText } from '../tools/names/name-references.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import { type AgentRecord, type AgentStore, isLiving } from './agent-store.ts';
import type { AgentQueries } from './automation-ports.ts';
import { parseParameters, planOrNone } from './plan/parse-automation.ts';
import type { AutomationPlan } from './plan/plan-schema.ts';
import { requireAutomation, requireMaker } from './spawn-checks.ts';
import type { Version } from './versions/version-store.ts';

interface DirectoryParts {
  readonly agents: Pick<AgentStore, 'all' | 'get' | 'living' | 'versions'>;
  readonly authorizer: Authorizer;
  readonly validator: SchemaValidator;
}

/** Says which agents this hub has and what they do. Changes nothing. */
export class AgentDirectory implements AgentQueries {
  readonly #parts: DirectoryParts;
  // Each list and each check needs the plans of all automations. A changed configuration is a new object.
  readonly #knownPlan = oncePerObject((config: JsonObject) => planOrNone(config, this.#parts.validator));

  constructor(parts: DirectoryParts) {
    this.#parts = parts;
  }

  /** Returns the caller's own agent and its descendants. The owner and callers with `admin:agents` get all agents. */
  list(by: Principal): readonly AgentRecord[] {
    const mayAll = this.#parts.authorizer.authorize(by, ['admin:agents']).allowed;
    return this.records().filter(({ id }) => mayAll || (by.kind === 'agent' && isSelfOrDescendant(id, by.id)));
  }

  records(): readonly AgentRecord[] {
    return this.#parts.agents.all();
  }

  /** Returns the record of an agent. Throws NOT_FOUND if there is none with this id. */
  require(id: string): AgentRecord {
    const record = this.#parts.agents.get(id);
    if (record) return record;
    throw new AtmoError('NOT_FOUND', `There is no agent ${JSON.stringify(id.slice(0, 100))}; list_agents returns the ids`);
  }

  /** Returns the record of an agent that has not ended. Throws NOT_FOUND, or CONFLICT if it has ended. */
  requireLiving(id: string): AgentRecord {
    const record = this.require(id);
    if (isLiving(record)) return record;
    throw new AtmoError('CONFLICT', `The agent ${id} has ended (${record.status})`);
  }

  /** Returns the versions of an automation, the newest first. Throws NOT_FOUND, NOT_SUPPORTED, and PERMISSION_DENIED unless `by` may edit it. */
  versions(id: string, by: Principal): readonly Version[] {
    const record = this.require(id);
    requireAutomation(record, 'have versions: what it does stands elsewhere');
    requireMaker(record, by, { verb: 'see the definition of', authorizer: this.#parts.authorizer });
    return this.#parts.agents.versions.of(record);
  }

  /** Returns the name that people read of an agent; its id if there is none. */
  nameOf(id: string): string {
    return this.#parts.agents.get(id)?.name ?? id;
  }

  /** Returns the configuration of each living agent, so that the names of devices and tools in it can be found. */
  referringTexts(): readonly ReferringText[] {
    const living = this.#parts.agents.living();
    return living.map(({ id, type, config }) => ({ kind: type === 'automation' ? 'automation' : 'agent', id, content: config }));
  }

  planOf({ config }: Pick<AgentRecord, 'config'>): AutomationPlan | undefined {
    return this.#knownPlan(config);
  }

  parametersOf({ config }: AgentRecord): Readonly<Record<string, Json>> {
    const parameters = Object.entries(parseParameters(config, this.#parts.validator));
    return Object.fromEntries(parameters.map(([name, { value }]) => [name, value]));
  }
}
