import type { PeopleDirectory } from '../core/auth/people.ts';
import { type Authorizer, isSelfOrDescendant, type Principal } from '../core/auth/principal.ts';
import type { EventType, HubEvent } from '../core/events.ts';
import type { DeviceId } from '../core/ids.ts';
import { mayCallTool } from '../tools/definition/tool-permissions.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import type { JobPort } from './ports.ts';
import { isOwnCall, seesAllCalls, type VisibleHome } from './visible-home.ts';

interface EventVisibilityCollaborators {
  readonly authorizer: Authorizer;
  readonly registry: Pick<ToolRegistry, 'get' | 'getRemoved'>;
  readonly jobs: Pick<JobPort, 'get'>;
  readonly home: VisibleHome;
  readonly people: Pick<PeopleDirectory, 'personOf'>;
}

type VisibilityRule = (event: HubEvent, receiver: Principal) => boolean;

/** Decides which principal may receive which event. Nobody receives an event whose type has no rule. */
export class EventVisibility {
  readonly #parts: EventVisibilityCollaborators;
  readonly #rules: ReadonlyMap<string, VisibilityRule>;

  constructor(parts: EventVisibilityCollaborators) {
    this.#parts = parts;
    this.#rules = new Map(Object.entries(this.#ruleTable()));
  }

  mayReceive(event: HubEvent, receiver: Principal): boolean {
    return this.#rules.get(event.type)?.(event, receiver) ?? false;
  }

  #ruleTable(): Record<EventType, VisibilityRule> {
    const device: VisibilityRule = ({ subject }, receiver) => this.#parts.home.maySee(receiver, subject as DeviceId);
    const tool: VisibilityRule = (event, receiver) => this.#maySeeTool(event, receiver);
    const call: VisibilityRule = ({ data }, receiver) =>
      isOwnCall(receiver, data.agent_id) ||
      seesAllCalls(receiver, this.#parts.authorizer) ||
      (data.notify_admins === true && this.#has(receiver, 'admin:hub'));
    const approval: VisibilityRule = (event, receiver) =>
      isOwnCall(receiver, event.data.agent_id) || this.#has(receiver, 'admin:approvals');
    const token: VisibilityRule = (event, receiver) => isKin(receiver, event.data.agent_id) || this.#has(receiver, 'admin:token');
    const hub: VisibilityRule = (_event, receiver) => this.#has(receiver, 'admin:hub');
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
      'sensor.reading': ({ subject }, receiver) => this.#parts.home.mayRead(receiver, subject),
      'job.changed': ({ subject }, receiver) => this.#ownsJob(receiver, subject),
      'approval.requested': approval,
      'approval.decided': approval,
      'approval.removed': approval,
      'token.issued': token,
      'token.revoked': token,
      'agent.changed': ({ subject }, receiver) => isKin(receiver, subject) || this.#has(receiver, 'admin:agents'),
      'proposal.changed': ({ data }, receiver) =>
        isKin(receiver, data.agent_id) || (this.#parts.people.personOf(receiver) !== undefined && this.#has(receiver, 'agent:spawn')),
      'house.changed': ({ subject }, receiver) =>
        this.#has(receiver, subject.startsWith('flag/') ? `flag:read:${subject.slice('flag/'.length)}` : 'presence:read'),
      'scene.run': ({ subject }, receiver) => this.#has(receiver, `scene:read:${subject}`),
      'rules.changed': hub,
      'notice.changed': ({ subject }, receiver) =>
        this.#parts.people.personOf(receiver)?.name === subject && this.#has(receiver, 'notice:own'),
      'mesh.changed': hub,
      'peer.changed': (_event, receiver) => this.#has(receiver, 'mesh:read'),
      'hub.warning': hub,
    };
  }

  #has(receiver: Principal, permission: string): boolean {
    return this.#parts.authorizer.authorize(receiver, [permission]).allowed;
  }

  #maySeeTool({ subject }: HubEvent, receiver: Principal): boolean {
    const tool = this.#parts.registry.get(subject) ?? this.#parts.registry.getRemoved(subject);
    return tool !== undefined && mayCallTool(tool, receiver, this.#parts.authorizer);
  }

  #ownsJob(receiver: Principal, id: string): boolean {
    try {
      this.#parts.jobs.get(id, receiver);
      return true;
    } catch {
      return false;
    }
  }
}

/** Returns whether the receiver is an agent, and `agentId` is the id of this agent or of one of its descendants. */
function isKin({ kind, id }: Principal, agentId: unknown): boolean {
  return kind === 'agent' && typeof agentId === 'string' && isSelfOrDescendant(agentId, id);
}
