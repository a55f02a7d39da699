import type { Connector, ConnectorGround } from './connectors/connector.ts';
import type { ConnectorsConfig } from './connectors/connector-config.ts';
import { openFiles } from './connectors/files/open-files.ts';
import { openLocation } from './connectors/location/open-location.ts';
import { openMessages } from './connectors/messages/open-messages.ts';
import { openModels } from './connectors/models/open-models.ts';
import { openNats } from './connectors/nats/open-nats.ts';
import { openRedis } from './connectors/redis/open-redis.ts';
import { openSandbox } from './connectors/sandbox/open-sandbox.ts';
import { openStorage } from './connectors/storage/open-storage.ts';
import { openWeb } from './connectors/web/open-web.ts';
import type { ServiceStack } from './core/service.ts';
import type { Workshop } from './open-workshop.ts';

type OpenConnector = (ground: ConnectorGround, config: ConnectorsConfig) => Connector;

/** Every service outside of the hub that tools know, whether the owner has configured it or not. */
const CONNECTORS: readonly OpenConnector[] = [
  openLocation,
  openMessages,
  openModels,
  openNats,
  openRedis,
  openSandbox,
  openWeb,
  openStorage,
  openFiles,
];

/** Registers the tools of all connectors, and starts what runs beside calls. CONFIG_INVALID for a setting that cannot be. */
export async function openConnectors(
  ground: Omit<ConnectorGround, 'registry'>,
  { registry, capabilities }: Workshop,
  { config, stack }: { readonly config: ConnectorsConfig; readonly stack: ServiceStack },
): Promise<void> {
  for (const open of CONNECTORS) {
    const { tools, aliases = {}, capabilities: brought = [], service } = open({ ...ground, registry }, config);
    for (const tool of tools) registry.register(tool);
    for (const [alias, name] of Object.entries(aliases)) registry.alias(alias, name);
    for (const capability of brought) capabilities.add(capability);
    if (service) await stack.start(service);
  }
}
