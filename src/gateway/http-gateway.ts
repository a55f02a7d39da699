import type { Authorizer } from '../core/access/authorizer.ts';
import type { Authenticator, Principal } from '../core/access/principal.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { HomeNames } from '../core/devices/home-names.ts';
import type { ReadingStore } from '../core/devices/reading-store.ts';
import type { EventBus, HubEvent } from '../core/events.ts';
import type { HubProblems } from '../core/hub-problems.ts';
import type { Logger } from '../core/logger.ts';
import type { Service } from '../core/service.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { Clock } from '../core/time/clock.ts';
import type { CapabilityCatalogue } from '../tools/capability-catalogue.ts';
import type { KnownTools } from '../tools/elsewhere/known-tools.ts';
import type { MeshPorts } from '../tools/elsewhere/mesh-outlook.ts';
import type { ToolRegistrar } from '../tools/registration/tool-registrar.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import type { EntitySearch, ToolSearch } from '../tools/search/search.ts';
import type { ToolRegistry } from '../tools/tool-registry.ts';
import { callRoutes } from './calls/call-routes.ts';
import { jobRoutes } from './calls/job-routes.ts';
import { toolCallRoutes } from './calls/tool-call-routes.ts';
import { areaRoutes } from './devices/area-routes.ts';
import { CallerSight } from './devices/caller-sight.ts';
import { deviceNameRoutes } from './devices/device-name-routes.ts';
import { deviceRoutes } from './devices/device-routes.ts';
import { sensorRoutes } from './devices/sensor-routes.ts';
import { createDoor, type DoorApp } from './door/door.ts';
import { doorUrl, requireTls } from './door/door-url.ts';
import { GuessGuard } from './door/guess-guard.ts';
import { type HttpAddress, HttpServer } from './door/http-server.ts';
import { ReadPace } from './door/read-pace.ts';
import type { Route } from './door/route.ts';
import { EventAudience } from './events/event-audience.ts';
import { EventFeed } from './events/event-feed.ts';
import { eventRoutes } from './events/event-routes.ts';
import { RemoteEventStreams } from './events/remote-event-streams.ts';
import { approvalRoutes } from './hub/approval-routes.ts';
import { hubRoutes } from './hub/hub-routes.ts';
import { meshRoutes } from './hub/mesh-routes.ts';
import { systemRoutes } from './hub/system-routes.ts';
import type { McpEndpoint } from './mcp/mcp-endpoint.ts';
import { openMcp } from './mcp/open-mcp.ts';
import { watchHub } from './metrics/hub-metrics.ts';
import { watchMesh } from './metrics/mesh-metrics.ts';
import type { MetricRegistry } from './metrics/metrics.ts';
import { descriptionRoutes } from './openapi/description-routes.ts';
import { PAGE_DIR, PageFiles } from './page/page-files.ts';
import { pageRoutes } from './page/page-routes.ts';
import type { CallPort, HealthSource, JobPort } from './ports.ts';
import { TlsKeeper, type TlsOptions } from './tls/tls-keeper.ts';
import { tlsRoutes } from './tls/tls-routes.ts';
import { capabilityRoutes } from './tools/capability-routes.ts';
import { discoverRoutes } from './tools/discover-routes.ts';
import { monitorRoutes } from './tools/monitor-routes.ts';
import { previewRoutes } from './tools/preview-routes.ts';
import { registrationRoutes } from './tools/registration-routes.ts';
import { ToolCatalogue } from './tools/tool-catalogue.ts';
import { toolRoutes } from './tools/tool-routes.ts';

/** Whom the HTTP interface works with. */
export interface GatewayCollaborators {
  readonly pipeline: CallPort;
  readonly registry: ToolRegistry;
  readonly tools: KnownTools;
  /** The other hubs, their tools and their events. */
  readonly outlook: Pick<MeshPorts, 'view' | 'events' | 'tools'>;
  /** What the mesh dropped or refused since the start, by reason. */
  readonly meshDrops: () => Readonly<Record<string, number>>;
  readonly search: ToolSearch;
  readonly entities: EntitySearch;
  /** What people call devices and areas beside their names. */
  readonly homeNames: HomeNames;
  readonly validator: SchemaValidator;
  readonly jobs: JobPort;
  readonly capabilities: CapabilityCatalogue;
  /** When and by whom tools were registered while the hub ran. */
  readonly registrations: Pick<ToolRegistrar, 'record' | 'isManagedBy'>;
  readonly directory: DeviceDirectory;
  readonly readings: ReadingStore;
  readonly events: EventBus;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly metrics: MetricRegistry;
  readonly health: HealthSource;
  /** For what is wrong with the certificate's files. */
  readonly problems: Pick<HubProblems, 'raise'>;
  /** Signs with the hub's key, so that callers can know it before they send a token. */
  readonly signChallenge: (statement: Uint8Array) => Uint8Array;
  readonly logger: Logger;
  /** For what outlives a restart. */
  readonly store: KeyValueStore;
  readonly clock: Clock;
  /** For the validity of certificates: never before what is known to have passed. */
  readonly time: { now(): number };
}

/** Where the door listens; with `tls` other machines reach it, over TLS alone. */
export interface GatewayOptions extends HttpAddress {
  readonly tls?: TlsOptions;
}

/** The HTTP API of a hub (interfaces: HTTP). */
export class HttpGateway implements Service {
  /** The application without its socket; tests call `app.request`. */
  readonly app: DoorApp;
  readonly #collaborators: GatewayCollaborators;
  readonly #address: HttpAddress;
  readonly #routes: readonly Route[];
  readonly #feed: EventFeed;
  readonly #remote: RemoteEventStreams;
  readonly #sight: CallerSight;
  readonly #catalogue: ToolCatalogue;
  readonly #audience: EventAudience;
  readonly #mcp: McpEndpoint;
  readonly #tls: TlsKeeper | undefined;
  readonly #server: HttpServer;
  #port: number;
  #stopWatching: readonly (() => void)[] = [];

  constructor(collaborators: GatewayCollaborators, options: GatewayOptions) {
    const { authenticator, clock, events, logger, metrics, outlook } = collaborators;
    this.#collaborators = collaborators;
    this.#address = options;
    this.#port = options.port;
    this.#feed = new EventFeed(events, clock);
    this.#remote = new RemoteEventStreams({ events: outlook.events, clock });
    this.#sight = new CallerSight({
      directory: collaborators.directory,
      readings: collaborators.readings,
      authorizer: collaborators.authorizer,
      homeNames: collaborators.homeNames,
      mesh: outlook.view,
    });
    this.#audience = new EventAudience({
      authorizer: collaborators.authorizer,
      registry: collaborators.registry,
      jobs: collaborators.jobs,
      sight: this.#sight,
    });
    this.#catalogue = new ToolCatalogue({
      tools: collaborators.tools,
      authorizer: collaborators.authorizer,
      pipeline: collaborators.pipeline,
      search: collaborators.search,
      entities: collaborators.entities,
      sight: this.#sight,
    });
    const reads = new ReadPace(clock);
    this.#mcp = openMcp({
      tools: collaborators.tools,
      registry: collaborators.registry,
      outlook: collaborators.outlook,
      readings: collaborators.readings,
      validator: collaborators.validator,
      authorizer: collaborators.authorizer,
      pipeline: collaborators.pipeline,
      jobs: collaborators.jobs,
      health: collaborators.health,
      clock: collaborators.clock,
      authenticator: collaborators.authenticator,
      logger: collaborators.logger,
      store: collaborators.store,
      directory: collaborators.directory,
      events: collaborators.events,
      reads,
      catalogue: this.#catalogue,
      sight: this.#sight,
    });
    const { host, tls } = options;
    this.#tls =
      tls &&
      new TlsKeeper(
        {
          clock: collaborators.clock,
          time: collaborators.time,
          logger: collaborators.logger,
          events: collaborators.events,
          problems: collaborators.problems,
        },
        { ...tls, host },
      );
    this.#routes = this.#routeTable();
    const requests = metrics.counter('atmo_http_requests_total', 'HTTP requests by route and status');
    this.app = createDoor(this.#routes, {
      authenticator,
      clock,
      logger: logger.child({ room: 'gateway' }),
      onAnswer: (method, route, status) => requests.increment({ method, route, status: String(status) }),
      port: () => this.#port,
      isOwnName: (name) => this.#tls?.isOwnName(name) ?? false,
      guesses: this.#guessGuard(),
      reads,
    });
    this.#server = new HttpServer(this.app, { clock, certificates: this.#tls });
  }

  /** Where the hub answers, once started. */
  get url(): string {
    return doorUrl({ ...this.#address, port: this.#port }, this.#tls?.served.names);
  }

  /** Where this machine itself reaches it: in clear, on a loopback address. */
  get localUrl(): string {
    return this.#tls ? `http://127.0.0.1:${this.#port}` : this.url;
  }

  /** Which events somebody may hear, whatever door or hub asks for them. */
  mayHear(principal: Principal): (event: HubEvent) => boolean {
    return (event) => this.#audience.mayHear(event, principal);
  }

  async start(): Promise<void> {
    const { metrics, outlook, meshDrops } = this.#collaborators;
    this.#feed.start();
    watchMesh(metrics, { view: outlook.view, drops: meshDrops });
    const stopFigures = watchHub(metrics, { ...this.#collaborators, feed: this.#feed });
    this.#stopWatching = [stopFigures, this.#audience.start()];
    if (this.#tls) await this.#tls.start();
    else requireTls(this.#address.host);
    this.#port = await this.#server.listen(this.#address);
    this.#collaborators.logger.info('http.listening', { url: this.url });
  }

  /** Lets go of event listeners, then lets running requests end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#feed[Symbol.asyncDispose]();
    await this.#remote[Symbol.asyncDispose]();
    await this.#mcp[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
    await this.#tls?.[Symbol.asyncDispose]();
    for (const stop of this.#stopWatching) stop();
    this.#stopWatching = [];
  }

  /** The owner is told of who guesses tokens, once for each source. */
  #guessGuard(): GuessGuard {
    const { clock, events, logger, metrics } = this.#collaborators;
    const lockouts = metrics.counter('atmo_http_lockouts_total', 'Sources that were locked out for guessing tokens');
    return new GuessGuard(clock, (source, { failures, lockedMs }) => {
      lockouts.increment();
      const facts = { source, failures, locked_ms: lockedMs };
      logger.warn('http.token_guesses', facts);
      events.emit('hub.warning', 'http', { warning: 'http.token_guesses', ...facts });
    });
  }

  #routeTable(): readonly Route[] {
    const all = this.#collaborators;
    const catalogue = this.#catalogue;
    const sight = this.#sight;
    const aboutTools = (routes: readonly Route[]) => routes.map((route) => whenKnown(route, () => all.tools.whole()));
    return [
      ...pageRoutes(new PageFiles(PAGE_DIR)),
      ...systemRoutes({
        health: all.health,
        metrics: all.metrics,
        clock: all.clock,
        authorizer: all.authorizer,
        signChallenge: all.signChallenge,
        port: () => this.#port,
      }),
      ...aboutTools(
        descriptionRoutes({ registry: all.registry, health: all.health, catalogue, routes: () => this.#routes, url: () => this.url }),
      ),
      ...tlsRoutes({ keeper: this.#tls, url: () => this.url }),
      ...aboutTools(toolRoutes({ catalogue, sight })),
      ...registrationRoutes(all.pipeline),
      ...aboutTools(discoverRoutes({ pipeline: all.pipeline, catalogue, sight })),
      ...callRoutes(all.pipeline, catalogue),
      ...toolCallRoutes({ pipeline: all.pipeline, clock: all.clock, catalogue, nodeId: () => all.health.health().nodeId }),
      ...hubRoutes(all.pipeline),
      ...aboutTools(previewRoutes({ catalogue, sight })),
      ...meshRoutes(all.pipeline),
      ...approvalRoutes(all.pipeline),
      ...jobRoutes(all.jobs),
      ...aboutTools(capabilityRoutes({ capabilities: all.capabilities, catalogue, sight })),
      ...aboutTools(
        deviceRoutes({ directory: all.directory, entities: all.entities, homeNames: all.homeNames, clock: all.clock, catalogue, sight }),
      ),
      ...deviceNameRoutes(all.pipeline),
      ...areaRoutes({ sight }),
      ...sensorRoutes({ readings: all.readings, clock: all.clock, sight }),
      ...eventRoutes({
        authenticator: all.authenticator,
        feed: this.#feed,
        remote: this.#remote,
        mesh: all.outlook.view,
        audience: this.#audience,
      }),
      ...aboutTools(
        monitorRoutes({
          pipeline: all.pipeline,
          authorizer: all.authorizer,
          health: all.health,
          registrations: all.registrations,
          catalogue,
        }),
      ),
      ...this.#mcp.routes(),
    ];
  }
}

/** A route that looks through all tools: it answers when those of the other hubs are known, or after some seconds. */
function whenKnown(route: Route, whole: () => Promise<void> | undefined): Route {
  return {
    ...route,
    handle: (request, query) => {
      const known = whole();
      return known ? known.then(() => route.handle(request, query)) : route.handle(request, query);
    },
  };
}
