import { AtmoError } from '../../core/errors.ts';
import type { MeshView, Peer } from '../../core/mesh/mesh-view.ts';
import type { CallRouter } from '../calls/call-collaborators.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import type { RemoteEvents } from './remote-events.ts';
import type { RemoteJobs } from './remote-jobs.ts';
import type { RemoteTools } from './remote-tools.ts';

/** All that a hub in a mesh offers to calls. */
export interface MeshPorts {
  readonly view: MeshView;
  readonly tools: RemoteTools;
  readonly router: CallRouter;
  readonly jobs: RemoteJobs;
  readonly events: RemoteEvents;
}

const NO_TOOLS: readonly RegisteredTool[] = [];

/**
 * The ports of the mesh for those that are made before it is there, and for a hub that joins and leaves while it runs: without
 * a mesh there are no other hubs and no tools of theirs, and what is asked of one is NODE_UNAVAILABLE.
 */
export class MeshOutlook implements MeshPorts {
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
      departed: (name, options) => ports()?.tools.departed(name, options) ?? [],
      unread: (onlyNodes) => ports()?.tools.unread(onlyNodes) ?? [],
      whole: (onlyNodes) => ports()?.tools.whole(onlyNodes),
      modelName: (tool) => joined(ports, tool.id).tools.modelName(tool),
      hubsWith: (toolId) => ports()?.tools.hubsWith(toolId) ?? [],
      hubsWithDevice: (device) => ports()?.tools.hubsWithDevice(device) ?? [],
      onChange: (listener) => ports()?.tools.onChange(listener) ?? (() => {}),
    };
    this.router = { forward: async (hubId, call) => joined(ports, hubId).router.forward(hubId, call) };
    this.jobs = {
      status: async (hubId, jobId, asker) => joined(ports, hubId).jobs.status(hubId, jobId, asker),
      cancel: async (hubId, jobId, asker) => joined(ports, hubId).jobs.cancel(hubId, jobId, asker),
    };
    this.events = {
      subscribe: async (hubId, subscription, listener) => joined(ports, hubId).events.subscribe(hubId, subscription, listener),
    };
  }
}

function joined(ports: () => MeshPorts | undefined, wanted: string): MeshPorts {
  const mesh = ports();
  if (mesh) return mesh;
  throw new AtmoError('NODE_UNAVAILABLE', `${wanted} is of another hub, and this one is in no mesh; create one or join one first`);
}
