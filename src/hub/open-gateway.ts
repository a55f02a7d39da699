import { sign } from 'node:crypto';
import { join } from 'node:path';
import type { HubConfig } from '../config/config.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { ReadingStore } from '../core/devices/reading-store.ts';
import type { EventBus } from '../core/events.ts';
import type { HubProblems } from '../core/hub-problems.ts';
import type { DeviceId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { Clock } from '../core/time/clock.ts';
import { isLoopback } from '../gateway/door/loopback.ts';
import { type GatewayOptions, HttpGateway } from '../gateway/http-gateway.ts';
import { MetricRegistry } from '../gateway/metrics/metrics.ts';
import type { HealthReport } from '../gateway/ports.ts';
import type { ToolRegistrar } from '../tools/registration/tool-registrar.ts';
import type { KeptHomeNames } from '../tools/search/kept-home-names.ts';
import { LexicalEntitySearch } from '../tools/search/lexical-entity-search.ts';
import { LexicalToolSearch } from '../tools/search/lexical-tool-search.ts';
import type { Access } from './open-access.ts';
import type { Workshop } from './open-workshop.ts';

/** What the door opens to. */
interface GatewayGround {
  readonly access: Access;
  readonly directory: DeviceDirectory;
  readonly readings: ReadingStore;
  readonly events: EventBus;
  readonly homeNames: KeptHomeNames;
  readonly store: KeyValueStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly problems: HubProblems;
}

type GatewayWorkshop = Pick<Workshop, 'registry' | 'tools' | 'validator' | 'jobs' | 'outlook' | 'capabilities' | 'pipeline'>;

interface GatewayWishes {
  readonly registrations: ToolRegistrar;
  readonly config: HubConfig;
  readonly health: () => HealthReport;
  readonly meshDrops: () => Readonly<Record<string, number>>;
}

/** The HTTP interface of a hub, with the search, MCP and the page behind it. */
export function openGateway(
  ground: GatewayGround,
  workshop: GatewayWorkshop,
  { config, health, meshDrops, registrations }: GatewayWishes,
): HttpGateway {
  const { access, directory, homeNames } = ground;
  return new HttpGateway(
    {
      pipeline: workshop.pipeline,
      registry: workshop.registry,
      tools: workshop.tools,
      outlook: workshop.outlook,
      validator: workshop.validator,
      jobs: workshop.jobs,
      capabilities: workshop.capabilities,
      registrations,
      directory,
      homeNames,
      readings: ground.readings,
      events: ground.events,
      problems: ground.problems,
      logger: ground.logger,
      store: ground.store,
      clock: ground.clock,
      search: new LexicalToolSearch({ names: homeNames, device: (id) => directory.get(id as DeviceId) }),
      entities: new LexicalEntitySearch(homeNames),
      authenticator: access.authenticator,
      authorizer: access.authorizer,
      signChallenge: (statement) => sign(null, statement, access.key.privateKey),
      metrics: new MetricRegistry(),
      meshDrops,
      health: { health },
      time: access.time,
    },
    doorOf(config),
  );
}

/** Other machines are let in over TLS alone; on a loopback address the owner may want it too. */
function doorOf({ http: { host, port, tls }, stateDir }: HubConfig): GatewayOptions {
  const isServed = tls.isEnabled ?? !isLoopback(host);
  return { host, port, ...(isServed && { tls: { ...tls, directory: join(stateDir, 'tls') } }) };
}
