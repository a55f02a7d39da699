import { type Authorizer, isSelfOrDescendant, type Principal } from '../core/auth/principal.ts';
import type { EventType, HubEvent } from '../core/events.ts';
import type { DeviceId } from '../core/ids.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { mayCallTool } from '../tools/definition/tool-permissions.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import type { JobPort } from './ports.ts';
import { isOwnCall, seesAllCalls, type VisibleHome } from './visible-home.ts';

interface EventVisibilityCollaborators {
  readonly authorizer: Authorizer;
  readonly registry: ToolRegistry;
  readonly jobs: Pick<JobPort, 'get'>;
  readonly sight: VisibleHome;
}

type VisibilityRule = (event: HubEvent, listener: Principal) => boolean;

/** As many removed tools as may still be spoken of by remembered events. */
const MAX_REMOVED = 1_000;

/** Who may hear which event. A type without a rule is heard by nobody. */
export class EventVisibility {
  readonly #authorizer: Authorizer;
  readonly #registry: ToolRegistry;
  readonly #jobs: Pick<JobPort, 'get'>;
  readonly #sight: VisibleHome;
  /** A tool's own permissions say who may hear that it is gone, when the registry no longer knows them. */
  readonly #removed = new Map<string, RegisteredTool>();
  readonly #rules: ReadonlyMap<string, VisibilityRule>;

  constructor({ authorizer, registry, jobs, sight }: EventVisibilityCollaborators) {
    this.#authorizer = authorizer;
    this.#registry = registry;
    this.#jobs = jobs;
    this.#sight = sight;
    this.#rules = new Map(Object.entries(this.#ruleTable()));
  }

  /** Remembers what is removed from now on; the answer stops it. */
  start(): () => void {
    return this.#registry.onChange(({ kind, tool }) => {
      if (kind === 'removed') this.#remember(tool);
    });
  }

  mayHear(event: HubEvent, listener: Principal): boolean {
    return this.#rules.get(event.type)?.(event, listener) ?? false;
  }

  #ruleTable(): Record<EventType, VisibilityRule> {
    const device: VisibilityRule = ({ subject }, listener) => this.#sight.maySee(listener, subject as DeviceId);
    const tool: VisibilityRule = (event, listener) => this.#maySeeTool(event, listener);
    const call: VisibilityRule = ({ data }, listener) =>
      isOwnCall(listener, data.agent_id) ||
      seesAllCalls(listener, this.#authorizer) ||
      (data.notify_admins === true && this.#has(listener, 'admin:hub'));
    const approval: VisibilityRule = (event, listener) =>
      isOwnCall(listener, event.data.agent_id) || this.#has(listener, 'admin:approvals');
    const token: VisibilityRule = (event, listener) => isKin(listener, event.data.agent_id) || this.#has(listener, 'admin:token');
    const hub: VisibilityRule = (_event, listener) => this.#has(listener, 'admin:hub');
    return {
      'agi.tool.discovered': tool,
      'agi.tool.created': tool,
      'agi.tool.removed': tool,
      'agi.tool.invoked': call,
      'agi.tool.result': call,
      'agi.tool.failed': call,
      'device.added': device,
      'device.removed': device,
      'device.changed': device,
      'device.reachability': device,
      'device.event': device,
      'sensor.reading': ({ subject }, listener) => this.#sight.mayRead(listener, subject),
      'job.changed': ({ subject }, listener) => this.#ownsJob(listener, subject),
      'approval.requested': approval,
      'approval.decided': approval,
      'token.issued': token,
      'token.revoked': token,
      'agent.changed': ({ subject }, listener) => isKin(listener, subject) || this.#has(listener, 'admin:agents'),
      'rules.changed': hub,
      'mesh.changed': hub,
      'peer.changed': (_event, listener) => this.#has(listener, 'mesh:read'),
      'hub.warning': hub,
    };
  }

  #has(listener: Principal, permission: string): boolean {
    return this.#authorizer.authorize(listener, [permission]).allowed;
  }

  #maySeeTool({ subject }: HubEvent, listener: Principal): boolean {
    const tool = this.#registry.get(subject) ?? this.#removed.get(subject);
    return tool !== undefined && mayCallTool(tool, listener, this.#authorizer);
  }

  #ownsJob(listener: Principal, id: string): boolean {
    try {
      this.#jobs.get(id, listener);
      return true;
    } catch {
      return false;
    }
  }

  #remember(tool: RegisteredTool): void {
    this.#removed.delete(tool.id);
    this.#removed.set(tool.id, tool);
    const [oldest] = this.#removed.keys();
    if (this.#removed.size > MAX_REMOVED && oldest !== undefined) this.#removed.delete(oldest);
  }
}

/** Whether what is told is about the listener itself or about one of the agents that it or its children made. */
function isKin({ kind, id }: Principal, agentId: unknown): boolean {
  return kind === 'agent' && typeof agentId === 'string' && isSelfOrDescendant(agentId, id);
}
