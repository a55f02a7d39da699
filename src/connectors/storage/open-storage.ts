import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import { AgentData } from './agent-data.ts';
import { storageTools } from './storage-tools.ts';

/** What agents keep on the hub itself: there in any case. */
export function openStorage(
  { store, clock }: Pick<ConnectorGround, 'store' | 'clock'>,
  { storage }: Pick<ConnectorsConfig, 'storage'>,
): Connector {
  return {
    tools: storageTools(new AgentData({ store, clock }, storage)),
    capabilities: [{ type: 'storage', description: () => 'Values that agents keep by key' }],
  };
}
