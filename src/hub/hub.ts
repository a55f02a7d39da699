import { AgentRunner } from '../automations/agent-runner.ts';
import { agentTools } from '../automations/agent-tools.ts';
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
import { MeshService } from '../mesh/mesh-service.ts';
import type { MeshHub } from '../mesh/mesh-session.ts';
import { meshTools } from '../mesh/mesh-tools.ts';
import { toStorageError } from '../storage/storage-error.ts';
import { basicTools } from '../tools/builtin/basic-tools.ts';
import { sensorTools } from '../tools/builtin/sensor-tools.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import { type HubConfig, missingPaths } from './config/config.ts';
import { openConnectors } from './connectors.ts';
import { openDevices } from './devices.ts';
import { type HttpApi, openHttp } from './http.ts';
import { type Infrastructure, openInfrastructure } from './infrastructure.ts';
import { libp2pEngines, type OpenMeshEngine } from './mesh.ts';
import { openSensors } from './sensors.ts';
import { openRegistration } from './tool-registration.ts';
import { authTools, openToolServices, type ToolServices } from './tool-services.ts';

const DRAIN_MS = 10_000;

/** How a hub runs. */
export interface HubOptions {
  readonly config: HubConfig;
  /** Version that the hub reports to clients and other hubs. */
  readonly version: string;
  /** What stands for the hub's sockets. */
  readonly network?: HubNetwork;
  /** Tools of the program around the hub. They are there from the first call on, also without `tools.dynamic_registration`. */
  readonly tools?: readonly AnyTool[];
}

/** How requests and other hubs reach a hub that has no sockets of its own. */
export interface HubNetwork {
  readonly openListener: OpenListener;
  readonly openEngine: OpenMeshEngine;
}

/** One running hub: makes every part, hands each its collaborators, starts them in order and stops them in reverse. */
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
  #gateway: HttpApi | undefined;
  #mesh: MeshService | undefined;

  constructor(collaborators: { readonly clock: Clock; readonly logger: Logger }, options: HubOptions) {
    this.#clock = collaborators.clock;
    this.#logger = collaborators.logger;
    this.#config = options.config;
    this.#network = options.network;
    this.#ownTools = options.tools ?? [];
    this.#health = { status: 'starting', nodeId: '', version: options.version, startedAtMs: 0, problems: [] };
  }

  /** Where the hub answers, once started. */
  get url(): string {
    return this.#gateway?.url ?? '';
  }

  /** Where this machine itself reaches it in clear, once started. */
  get localUrl(): string {
    return this.#gateway?.localUrl ?? '';
  }

  /** The tools for a program that runs the hub inside itself; CONFLICT before the hub has started. */
  get orchestrator(): ToolOrchestrator {
    if (this.#orchestrator) return this.#orchestrator;
    throw new AtmoError('CONFLICT', 'The hub has not started yet; wait for start() before you use its tools');
  }

  /** CONFIG_INVALID, CONFLICT (another hub has the state directory) or STORAGE_FAILED; nothing runs on after a failure. */
  async start(): Promise<void> {
    try {
      await this.#startParts();
    } catch (error) {
      await this.#stack[Symbol.asyncDispose]();
      throw namedError(error, this.#config.stateDir);
    }
  }

  async #startParts(): Promise<void> {
    this.#tellMissingPlaces();
    const mesh = () => this.#mesh?.ports();
    const ground = await openInfrastructure(
      { clock: this.#clock, logger: this.#logger, problems: this.#problems, mesh },
      this.#config,
      this.#stack,
    );
    this.#health = { ...this.#health, nodeId: ground.access.key.hubId, startedAtMs: this.#clock.now() };
    const workshop = await openToolServices(ground, this.#config, this.#stack);
    this.#pipeline = workshop.pipeline;
    this.#orchestrator = new ToolOrchestrator(
      {
        pipeline: workshop.pipeline,
        registry: workshop.registry,
        tools: workshop.tools,
        capabilities: workshop.capabilities,
        authenticator: ground.access.authenticator,
      },
      { orchestratorId: ground.access.key.hubId, isDynamicRegistrationAllowed: this.#config.tools.isDynamicRegistrationAllowed },
    );
    this.#registerAll(workshop.registry, [
      ...basicTools,
      ...jobTools(workshop.jobs),
      ...sensorTools({
        readings: ground.readings,
        directory: ground.directory,
        homeNames: ground.homeNames,
        authorizer: ground.access.authorizer,
      }),
    ]);
    this.#registerAll(workshop.registry, authTools(ground, workshop, this.#config));
    const { room } = ground;
    const { profilesDir, stateDir } = this.#config;
    const takenOf = acceptedTextsInStore(ground.store, stateDir);
    if (room) await openDevices(ground, workshop, { room, profilesDir, takenOf, stack: this.#stack });
    await openSensors(ground, workshop.registry, { config: this.#config.sensors, stack: this.#stack });
    const { version } = this.#health;
    const programs = openProgramSandbox(this.#config.connectors.sandbox, { stateDir: this.#config.stateDir, env: process.env });
    await openConnectors(ground, workshop, { config: this.#config, env: process.env, programs, version, stack: this.#stack });
    for (const tool of this.#ownTools) registerAnyTool(workshop.registry, tool);
    const registrations = await openRegistration(ground, workshop, { config: this.#config, programs, stack: this.#stack });
    const runner = await this.#startAgents(ground, workshop);
    for (const part of [registrations, runner]) workshop.nameUses.add(() => part.referringTexts());
    this.#warnOfUnknownNames(workshop.registry);
    const gateway = openHttp(ground, workshop, {
      config: this.#config,
      health: () => this.#healthNow(),
      meshDrops: () => this.#mesh?.drops() ?? {},
      registrations,
      openListener: this.#network?.openListener,
    });
    this.#gateway = gateway;
    this.#mesh = this.#makeMesh(ground, workshop, gateway);
    this.#registerAll(workshop.registry, meshTools(this.#mesh));
    const { authenticator } = ground.access;
    // What still runs for guests from a hub that was sent away has to end.
    ground.access.membership.membership.onLost(() => workshop.pipeline.abortCallsOf((caller) => !authenticator.isStillValid(caller)));
    await this.#stack.start(gateway);
    await this.#stack.start(this.#mesh);
    this.#health = { ...this.#health, status: 'ok' };
  }

  /** What the owner named and is not there must not read as if nothing had been named. */
  #tellMissingPlaces(): void {
    for (const problem of missingPaths(this.#config)) {
      this.#logger.warn('config.missing', { problem });
      this.#problems.raise(problem, `${problem}; make it or take the key out, then restart the hub`);
    }
  }

  /** Takes no new calls, lets running ones end, then stops everything in reverse. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#health = { ...this.#health, status: 'stopping' };
    const drained = this.#pipeline?.drain(DRAIN_MS);
    this.#logger.info('hub.stopping', { waits_at_most_ms: DRAIN_MS });
    const isDrained = await drained;
    if (isDrained === false) this.#logger.warn('hub.not_drained', { waited_ms: DRAIN_MS });
    await this.#stack[Symbol.asyncDispose]();
  }

  async #startAgents(
    { events, readings, store, directory: devices, access }: Infrastructure,
    workshop: ToolServices,
  ): Promise<AgentRunner> {
    const runner = new AgentRunner({
      outlook: workshop.outlook,
      validator: workshop.validator,
      pipeline: workshop.pipeline,
      tokens: access.tokens,
      authorizer: access.authorizer,
      time: access.time,
      registry: workshop.tools,
      clock: this.#clock,
      logger: this.#logger,
      events,
      readings,
      store,
      devices,
    });
    this.#registerAll(workshop.registry, agentTools(runner));
    await this.#stack.start(runner);
    return runner;
  }

  /** Devices may bring a tool of the name later, so it is no mistake for sure. */
  #warnOfUnknownNames(registry: ToolRegistry): void {
    const { disabled, failOver, features } = this.#config.tools;
    const written = { 'tools.disabled': disabled, 'tools.fail_over': failOver, 'tools.features': Object.keys(features) };
    for (const [setting, names] of Object.entries(written)) {
      for (const name of unknownToolNames(names, registry.all())) this.#logger.warn('config.names_no_tool', { setting, name });
    }
  }

  #makeMesh(ground: Infrastructure, workshop: ToolServices, gateway: HttpApi): MeshService {
    const { access, directory: devices, events, store } = ground;
    const { registry, capabilities, validator, pipeline, jobStore } = workshop;
    const hub: MeshHub = {
      clock: this.#clock,
      logger: this.#logger.child({ module: 'mesh' }),
      events,
      store,
      time: access.time,
      audit: access.audit,
      registry,
      devices,
      validator,
      pipeline,
      jobStore,
      capabilities: () => capabilities.list(devices, () => false),
      isOnline: () => workshop.networkRoutes.isOnline(),
      authority: access.tokens,
      validity: access.authenticator,
      tokens: access.meshTokens,
      revocations: access.revocations,
      visibleEvents: (principal: Principal) => gateway.eventFilter(principal),
    };
    const { version } = this.#health;
    const { key, membership } = access;
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

/** What the file system said of a file that no part expected to fail, with that file's name. */
function namedError(error: unknown, stateDir: string): unknown {
  const path = error instanceof Error && 'path' in error ? String(error.path) : stateDir;
  return toStorageError(error, path);
}
