import type { HubConfig } from '../config/config.ts';
import { requireOwnFilesApart } from '../config/own-files-apart.ts';
import { openAtmosphere } from '../connectors/atmosphere/open-atmosphere.ts';
import type { Connector, ConnectorGround } from '../connectors/connector.ts';
import type { ConnectorsConfig } from '../connectors/connector-config.ts';
import { openDatabases } from '../connectors/database/open-databases.ts';
import { openFiles } from '../connectors/files/open-files.ts';
import { openLocation } from '../connectors/location/open-location.ts';
import { openMessages } from '../connectors/messages/open-messages.ts';
import { openModels } from '../connectors/models/open-models.ts';
import { openNats } from '../connectors/nats/open-nats.ts';
import { openRedis } from '../connectors/redis/open-redis.ts';
import { openSandbox } from '../connectors/sandbox/open-sandbox.ts';
import { openStorage } from '../connectors/storage/open-storage.ts';
import { openWeb } from '../connectors/web/open-web.ts';
import type { ServiceStack } from '../core/service.ts';
import { takenInStore } from '../core/storage/owner-file.ts';
import { readRecordFile } from '../tools/manifest/record-file.ts';
import type { ProgramSandbox } from '../tools/programs/program-sandbox.ts';
import type { Ground } from './open-ground.ts';
import { hubName, type Workshop } from './open-workshop.ts';

interface ConnectorOptions {
  readonly config: HubConfig;
  /** Where secrets may be. */
  readonly env: NodeJS.ProcessEnv;
  readonly programs: ProgramSandbox;
  /** Of the software. */
  readonly version: string;
  readonly stack: ServiceStack;
}

type OpenConnector = (ground: ConnectorGround, config: ConnectorsConfig) => Connector;

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
  ground: Ground,
  { registry, capabilities, pipeline }: Workshop,
  { config, env, programs, version, stack }: ConnectorOptions,
): Promise<void> {
  const takenOf = takenInStore(ground.store, config.stateDir);
  requireOwnFilesApart(config, env, readRecordFile(config.tools.manifestFile, { takenOf }));
  const { access, clock, store, directory: devices } = ground;
  const { tokens, authorizer } = access;
  const shared: ConnectorGround = {
    clock,
    events: ground.events,
    problems: ground.problems,
    store,
    readings: ground.readings,
    logger: ground.logger.child({ room: 'connectors' }),
    registry,
    devices,
    env,
    programs,
    nodeId: access.key.hubId,
    stateDir: config.stateDir,
    hub: { name: hubName(config), version },
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
