import { openAtmosphere } from '../connectors/atmosphere/atmosphere-tools.ts';
import type { Connector, ConnectorContext } from '../connectors/connector.ts';
import type { ConnectorsConfig } from '../connectors/connectors-config.ts';
import { openDatabases } from '../connectors/databases/query-database-tool.ts';
import { openFiles } from '../connectors/files/file-tools.ts';
import { openLocation } from '../connectors/location/location-tool.ts';
import { openMessages } from '../connectors/messages/messages-connector.ts';
import { openModels } from '../connectors/models/models-connector.ts';
import { openNats } from '../connectors/nats/nats-publisher.ts';
import { openRedis } from '../connectors/redis/redis-mirror.ts';
import { openSandbox } from '../connectors/sandbox/command-tools.ts';
import { openStorage } from '../connectors/storage/storage-tools.ts';
import { openWeb } from '../connectors/web/web-connector.ts';
import { acceptedTextsInStore } from '../core/files/owner-file.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import { readRecordFile } from '../tools/manifest/record-file.ts';
import type { ProgramSandbox } from '../tools/programs/program-sandbox.ts';
import type { HubConfig } from './config/config.ts';
import { requireProtectedFiles } from './config/config-check.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ToolServices } from './tool-services.ts';

interface ConnectorOptions {
  readonly config: HubConfig;
  /** Where secrets may be. */
  readonly env: NodeJS.ProcessEnv;
  readonly programs: ProgramSandbox;
  /** Of the software. */
  readonly version: string;
  readonly stack: ServiceStack;
}

type OpenConnector = (ground: ConnectorContext, config: ConnectorsConfig) => Connector;

/** Every service outside of the hub that tools know, whether the owner has configured it or not. */
const CONNECTORS: readonly OpenConnector[] = [
  openLocation,
  openMessages,
  openModels,
  openNats,
  openAtmosphere,
  openRedis,
  openSandbox,
  openWeb,
  openStorage,
  openFiles,
  openDatabases,
];

/** Registers the tools of all connectors, and starts what runs beside calls. CONFIG_INVALID for a setting that cannot be. */
export async function openConnectors(
  ground: Infrastructure,
  { registry, capabilities, pipeline }: ToolServices,
  { config, env, programs, version, stack }: ConnectorOptions,
): Promise<void> {
  const takenOf = acceptedTextsInStore(ground.store, config.stateDir);
  requireProtectedFiles(config, env, readRecordFile(config.tools.manifestFile, { takenOf }));
  const { access, clock, store, directory: devices } = ground;
  const { tokens, authorizer } = access;
  const shared: ConnectorContext = {
    clock,
    events: ground.events,
    problems: ground.problems,
    store,
    readings: ground.readings,
    logger: ground.logger.child({ module: 'connectors' }),
    registry,
    devices,
    env,
    programs,
    nodeId: access.key.hubId,
    stateDir: config.stateDir,
    hub: { name: config.mesh.name, version },
    agents: { clock, pipeline, tokens, authorizer },
  };
  for (const open of CONNECTORS) {
    const { tools, aliases = {}, capabilities: brought = [], service } = open(shared, config.connectors);
    for (const tool of tools) registry.register(tool);
    for (const [alias, name] of Object.entries(aliases)) registry.alias(alias, name);
    for (const capability of brought) capabilities.add(capability);
    if (service) await stack.start(service);
  }
}
