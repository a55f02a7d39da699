import { randomUUID } from 'node:crypto';
import { AtmoError } from '../../core/errors.ts';
import { withoutSetting } from '../../tools/definition/missing-setting.ts';
import { TokenAgent } from '../agent-calls.ts';
import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import { announcedTools } from './announcement.ts';
import { AtmosphereBridge } from './atmosphere-bridge.ts';
import type { AtmosphereConfig } from './atmosphere-config.ts';
import { type BridgeView, callTool, capabilitiesTool } from './atmosphere-tools.ts';
import { openEntry } from './mesh-entry.ts';
import { RelayConnection } from './relay-connection.ts';
import { openSocket } from './relay-socket.ts';

const AGENT = 'atmosphere-bridge';

/**
 * A relay of the Atmosphere project, where the owner configured one. CONFIG_INVALID for a secret that is not there or not for this mesh,
 * and for incoming calls that may do nothing.
 */
export function openAtmosphere(ground: ConnectorGround, { atmosphere }: Pick<ConnectorsConfig, 'atmosphere'>): Connector {
  if (!atmosphere) {
    const missing = (tool: typeof capabilitiesTool, setting: string) => withoutSetting(tool(NO_BRIDGE), setting);
    return {
      tools: [
        missing(capabilitiesTool, 'set connectors.atmosphere in the configuration'),
        missing(callTool, 'set connectors.atmosphere.calls.outgoing in the configuration'),
      ],
    };
  }
  const { bridge, view } = openBridge(ground, atmosphere);
  const call = callTool(view);
  const mayCall = atmosphere.calls?.outgoing === true;
  return {
    tools: [capabilitiesTool(view), mayCall ? call : withoutSetting(call, 'set connectors.atmosphere.calls.outgoing in the configuration')],
    service: bridge,
  };
}

function openBridge(ground: ConnectorGround, config: AtmosphereConfig): { readonly bridge: AtmosphereBridge; readonly view: BridgeView } {
  const { clock, registry, env } = ground;
  // Hub ids are made as the ids of nodes there: from the same hash of a key of the same kind.
  const nodeId = ground.nodeId.replace(/^hub-/, '');
  const name = config.name ?? ground.hub?.name ?? nodeId;
  const logger = ground.logger.child({ connector: 'atmosphere' });
  const enter = openEntry(config, nodeId, env);
  const tools = () => announcedTools(registry.all(), config.announce);
  const entry = () => enter({ nodeId, name, capabilities: tools().map(({ key }) => key) });
  const url = `${config.relay.replace(/\/+$/, '')}/relay/${config.meshId}`;
  const parts = { clock, logger, open: openSocket, random: Math.random };
  const bridge = new AtmosphereBridge(
    {
      clock,
      tools,
      newId: randomUUID,
      calls: callsOf(ground, config),
      connect: (room) => new RelayConnection(parts, { ...room, url, entry, nodeId }),
    },
    { nodeId, name },
  );
  const view: BridgeView = {
    nodeId,
    meshId: config.meshId,
    problem: () => bridge.problem,
    nodes: () => bridge.nodes.list(),
    dropped: () => bridge.nodes.dropped,
    call: (call, signal) => bridge.outgoing.call(call, signal),
  };
  return { bridge, view };
}

function callsOf({ agents }: ConnectorGround, { calls }: AtmosphereConfig): TokenAgent | undefined {
  if (!calls?.incoming) return undefined;
  if (!calls.permissions) {
    throw new AtmoError('CONFIG_INVALID', 'connectors.atmosphere.calls.incoming needs permissions, such as ["sensor:read:*"]');
  }
  if (!agents) throw new AtmoError('CONFIG_INVALID', 'connectors.atmosphere.calls.incoming needs a hub that makes tokens');
  return new TokenAgent(agents, { name: AGENT, permissions: calls.permissions });
}

/** For definitions alone: `withoutSetting` puts its own refusal in the place of the handler. */
const NO_BRIDGE: BridgeView = {
  nodeId: '',
  meshId: '',
  problem: () => 'not configured',
  nodes: () => [],
  dropped: () => 0,
  call: async () => null,
};
