import type { Principal } from '../core/auth/principal.ts';
import { AtmoError } from '../core/errors.ts';
import type { EventListener, EventType } from '../core/events.ts';
import type { MeshView, Peer } from '../core/mesh-view.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { RemoteTools } from '../tools/registry/tool-directory.ts';
import type { RemoteJobs } from './jobs/job-directory.ts';
import type { CallRouter } from './pipeline-context.ts';

/** The ports of the mesh that calls use. */
export interface MeshPorts {
  readonly view: MeshView;
  readonly tools: RemoteTools;
  readonly router: CallRouter;
  readonly jobs: RemoteJobs;
  readonly events: RemoteEvents;
}

const NO_TOOLS: readonly RegisteredTool[] = [];

/**
 * Mesh ports that forward to the current mesh. Modules use them instead of the mesh itself, because a hub may join or leave a mesh while it
 * runs. Without a mesh there are no other hubs and no remote tools, and a call to another hub rejects with NODE_UNAVAILABLE.
 */
export class MeshProxy implements MeshPorts {
  readonly view: MeshView;
  readonly tools: RemoteTools;
  readonly router: CallRouter;
  readonly jobs: RemoteJobs;
  readonly events: RemoteEvents;

  constructor(ports: () => MeshPorts | undefined) {
    this.view = {
      get meshId() {
        return ports()?.view.meshId;
      },
      peers: (): readonly Peer[] => ports()?.view.peers() ?? [],
    };
    this.tools = {
      all: () => ports()?.tools.all() ?? NO_TOOLS,
      resolve: (name, options) => ports()?.tools.resolve(name, options),
      departedHubs: (name, options) => ports()?.tools.departedHubs(name, options) ?? [],
      incompleteHubs: (onlyNodes) => ports()?.tools.incompleteHubs(onlyNodes) ?? [],
      awaitComplete: (onlyNodes, searched) => ports()?.tools.awaitComplete(onlyNodes, searched),
      modelName: (tool) => requireJoined(ports, tool.id).tools.modelName(tool),
      hubsWith: (toolId) => ports()?.tools.hubsWith(toolId) ?? [],
      onChange: (listener) => ports()?.tools.onChange(listener) ?? (() => {}),
    };
    this.router = { forward: async (hubId, call) => requireJoined(ports, hubId).router.forward(hubId, call) };
    this.jobs = {
      status: async (hubId, jobId, asker) => requireJoined(ports, hubId).jobs.status(hubId, jobId, asker),
      cancel: async (hubId, jobId, asker) => requireJoined(ports, hubId).jobs.cancel(hubId, jobId, asker),
    };
    this.events = {
      subscribe: async (hubId, subscription, listener) => requireJoined(ports, hubId).events.subscribe(hubId, subscription, listener),
    };
  }
}

function requireJoined(ports: () => MeshPorts | undefined, wanted: string): MeshPorts {
  const mesh = ports();
  if (mesh) return mesh;
  throw new AtmoError('NODE_UNAVAILABLE', `${wanted} is of another hub, and this one is in no mesh; create one or join one first`);
}

/** A subscription to events of another hub. */
export interface RemoteSubscription {
  readonly principal: Principal;
  /** Event types to receive; all types if absent. */
  readonly types?: readonly EventType[];
  /** Subjects of the events to receive; all subjects if absent. */
  readonly subjects?: readonly string[];
  /** Called when events may have been missed: the connection was lost and restored, or the listener was too slow. */
  readonly onGap?: () => void;
  /** Ends the subscription. */
  readonly signal: AbortSignal;
}

/** Port: the events of other hubs. A hub sends only the events that the principal may see there. */
export interface RemoteEvents {
  /**
   * Listens until the signal aborts, then resolves. Rejects with NODE_UNAVAILABLE if the hub cannot be reached or a lost connection cannot
   * be restored, and with PERMISSION_DENIED if the hub refuses the principal.
   */
  subscribe(hubId: string, subscription: RemoteSubscription, listener: EventListener): Promise<void>;
}
