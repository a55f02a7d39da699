import { readOwnerSecret } from '../auth/secret-file.ts';
import { jobTools } from '../calls/jobs/job-directory.ts';
import type { CallPipeline } from '../calls/pipeline.ts';
import { unknownToolNames } from '../calls/stages/authorization.ts';
import { type AnyTool, registerAnyTool, ToolOrchestrator } from '../calls/tool-orchestrator.ts';
import { openProgramSandbox } from '../connectors/sandbox/bubblewrap-sandbox.ts';
import type { Principal } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import { acceptedTextsInStore } from '../core/files/owner-file.ts';
import { HubProblems } from '../core/health.ts';
import { type Service, ServiceStack } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { HealthReport } from '../http/ports.ts';
import type { OpenListener } from '../http/server/http-server.ts';
import type { LocalHub } from '../mesh/membership/certificates.ts';
import { MeshService } from '../mesh/mesh-service.ts';
import type { MeshHub } from '../mesh/mesh-session.ts';
import { meshTools } from '../mesh/mesh-tools.ts';
import type { ConnectionGate, MeshEngine } from '../mesh/transport/mesh-engine.ts';
import { toStorageError } from '../storage/storage-error.ts';
import { backupTools } from '../tools/builtin/backup-tools.ts';
import { basicTools } from '../tools/builtin/basic-tools.ts';
import { sensorTools } from '../tools/builtin/sensor-tools.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import { openAutomations } from './automations.ts';
import { openBackups } from './backups.ts';
import { openBridges } from './bridge.ts';
import { type HubConfig, missingPaths } from './config/config.ts';
import { openConnectors } from './connectors.ts';
import { openDevices } from './devices.ts';
import { healthTool } from './health.ts';
import { type HttpApi, openHttp } from './http.ts';
import { type Infrastructure, type OpenMatter, openInfrastructure } from './infrastructure.ts';
import { openNoticeSources, openNotices } from './notices.ts';
import { openSensors } from './sensors.ts';
import { openRegistration } from './tool-registration.ts';
import { authTools, openToolServices, type ToolServices, waitingJobs } from './tool-services.ts';

/** Milliseconds that running calls have to end when the hub stops. Then they are aborted, so that a stop takes about a second, and two at most. */
const DRAIN_MS = 500;

/** The options of a hub. */
export interface HubOptions {
  readonly config: HubConfig;
  readonly version: string;
  /** Replaces the hub's sockets in tests. */
  readonly network?: HubNetwork;
  /** Tools of the program that embeds the hub. They are registered before the first call, even if `tools.dynamic_registration` is off. */
  readonly tools?: readonly AnyTool[];
}

/** Replacements for the HTTP listener, the mesh engine and the Matter devices. */
export interface HubNetwork {
  readonly openListener: OpenListener;
  readonly openEngine: OpenMeshEngine;
  /** Absent if Matter stays as the configuration says. */
  readonly openMatter?: OpenMatter;
}

/** A hub. It creates and connects all parts, starts each part before the parts that need it, and stops them in reverse order. */
export class Hub implements Service {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #config: HubConfig;
  readonly #network: HubNetwork | undefined;
  readonly #ownTools: readonly AnyTool[];
  readonly #stack = new ServiceStack();
  readonly #problems = new HubProblems();
  #health: HealthReport;
  #pipeline: CallPipeline | undefined;
  #orchestrator: ToolOrchestrator | undefined;
  #http: HttpApi | undefined;
  #mesh: MeshService | undefined;

  constructor(collaborators: { readonly clock: Clock; readonly logger: Logger }, options: HubOptions) {
    this.#clock = collaborators.clock;
    this.#logger = collaborators.logger;
    this.#config = options.config;
    this.#network = options.network;
    this.#ownTools = options.tools ?? [];
    this.#health = { status: 'starting', nodeId: '', version: options.version, startedAtMs: 0, problems: [] };
  }

  get url(): string {
    return this.#http?.url ?? '';
  }

  /** The plain-HTTP URL for programs on this machine, known after the start. */
  get localUrl(): string {
    return this.#http?.localUrl ?? '';
  }

  /** Returns the tools for a program that embeds the hub. Throws CONFLICT before the hub has started. */
  get orchestrator(): ToolOrchestrator {
    if (this.#orchestrator) return this.#orchestrator;
    throw new AtmoError('CONFLICT', 'The hub has not started yet; wait for start() before you use its tools');
  }

  /**
   * Starts all parts. If a part fails, stops all parts and rejects with CONFIG_INVALID (wrong configuration), CONFLICT (another hub uses
   * the state directory) or STORAGE_FAILED (a file cannot be used).
   */
  async start(): Promise<void> {
    try {
      await this.#startParts();
    } catch (error) {
      await this.#stack[Symbol.asyncDispose]();
      throw namedError(error, this.#config.stateDir);
    }
  }

  async #startParts(): Promise<void> {
    this.#reportMissingPaths();
    const mesh = () => this.#mesh?.ports();
    const infrastructure = await openInfrastructure(
      { clock: this.#clock, logger: this.#logger, problems: this.#problems, mesh, openMatter: this.#network?.openMatter },
      this.#config,
      this.#stack,
    );
    this.#health = { ...this.#health, nodeId: infrastructure.auth.key.hubId, startedAtMs: this.#clock.now() };
    const services = await openToolServices(infrastructure, this.#config, this.#stack);
    this.#pipeline = services.pipeline;
    this.#orchestrator = new ToolOrchestrator(
      {
        pipeline: services.pipeline,
        registry: services.registry,
        tools: services.tools,
        capabilities: services.capabilities,
        authenticator: infrastructure.auth.authenticator,
      },
      { orchestratorId: infrastructure.auth.key.hubId, isDynamicRegistrationAllowed: this.#config.tools.isDynamicRegistrationAllowed },
    );
    this.#registerAll(services.registry, [
      ...basicTools,
      ...jobTools(services.jobs),
      ...sensorTools({
        readings: infrastructure.readings,
        directory: infrastructure.directory,
        homeNames: infrastructure.homeNames,
        authorizer: infrastructure.auth.authorizer,
        attention: infrastructure.attention,
      }),
    ]);
    this.#registerAll(services.registry, authTools(infrastructure, services, this.#config));
    this.#registerAll(services.registry, backupTools(await openBackups(infrastructure, this.#config, this.#stack)));
    const { matter } = infrastructure;
    const { profilesDir, stateDir } = this.#config;
    const takenOf = acceptedTextsInStore(infrastructure.store, stateDir);
    const home = matter && (await openDevices(infrastructure, services, { matter, profilesDir, takenOf, stack: this.#stack }));
    await openSensors(infrastructure, services.registry, { config: this.#config.sensors, stack: this.#stack });
    const { version } = this.#health;
    const programs = openProgramSandbox(this.#config.connectors.sandbox, { stateDir: this.#config.stateDir, env: process.env });
    const reach = await openConnectors(infrastructure, services, {
      config: this.#config,
      env: process.env,
      programs,
      version,
      stack: this.#stack,
    });
    for (const tool of this.#ownTools) registerAnyTool(services.registry, tool);
    const registrations = await openRegistration(infrastructure, services, { config: this.#config, programs, stack: this.#stack });
    const { location } = this.#config.connectors;
    const { outbox, questions, notices, publisher } = await openNotices(infrastructure, services, {
      reach,
      push: this.#config.connectors.push,
      nameOf: (agentId) => runner.directory.nameOf(agentId),
      pageUrl: () => this.url,
      stack: this.#stack,
    });
    const { runner, proposals, used } = await openAutomations(infrastructure, services, {
      location,
      scenes: home?.scenes,
      values: home?.values,
      questions,
      stack: this.#stack,
    });
    await this.#stack.start(runner);
    await this.#stack.start(used);
    const hubName = this.#config.mesh.name;
    const firstPort = this.#config.matter.bridgePort;
    const bridges = matter && home && openBridges(infrastructure, services, { nodes: matter.bridges, home, hubName, firstPort });
    await openNoticeSources(infrastructure, services, {
      notices,
      publisher,
      versionUrl: this.#config.versionUrl,
      upgradeDir: this.#config.upgradeDir,
      version,
      stateDir: this.#config.stateDir,
      ownName: this.#config.mesh.name,
      agents: () => runner.directory.records(),
      proposals: () => proposals.open(),
      certificate: () => this.#http?.certificate(),
      stack: this.#stack,
    });
    for (const part of [registrations, runner.directory]) services.nameUses.add(() => part.referringTexts());
    this.#warnOfUnknownNames(services.registry);
    const http = openHttp(infrastructure, services, {
      config: this.#config,
      health: () => this.#healthNow(),
      meshDrops: () => this.#mesh?.drops() ?? {},
      registrations,
      openListener: this.#network?.openListener,
    });
    this.#http = http;
    this.#mesh = this.#makeMesh(infrastructure, services, http);
    this.#registerAll(services.registry, [...meshTools(this.#mesh), healthTool({ infrastructure, services, http, config: this.#config })]);
    const { authenticator, revocations } = infrastructure.auth;
    const waiting = waitingJobs(infrastructure, services);
    revocations.onRevoked((tokenId) => waiting.endInvalid(tokenId));
    // If another hub loses its membership, the tokens of some callers become invalid. The running calls of these callers are cancelled.
    infrastructure.auth.membership.membership.onLost(() => {
      services.pipeline.abortCallsOf((caller) => !authenticator.isStillValid(caller));
      waiting.endInvalid();
    });
    await this.#stack.start(http);
    await this.#stack.start(waiting);
    outbox.resume();
    await this.#stack.start(this.#mesh);
    if (bridges) await this.#stack.start(bridges);
    this.#health = { ...this.#health, status: 'ok' };
  }

  /** Reports the files and folders that the configuration names but that do not exist. */
  #reportMissingPaths(): void {
    for (const problem of missingPaths(this.#config)) {
      this.#logger.warn('config.path_not_found', { problem });
      this.#problems.raise(problem, `${problem}; make it or take the key out, then restart the hub`);
    }
  }

  /** Refuses new calls, waits for running calls, then stops all parts in reverse order of their start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#health = { ...this.#health, status: 'stopping' };
    const drained = this.#pipeline?.drain(DRAIN_MS);
    this.#logger.info('hub.stopping', { waits_at_most_ms: DRAIN_MS });
    const isDrained = await drained;
    if (isDrained === false) this.#logger.warn('hub.not_drained', { waited_ms: DRAIN_MS });
    await this.#stack[Symbol.asyncDispose]();
  }

  /** Logs a warning for each setting with an unknown tool name. This is no error, since a device with such a tool may be added later. */
  #warnOfUnknownNames(registry: ToolRegistry): void {
    const { disabled, failOver, features } = this.#config.tools;
    const written = { 'tools.disabled': disabled, 'tools.fail_over': failOver, 'tools.features': Object.keys(features) };
    for (const [setting, names] of Object.entries(written)) {
      for (const name of unknownToolNames(names, registry.all())) this.#logger.warn('config.tool_not_found', { setting, name });
    }
  }

  #makeMesh(infrastructure: Infrastructure, services: ToolServices, http: HttpApi): MeshService {
    const { auth, directory: devices, events, store } = infrastructure;
    const { registry, capabilities, validator, pipeline, jobStore } = services;
    const hub: MeshHub = {
      clock: this.#clock,
      logger: this.#logger.child({ module: 'mesh' }),
      events,
      store,
      time: auth.time,
      audit: auth.audit,
      registry,
      devices,
      validator,
      pipeline,
      jobStore,
      capabilities: () => capabilities.list(devices, () => false),
      isOnline: () => services.networkRoutes.isOnline(),
      authority: auth.tokens,
      validity: auth.authenticator,
      tokens: auth.meshTokens,
      revocations: auth.revocations,
      visibleEvents: (principal: Principal) => http.eventFilter(principal),
    };
    const { version } = this.#health;
    const { key, membership } = auth;
    const { mesh } = this.#config;
    const openEngine = this.#network?.openEngine ?? libp2pEngines(mesh, this.#clock);
    return new MeshService({ hub, membership, openEngine: (gate, role) => openEngine(key, gate, role) }, { ...mesh, version });
  }

  #healthNow(): HealthReport {
    const ofSettings = this.#config.problem?.();
    const problems = [...(ofSettings === undefined ? [] : [ofSettings]), ...this.#problems.list()];
    return { ...this.#health, problems, ...(problems.length > 0 && this.#health.status === 'ok' && { status: 'degraded' }) };
  }

  #registerAll(registry: ToolRegistry, tools: readonly RegisteredTool[]): void {
    for (const tool of tools) registry.register(tool);
  }
}

/** Converts an unhandled file system error to STORAGE_FAILED with the name of the file. */
function namedError(error: unknown, stateDir: string): unknown {
  const path = error instanceof Error && 'path' in error ? String(error.path) : stateDir;
  return toStorageError(error, path);
}

const PRE_SHARED_KEY = /^[0-9a-f]{64}$/i;

/** Creates a mesh engine that is not started yet. A `member` listens at the configured address; a `guest` only opens connections. */
type OpenMeshEngine = (self: LocalHub, gate: ConnectionGate, role: 'member' | 'guest') => Promise<MeshEngine>;

/** Returns a function that creates libp2p engines. libp2p is loaded only if the hub is or becomes a member, since it needs 25 MB. */
function libp2pEngines(mesh: HubConfig['mesh'], clock: Clock): OpenMeshEngine {
  return async ({ privateKey }, gate, role) => {
    const { Libp2pEngine } = await import('../mesh/transport/libp2p-engine.ts');
    const listen = role === 'member' ? { host: mesh.host, port: mesh.port } : { host: '127.0.0.1', port: 0 };
    const preSharedKey = mesh.preSharedKeyFile === undefined ? undefined : readPreSharedKey(mesh.preSharedKeyFile);
    const { maxPeers: maxConnections, site } = mesh;
    return new Libp2pEngine({ key: privateKey, gate, listen, clock, maxConnections, site, ...(preSharedKey && { preSharedKey }) });
  };
}

function readPreSharedKey(path: string): Uint8Array {
  const text = readOwnerSecret({ path, ifOthersReadIt: 'give every member a new pre-shared key' })?.trim();
  if (text !== undefined && PRE_SHARED_KEY.test(text)) return Buffer.from(text, 'hex');
  const problem = text === undefined ? 'does not exist' : 'does not hold 64 hexadecimal digits';
  throw new AtmoError('CONFIG_INVALID', `mesh.pre_shared_key_file names ${path}, which ${problem}; openssl rand -hex 32 makes such a key`);
}
