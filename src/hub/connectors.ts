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
import { AtmoError } from '../core/errors.ts';
import { acceptedTextsInStore } from '../core/files/owner-file.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import type { PeopleReach } from '../core/notices.ts';
import { readRecordFile } from '../tools/manifest/record-file.ts';
import type { ProgramSandbox } from '../tools/programs/program-sandbox.ts';
import type { HubConfig } from './config/config.ts';
import { requireProtectedFiles } from './config/config-check.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ToolServices } from './tool-services.ts';

interface ConnectorOptions {
  readonly config: HubConfig;
  /** The environment variables, which may contain secrets. */
  readonly env: NodeJS.ProcessEnv;
  readonly programs: ProgramSandbox;
  readonly version: string;
  readonly stack: ServiceStack;
}

type OpenConnector = (context: ConnectorContext, config: ConnectorsConfig) => Connector;

/** All connectors, whether configured or not. */
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

/** Reaches nobody, because the owner configured no recipients. */
const NOBODY: PeopleReach = {
  waysOf: () => [],
  send: async (way, { recipient }) => {
    throw new AtmoError('NOT_FOUND', `${recipient} is not reached by ${way} any more`);
  },
};

/**
 * Registers the tools of all connectors, starts their services, and returns the ways over which persons are reached. Rejects with
 * CONFIG_INVALID if a setting is impossible.
 */
export async function openConnectors(
  infrastructure: Infrastructure,
  { registry, capabilities, pipeline }: ToolServices,
  { config, env, programs, version, stack }: ConnectorOptions,
): Promise<PeopleReach> {
  const takenOf = acceptedTextsInStore(infrastructure.store, config.stateDir);
  requireProtectedFiles(config, env, readRecordFile(config.tools.manifestFile, { takenOf }));
  const { auth, clock, store, directory: devices } = infrastructure;
  const { tokens, authorizer } = auth;
  const shared: ConnectorContext = {
    clock,
    events: infrastructure.events,
    problems: infrastructure.problems,
    store,
    readings: infrastructure.readings,
    logger: infrastructure.logger.child({ module: 'connectors' }),
    registry,
    devices,
    env,
    programs,
    nodeId: auth.key.hubId,
    stateDir: config.stateDir,
    hub: { name: config.mesh.name, version },
    agents: { clock, pipeline, tokens, authorizer },
  };
  let reached: PeopleReach = NOBODY;
  for (const open of CONNECTORS) {
    const { tools, aliases = {}, capabilities: brought = [], service, reach } = open(shared, config.connectors);
    for (const tool of tools) registry.register(tool);
    for (const [alias, name] of Object.entries(aliases)) registry.alias(alias, name);
    for (const capability of brought) capabilities.add(capability);
    if (service) await stack.start(service);
    if (reach) reached = reach;
  }
  return reached;
}
