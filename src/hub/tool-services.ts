import { rehearseTool } from '../calls/builtin/rehearse-tool.ts';
import { ruleTools } from '../calls/builtin/rule-tools.ts';
import { LateComingAutomations } from '../calls/coming-conflicts.ts';
import { sequenceTool } from '../calls/composition/steps.ts';
import { IdempotencyStore } from '../calls/idempotency-store.ts';
import { JobDirectory, JobLocations } from '../calls/jobs/job-directory.ts';
import { JobStore } from '../calls/jobs/job-store.ts';
import { WaitingJobs } from '../calls/jobs/waiting-jobs.ts';
import { availableHeap } from '../calls/limits.ts';
import { type MeshPorts, MeshProxy } from '../calls/mesh-ports.ts';
import { CallPipeline } from '../calls/pipeline.ts';
import type { RouteCandidate } from '../calls/pipeline-context.ts';
import { replayTools } from '../calls/replay.ts';
import { UsageCounter, UsageWriter } from '../calls/usage.ts';
import type { Principal } from '../core/auth/principal.ts';
import { availableMemory } from '../core/available-memory.ts';
import type { Clock } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import { LateDeviceStates } from '../core/devices/device-states.ts';
import { StallDetector } from '../core/health.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import { configuredAreas } from '../sensors/sensor-config.ts';
import type { HistoryStore } from '../storage/history/history-store.ts';
import type { StateStore } from '../storage/state-store.ts';
import { approvalTools } from '../tools/builtin/approval-tools.ts';
import { approvalWaitTools } from '../tools/builtin/approval-wait-tools.ts';
import { approverKeyTools } from '../tools/builtin/approver-key-tools.ts';
import { auditTools } from '../tools/builtin/audit-tools.ts';
import { clockTools, reloadConfigTool, rotateOwnerTool, snapshotTool } from '../tools/builtin/hub-administration-tools.ts';
import { peopleTools } from '../tools/builtin/people-tools.ts';
import { tokenTools } from '../tools/builtin/token-tools.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { NameReferences } from '../tools/names/name-references.ts';
import type { AreaAliases } from '../tools/names/resolve-names.ts';
import { CapabilityCatalogue } from '../tools/registry/capability-catalogue.ts';
import { ToolDirectory } from '../tools/registry/tool-directory.ts';
import { emitToolChanges, ToolRegistry } from '../tools/registry/tool-registry.ts';
import { type SchemaValidator, sharedValidator } from '../tools/schema/schema-validator.ts';
import type { Auth } from './auth.ts';
import { databaseCopies } from './backups.ts';
import { GPU, hasGpu, NetworkRoutes, OWN_CAPABILITIES } from './capabilities.ts';
import type { HubConfig } from './config/config.ts';

/** The parts of the hub that the tool services need. */
export interface ToolServiceCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'store'> {
  readonly auth: Auth;
  /** Whether the store lost its last changes before this start. */
  readonly hasLostState: boolean;
  readonly mesh: () => MeshPorts | undefined;
}

/** The registry of tools and the pipeline of calls. */
export interface ToolServices {
  readonly registry: ToolRegistry;
  readonly tools: ToolDirectory;
  readonly validator: SchemaValidator;
  readonly jobs: JobDirectory;
  /** The jobs of this hub, without those of other hubs. */
  readonly jobStore: JobStore;
  readonly meshProxy: MeshProxy;
  readonly capabilities: CapabilityCatalogue;
  /** Finds the settings, tokens, rules and automations that use the name of a device, area or tool. */
  readonly nameUses: NameReferences;
  readonly pipeline: CallPipeline;
  /** The states of the devices, once they are opened. */
  readonly states: LateDeviceStates;
  /** What automations will do soon, once they are opened. */
  readonly coming: LateComingAutomations;
  readonly usage: UsageCounter;
  readonly networkRoutes: Pick<NetworkRoutes, 'isOnline'>;
}

/** Opens the registry, which has no tools yet, and the pipeline of calls. */
export async function openToolServices(
  collaborators: ToolServiceCollaborators,
  config: HubConfig,
  stack: ServiceStack,
): Promise<ToolServices> {
  const { auth, store, clock, logger, events } = collaborators;
  const validator = sharedValidator;
  const registry = new ToolRegistry({ validator }, { onWarning: config.tools.refusesUndescribed ? 'error' : 'keep' });
  const meshProxy = new MeshProxy(collaborators.mesh);
  const capabilities = new CapabilityCatalogue(registry);
  const networkRoutes = new NetworkRoutes(clock);
  const self = ownCandidate({ id: auth.key.hubId, name: config.mesh.name }, { capabilities, networkRoutes });
  const known = new ToolDirectory({ registry, self, remote: meshProxy.tools, mesh: meshProxy.view });
  const jobStore = new JobStore({ store, clock, events });
  jobStore.recover();
  const jobPlaces = new JobLocations(store);
  const jobs = new JobDirectory({ jobs: jobStore, places: jobPlaces, remote: meshProxy.jobs });
  emitToolChanges(registry, events);
  for (const capability of OWN_CAPABILITIES) capabilities.add(capability);
  if (config.capabilities.gpu ?? hasGpu()) capabilities.add(GPU);
  const usage = new UsageCounter();
  await stack.start(new UsageWriter({ usage, store, clock, logger }));
  stack.own(registry);
  const stallDetector = new StallDetector(clock);
  await stack.start(stallDetector);
  const nameUses = configuredNameUses(config, { auth, clock });
  const parts = {
    self,
    registry,
    tools: known,
    validator,
    jobStore,
    jobPlaces,
    meshProxy,
    usage,
    stallDetector,
    states: new LateDeviceStates(),
    coming: new LateComingAutomations(),
  };
  const pipeline = openPipeline(collaborators, parts, config);
  auth.tokens.onRevoked((tokenId) => jobStore.cancelOf(tokenId));
  // A revocation can come from a hub that may not revoke the token. So calls are aborted only if their token is no longer valid.
  auth.revocations.onRevoked((tokenId) => {
    pipeline.abortCallsOf((caller) => (caller.token?.chain.includes(tokenId) ?? false) && !auth.authenticator.isStillValid(caller));
  });
  const { states, coming } = parts;
  return {
    registry,
    tools: known,
    nameUses,
    validator,
    jobs,
    jobStore,
    meshProxy,
    capabilities,
    pipeline,
    states,
    coming,
    usage,
    networkRoutes,
  };
}

/** Returns a search over the names in the configuration, in valid tokens and in the owner's rules. */
function configuredNameUses(
  { tools: { disabled, failOver, features }, roles, sensors }: HubConfig,
  { auth, clock }: Pick<ToolServiceCollaborators, 'auth' | 'clock'>,
): NameReferences {
  const uses = new NameReferences();
  uses.add(() =>
    Object.entries(roles).map(([name, { permissions }]) => ({ kind: 'setting', id: `roles.${name}`, content: [...permissions] })),
  );
  uses.add(() => auth.rules.list().rules.map(({ name, when }) => ({ kind: 'rule', id: name, content: when })));
  uses.add(() =>
    auth.tokens
      .list()
      .filter(({ revokedAtMs, expiresAtMs }) => revokedAtMs === undefined && expiresAtMs > clock.now())
      .map(({ agentId, permissions }) => ({ kind: 'token', id: agentId, content: [...permissions] })),
  );
  uses.add(() => [
    { kind: 'setting', id: 'tools.disabled', content: [...disabled] },
    { kind: 'setting', id: 'tools.fail_over', content: [...failOver] },
    { kind: 'setting', id: 'tools.features', content: Object.keys(features) },
  ]);
  uses.add(() => configuredAreas(sensors).map(({ key, area }) => ({ kind: 'setting', id: key, content: area, isPlace: true })));
  return uses;
}

/** Returns this hub as a candidate for routing. Its capabilities and network are read only if a tool requires them. */
function ownCandidate(
  hub: Pick<RouteCandidate, 'id' | 'name'>,
  { capabilities, networkRoutes }: Pick<ToolServices, 'capabilities' | 'networkRoutes'>,
): RouteCandidate {
  return {
    id: hub.id,
    name: hub.name,
    isLocal: true,
    isReachable: true,
    hops: 0,
    roundTripMs: 0,
    get isOnline() {
      return networkRoutes.isOnline();
    },
    get capabilities() {
      return capabilities.types();
    },
    get constraints() {
      return capabilities.constraints();
    },
  };
}

type PipelineParts = Pick<ToolServices, 'registry' | 'tools' | 'validator' | 'jobStore' | 'meshProxy' | 'states' | 'coming'> & {
  readonly self: RouteCandidate;
  readonly usage: UsageCounter;
  readonly jobPlaces: JobLocations;
  readonly stallDetector: StallDetector;
};

function openPipeline(collaborators: ToolServiceCollaborators, parts: PipelineParts, config: HubConfig): CallPipeline {
  const { tools, roles, memory } = config;
  const { auth, store, clock, logger, events } = collaborators;
  const idempotency = new IdempotencyStore({ store, clock, hasLostState: collaborators.hasLostState });
  idempotency.load();
  const roleOf = ({ token }: Principal) => token && auth.tokens.find(token.id)?.role;
  // An agent has the feature flags of the role for which its token was minted.
  const featuresOf = (principal: Principal) => {
    const role = roleOf(principal);
    return role === undefined ? [] : (roles[role]?.features ?? []);
  };
  return new CallPipeline(
    {
      registry: parts.registry,
      tools: parts.tools,
      validator: parts.validator,
      authorizer: auth.authorizer,
      clock,
      stallDetector: parts.stallDetector,
      logger,
      events,
      self: parts.self,
      jobs: parts.jobStore,
      idempotency,
      audit: auth.audit,
      approvals: auth.approvals,
      vault: auth.callVault,
      rules: auth.rules,
      rateLimiter: auth.rateLimiter,
      rehearsalLimiter: auth.rehearsalLimiter,
      router: parts.meshProxy.router,
      jobPlaces: parts.jobPlaces,
      mesh: parts.meshProxy.view,
      states: parts.states,
      coming: parts.coming,
      validity: auth.authenticator,
      time: auth.time,
      sealSecret: (value) => auth.key.sealSecret(value),
      features: { required: tools.features, granted: featuresOf },
      roleOf,
      process: { availableMemory, availableHeap },
      usage: parts.usage,
    },
    {
      maxConcurrent: tools.maxConcurrent,
      maxQueued: tools.maxQueued,
      maxConcurrentPerCaller: tools.maxConcurrentPerCaller,
      maxQueuedPerCaller: memory.calls.maxQueuedPerCaller,
      defaultTimeoutMs: tools.defaultTimeoutMs,
      maxCallsPerSession: tools.maxCallsPerSession,
      maxParamsBytes: tools.maxParamsBytes,
      minFreeBytes: memory.minFreeBytes,
      disabledTools: tools.disabled,
      failOverTools: tools.failOver,
      resultInvalid: tools.resultInvalid,
      logCalls: tools.logsCalls,
    },
  );
}

/** Returns the service that runs the jobs which wait for approval. */
export function waitingJobs(
  { auth, events, logger }: Pick<ToolServiceCollaborators, 'auth' | 'events' | 'logger'>,
  { pipeline, jobStore: jobs }: Pick<ToolServices, 'pipeline' | 'jobStore'>,
): WaitingJobs {
  return new WaitingJobs({ events, logger, jobs, approvals: auth.approvals, vault: auth.callVault, pipeline });
}

interface AuthToolCollaborators {
  readonly clock: Clock;
  readonly store: StateStore;
  readonly readings: HistoryStore;
  readonly auth: Auth;
  readonly directory: DeviceDirectory;
  readonly homeNames: AreaAliases;
}

/** Returns the tools for approvals, tokens, rules, the audit log and the administration of the hub. */
export function authTools(
  collaborators: AuthToolCollaborators,
  { registry, tools, validator, pipeline }: Pick<ToolServices, 'registry' | 'tools' | 'validator' | 'pipeline'>,
  { roles, stateDir, reload }: HubConfig,
): readonly RegisteredTool[] {
  const { auth, directory: devices, readings, homeNames: names } = collaborators;
  const { audit, authorizer, rules, tokens, time } = auth;
  return [
    ...approvalTools(auth),
    ...approvalWaitTools(auth.waits),
    ...tokenTools({ tokens, roles }),
    ...peopleTools({ people: auth.people, approvers: auth.approvers, authorizer, directory: devices, readings, names }),
    ...approverKeyTools({ people: auth.people, approvers: auth.approvers }),
    ...auditTools(audit),
    ...replayTools({ log: audit, registry }),
    ...ruleTools({ rules, registry: tools, validator, authorizer, devices }),
    ...clockTools(time),
    rotateOwnerTool(auth.credential),
    sequenceTool(() => pipeline),
    rehearseTool(() => pipeline),
    snapshotTool(databaseCopies(collaborators, stateDir)),
    ...(reload ? [reloadConfigTool(reload)] : []),
  ];
}
