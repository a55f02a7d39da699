import { sign } from 'node:crypto';
import { join } from 'node:path';
import type { MeshPorts } from '../calls/mesh-ports.ts';
import type { ToolRegistrar } from '../calls/registration/tool-registrar.ts';
import type { UsageCounter } from '../calls/usage.ts';
import { hostEntry } from '../connectors/web/address-policy.ts';
import { lazyFetch } from '../connectors/web/web-connector.ts';
import type { AuthorizationServer } from '../core/auth/oauth.ts';
import type { PeopleDirectory, SignInService } from '../core/auth/people.ts';
import type { Authenticator, Authorizer, Principal } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import type { DeviceAttention } from '../core/devices/device-attention.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { HomeNames } from '../core/devices/device-names.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { HubEvent } from '../core/events.ts';
import type { HubProblems } from '../core/health.ts';
import type { DeviceId } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import { PAGE_DIR } from '../core/package-files.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import { EventFeed, RemoteEventStreams } from '../http/event-feed.ts';
import { EventVisibility } from '../http/event-visibility.ts';
import { MetricRegistry, registerHubMetrics, registerMeshMetrics } from '../http/metrics.ts';
import type { CallPort, HealthReport, HealthSource, JobPort } from '../http/ports.ts';
import { adminRoutes, approvalRoutes, previewRoutes } from '../http/routes/admin-routes.ts';
import { bridgeRoutes } from '../http/routes/bridge-routes.ts';
import { callRoutes, jobRoutes, toolCallRoutes } from '../http/routes/call-routes.ts';
import { descriptionRoutes } from '../http/routes/description-routes.ts';
import { areaRoutes, deviceNameRoutes, deviceRoutes } from '../http/routes/device-routes.ts';
import { eventRoutes } from '../http/routes/event-routes.ts';
import { meshRoutes } from '../http/routes/mesh-routes.ts';
import { monitorRoutes } from '../http/routes/monitor-routes.ts';
import { noticeRoutes } from '../http/routes/notice-routes.ts';
import { oauthRoutes } from '../http/routes/oauth-routes.ts';
import { pagePreferenceRoutes } from '../http/routes/page-preference-routes.ts';
import { consentPageRoutes, PageFiles, pageRoutes } from '../http/routes/page-routes.ts';
import { peopleRoutes } from '../http/routes/people-routes.ts';
import { sceneRoutes } from '../http/routes/scene-routes.ts';
import { sensorRoutes } from '../http/routes/sensor-routes.ts';
import { systemRoutes, tlsRoutes, tlsView } from '../http/routes/system-routes.ts';
import { capabilityRoutes, discoverRoutes, registrationRoutes, toolRoutes } from '../http/routes/tool-routes.ts';
import { isLoopback } from '../http/server/addresses.ts';
import { createHttpApp, type HttpApp } from '../http/server/http-app.ts';
import { type HttpAddress, type HttpListener, HttpServer, type OpenListener, requireTls, serverUrl } from '../http/server/http-server.ts';
import { INVITATION_GUESSES, ReadRateLimiter, TokenGuessLockout } from '../http/server/rate-limits.ts';
import type { Route } from '../http/server/route.ts';
import { type CertificateFacts, CertificateManager, type TlsOptions } from '../http/tls/certificate-manager.ts';
import { DnsCommand } from '../http/tls/dns-command.ts';
import { ToolCatalogue } from '../http/tool-catalogue.ts';
import { VisibleHome } from '../http/visible-home.ts';
import { McpEndpoint, type McpEndpointCollaborators } from '../mcp/mcp-endpoint.ts';
import type { McpParts } from '../mcp/mcp-features.ts';
import type { CapabilityCatalogue } from '../tools/registry/capability-catalogue.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import { LexicalEntitySearch } from '../tools/search/entity-search.ts';
import type { EntitySearch, ToolSearch } from '../tools/search/home-search.ts';
import { LexicalToolSearch } from '../tools/search/tool-search.ts';
import type { HubConfig } from './config/config.ts';
import type { MemoryProfile } from './config/memory-profile.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ToolServices } from './tool-services.ts';

/** The parts of the hub that the HTTP API needs. */
export interface HttpApiCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events'> {
  readonly pipeline: CallPort;
  readonly usage: UsageCounter;
  readonly registry: ToolRegistry;
  readonly tools: ToolDirectory;
  /** The view of the mesh, and the events and tools of other hubs. */
  readonly mesh: Pick<MeshPorts, 'view' | 'events' | 'tools'>;
  /** Returns how many messages the mesh has dropped or refused since the start, by reason. */
  readonly meshDrops: () => Readonly<Record<string, number>>;
  readonly search: ToolSearch;
  readonly entities: EntitySearch;
  readonly homeNames: HomeNames;
  readonly validator: SchemaValidator;
  readonly jobs: JobPort;
  readonly capabilities: CapabilityCatalogue;
  /** Knows which tools were registered while the hub ran, when, and by whom. */
  readonly registrations: Pick<ToolRegistrar, 'record' | 'isManagedBy'>;
  readonly directory: DeviceDirectory;
  readonly attention: DeviceAttention;
  readonly readings: ReadingStore;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** The household, for sign-ins. */
  readonly people: PeopleDirectory & SignInService;
  /** The authorization server; undefined if the owner has switched it off. */
  readonly oauth: AuthorizationServer | undefined;
  readonly metrics: MetricRegistry;
  readonly health: HealthSource;
  /** Receives problems with the certificate's files. */
  readonly problems: Pick<HubProblems, 'raise'>;
  /** Signs a statement with the hub's key. Callers can thereby identify the hub before they send a token. */
  readonly signChallenge: (statement: Uint8Array) => Uint8Array;
  /** The store of data that survives a restart. */
  readonly store: KeyValueStore;
  /** Returns the hub's time, for checks of certificates. It is never before a time that is known to have passed. */
  readonly time: { now(): number };
}

/** The address at which the server listens. Without `tls`, it must be a loopback address. With `tls`, other machines must use TLS. */
export interface HttpApiOptions extends HttpAddress {
  readonly tls?: TlsOptions;
  /** URL at which a reverse proxy on this machine offers the hub. */
  readonly proxyUrl?: string;
  /** Bounds of the event streams. */
  readonly eventStreams: MemoryProfile['eventStreams'];
  /** Creates the listener. Default: a real HTTP server. Tests replace it. */
  readonly openListener?: OpenListener;
}

interface GuessLockouts {
  readonly tokens: TokenGuessLockout;
  readonly invitations: TokenGuessLockout;
  readonly devices: TokenGuessLockout;
}

/** The HTTP API of a hub. */
export class HttpApi implements Service {
  /** The HTTP application without a socket. Tests call `app.request`. */
  readonly app: HttpApp;
  readonly #collaborators: HttpApiCollaborators;
  readonly #address: HttpAddress;
  readonly #routes: readonly Route[];
  readonly #feed: EventFeed;
  readonly #remote: RemoteEventStreams;
  readonly #home: VisibleHome;
  readonly #catalogue: ToolCatalogue;
  readonly #visibility: EventVisibility;
  readonly #reads: ReadRateLimiter;
  readonly #mcp: McpEndpoint;
  readonly #tls: CertificateManager | undefined;
  readonly #proxy: URL | undefined;
  readonly #server: HttpListener;
  readonly #maxPendingBytes: number;
  #port: number;
  #isListening = false;
  #stopMetrics: () => void = () => {};

  constructor(collaborators: HttpApiCollaborators, options: HttpApiOptions) {
    const { authenticator, clock, events, logger, metrics, mesh } = collaborators;
    this.#collaborators = collaborators;
    this.#address = options;
    this.#port = options.port;
    this.#maxPendingBytes = options.eventStreams.maxPendingBytes;
    // An open page follows the events.
    this.#feed = new EventFeed(events, clock, { historySize: options.eventStreams.kept, onFirst: () => collaborators.attention.noteUse() });
    collaborators.attention.addUser(() => this.#feed.listenerCount > 0);
    this.#remote = new RemoteEventStreams({ events: mesh.events, clock });
    this.#home = new VisibleHome({
      directory: collaborators.directory,
      attention: collaborators.attention,
      readings: collaborators.readings,
      authorizer: collaborators.authorizer,
      homeNames: collaborators.homeNames,
      mesh: mesh.view,
    });
    this.#visibility = new EventVisibility({
      authorizer: collaborators.authorizer,
      registry: collaborators.registry,
      jobs: collaborators.jobs,
      home: this.#home,
      people: collaborators.people,
    });
    this.#catalogue = new ToolCatalogue({
      tools: collaborators.tools,
      authorizer: collaborators.authorizer,
      pipeline: collaborators.pipeline,
      search: collaborators.search,
      entities: collaborators.entities,
      home: this.#home,
    });
    const reads = new ReadRateLimiter(clock);
    this.#reads = reads;
    const mcpParts = {
      tools: collaborators.tools,
      registry: collaborators.registry,
      mesh: collaborators.mesh,
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
      home: this.#home,
    };
    this.#mcp = openMcp(mcpParts, { hasAuthorizationServer: collaborators.oauth !== undefined });
    const { host, tls, openListener = (app, parts) => new HttpServer(app, parts) } = options;
    this.#tls =
      tls &&
      new CertificateManager(
        {
          clock: collaborators.clock,
          time: collaborators.time,
          logger: collaborators.logger,
          events: collaborators.events,
          problems: collaborators.problems,
        },
        { ...tls, host },
      );
    this.#proxy = options.proxyUrl === undefined ? undefined : new URL(options.proxyUrl);
    const guesses = this.#guessLockouts();
    this.#routes = this.#routeTable(guesses);
    const requests = metrics.counter('atmo_http_requests_total', 'HTTP requests by route and status');
    this.app = createHttpApp(this.#routes, {
      authenticator,
      clock,
      logger: logger.child({ module: 'http' }),
      onAnswer: (method, route, status) => requests.increment({ method, route, status: String(status) }),
      port: () => this.#port,
      isOwnName: (name) => this.#tls?.isOwnName(name) ?? false,
      proxy: this.#proxy,
      guesses: guesses.tokens,
      reads,
    });
    this.#server = openListener(this.app, { clock, certificates: this.#tls });
  }

  /** The URL under which clients reach the hub, known after the start. */
  get url(): string {
    return this.#proxy?.origin ?? this.#ownUrl;
  }

  get #ownUrl(): string {
    return serverUrl({ ...this.#address, port: this.#port }, this.#tls?.served);
  }

  /** Returns what `GET /api/v1/tls` answers. */
  tlsView(): JsonObject {
    return tlsView({ certificates: this.#tls, url: this.url, isProxied: this.#proxy !== undefined });
  }

  get localUrl(): string {
    return this.#tls ? `http://127.0.0.1:${this.#port}` : this.#ownUrl;
  }

  /** Returns the facts about the certificate of the server; undefined without TLS, or before the start. */
  certificate(): CertificateFacts | undefined {
    return this.#isListening ? this.#tls?.facts() : undefined;
  }

  /** Returns a filter for the events that a principal may receive. HTTP, MCP and the mesh use the same filter. */
  eventFilter(principal: Principal): (event: HubEvent) => boolean {
    return (event) => this.#visibility.mayReceive(event, principal);
  }

  async start(): Promise<void> {
    const { clock, metrics, mesh, meshDrops, events, directory, readings, jobs, tools, health } = this.#collaborators;
    this.#feed.start();
    registerMeshMetrics(metrics, { view: mesh.view, drops: meshDrops });
    this.#stopMetrics = registerHubMetrics(metrics, { clock, events, directory, readings, jobs, tools, health, feed: this.#feed });
    if (this.#tls) await this.#tls.start();
    else requireTls(this.#address.host);
    this.#port = await this.#server.listen(this.#address);
    this.#isListening = true;
    this.#collaborators.logger.info('http.listening', { url: this.url });
  }

  /** Ends the event streams, then waits for running requests. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#feed[Symbol.asyncDispose]();
    await this.#remote[Symbol.asyncDispose]();
    await this.#mcp[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
    await this.#tls?.[Symbol.asyncDispose]();
    this.#stopMetrics();
  }

  /** Returns the lockouts for clients that guess tokens or invitations. Each lockout is logged and reported as an event once. */
  #guessLockouts(): GuessLockouts {
    const { clock, events, logger, metrics } = this.#collaborators;
    const lockouts = metrics.counter('atmo_http_lockouts_total', 'Sources that were locked out for guessing tokens');
    const onLockout = (source: string, { failures, lockedMs }: { readonly failures: number; readonly lockedMs: number }) => {
      lockouts.increment();
      const facts = { source, failures, locked_ms: lockedMs };
      logger.warn('http.token_guesses', facts);
      events.emit('hub.warning', 'http', { warning: 'http.token_guesses', ...facts });
    };
    return {
      tokens: new TokenGuessLockout(clock, onLockout),
      invitations: new TokenGuessLockout(clock, onLockout, INVITATION_GUESSES),
      devices: new TokenGuessLockout(clock, onLockout, INVITATION_GUESSES),
    };
  }

  #routeTable(guesses: GuessLockouts): readonly Route[] {
    const all = this.#collaborators;
    const catalogue = this.#catalogue;
    const home = this.#home;
    const aboutTools = (routes: readonly Route[]) => routes.map((route) => afterToolsAreKnown(route, all.tools));
    const files = new PageFiles(PAGE_DIR);
    return [
      ...pageRoutes(files),
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
      ...tlsRoutes({ certificates: this.#tls, authorizer: all.authorizer, view: () => this.tlsView() }),
      ...aboutTools(toolRoutes({ catalogue, home })),
      ...registrationRoutes(all.pipeline),
      ...aboutTools(discoverRoutes({ pipeline: all.pipeline, catalogue, home })),
      ...callRoutes(all.pipeline, catalogue),
      ...toolCallRoutes({ pipeline: all.pipeline, clock: all.clock, catalogue, nodeId: () => all.health.health().nodeId }),
      ...adminRoutes(all.pipeline),
      ...aboutTools(previewRoutes({ catalogue, home })),
      ...meshRoutes(all.pipeline),
      ...approvalRoutes(all.pipeline),
      ...peopleRoutes({
        pipeline: all.pipeline,
        people: all.people,
        authorizer: all.authorizer,
        guesses: guesses.invitations,
      }),
      ...(all.oauth ? [...consentPageRoutes(files), ...oauthRoutes({ server: all.oauth, home, guesses: guesses.devices })] : []),
      ...noticeRoutes(all.pipeline),
      ...jobRoutes(all.jobs),
      ...aboutTools(capabilityRoutes({ capabilities: all.capabilities, catalogue, home })),
      ...aboutTools(
        deviceRoutes({ directory: all.directory, entities: all.entities, homeNames: all.homeNames, clock: all.clock, catalogue, home }),
      ),
      ...deviceNameRoutes(all.pipeline),
      ...areaRoutes({ home }),
      ...sceneRoutes(all.pipeline),
      ...bridgeRoutes(all.pipeline),
      ...sensorRoutes({ readings: all.readings, clock: all.clock, home }),
      ...eventRoutes({
        authenticator: all.authenticator,
        feed: this.#feed,
        remote: this.#remote,
        mesh: all.mesh.view,
        visibility: this.#visibility,
        maxPendingBytes: this.#maxPendingBytes,
      }),
      ...aboutTools(
        monitorRoutes({
          usage: all.usage,
          authorizer: all.authorizer,
          health: all.health,
          registrations: all.registrations,
          catalogue,
        }),
      ),
      ...pagePreferenceRoutes({ store: all.store, reads: this.#reads }),
      ...this.#mcp.routes(),
    ];
  }
}

/** Returns a route that first waits for at most a few seconds until the tools of other hubs, and of sites that may match, are loaded. */
function afterToolsAreKnown(route: Route, tools: Pick<ToolDirectory, 'awaitComplete'>): Route {
  return {
    ...route,
    handle: (request, query) => {
      const { q: sentence, capability, node } = query;
      const searched = { ...(typeof sentence === 'string' && { sentence }), ...(typeof capability === 'string' && { capability }) };
      const known = tools.awaitComplete(undefined, typeof node === 'string' ? { onlyNodes: [node] } : {}, searched);
      return known ? known.then(() => route.handle(request, query)) : route.handle(request, query);
    },
  };
}

interface HttpInputs {
  readonly registrations: ToolRegistrar;
  readonly config: HubConfig;
  readonly health: () => HealthReport;
  readonly meshDrops: () => Readonly<Record<string, number>>;
  readonly openListener: OpenListener | undefined;
}

/** Returns the HTTP API with search, MCP and the web page. The API is not started yet. */
export function openHttp(
  infrastructure: Infrastructure,
  services: ToolServices,
  { config, health, meshDrops, registrations, openListener }: HttpInputs,
): HttpApi {
  const { auth, directory, attention, homeNames, problems } = infrastructure;
  const options = listenOptions(config, openListener);
  if (config.http.tls.acme && !options.tls) problems.raise('http.tls.acme', UNSERVED_NAME);
  return new HttpApi(
    {
      pipeline: services.pipeline,
      usage: services.usage,
      registry: services.registry,
      tools: services.tools,
      mesh: services.meshProxy,
      validator: services.validator,
      jobs: services.jobs,
      capabilities: services.capabilities,
      registrations,
      directory,
      attention,
      homeNames,
      readings: infrastructure.readings,
      events: infrastructure.events,
      problems,
      logger: infrastructure.logger,
      store: infrastructure.store,
      clock: infrastructure.clock,
      search: new LexicalToolSearch({ names: homeNames, device: (id) => directory.get(id as DeviceId) }),
      entities: new LexicalEntitySearch(homeNames),
      authenticator: auth.authenticator,
      authorizer: auth.authorizer,
      people: auth.people,
      oauth: config.http.isOAuthEnabled ? auth.oauth : undefined,
      signChallenge: (statement) => sign(null, statement, auth.key.privateKey),
      metrics: new MetricRegistry(),
      meshDrops,
      health: { health },
      time: auth.time,
    },
    options,
  );
}

const UNSERVED_NAME =
  'http.tls.acme in the configuration has no effect: the hub answers to its own machine alone; set http.host (ATMO_HTTP_HOST) to 0.0.0.0, then restart the hub';

/** Returns the options of the listener. TLS is on by default, unless `host` is a loopback address. */
function listenOptions(
  { http: { host, port, proxyUrl, tls }, memory: { eventStreams }, stateDir }: HubConfig,
  openListener: OpenListener | undefined,
): HttpApiOptions {
  const isServed = tls.isEnabled ?? !isLoopback(host);
  const served = { directory: join(stateDir, 'tls'), names: tls.names, ...(tls.files && { files: tls.files }), ...acmeOptions(tls.acme) };
  const proxy = proxyUrl === undefined ? {} : { proxyUrl };
  return { host, port, eventStreams, ...proxy, ...(isServed && { tls: served }), ...(openListener && { openListener }) };
}

/** Returns what the hub needs to get a certificate. Its requests go to public addresses and to the directory that the owner named. */
function acmeOptions(config: HubConfig['http']['tls']['acme']): Pick<TlsOptions, 'acme'> {
  if (!config) return {};
  const fetch = lazyFetch([hostEntry(config.directory)], 'http.tls.acme.directory', config.caFile);
  return { acme: { config, fetch, dns: new DnsCommand({ command: config.dnsCommand, env: process.env }) } };
}

type McpSettings = { readonly hasAuthorizationServer: boolean };

/** Returns the MCP endpoint. Its features and the SDK are loaded when the first client connects. */
function openMcp(parts: McpParts & McpEndpointCollaborators, { hasAuthorizationServer }: McpSettings): McpEndpoint {
  return new McpEndpoint(parts, {
    hasAuthorizationServer,
    version: () => parts.health.health().version,
    features: async (notifier) => (await import('../mcp/mcp-features.ts')).mcpFeatures(parts, notifier),
  });
}
