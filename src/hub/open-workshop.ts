import { hostname } from 'node:os';
import type { HubConfig } from '../config/config.ts';
import type { Principal } from '../core/access/principal.ts';
import type { EventBus } from '../core/events.ts';
import type { Logger } from '../core/logger.ts';
import type { ServiceStack } from '../core/service.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { Clock } from '../core/time/clock.ts';
import { Standstill } from '../core/time/standstill.ts';
import { configuredAreas } from '../sensors/sensor-config.ts';
import { CallPipeline } from '../tools/calls/call-pipeline.ts';
import { IdempotencyStore } from '../tools/calls/jobs/idempotency-store.ts';
import { JobPlaces } from '../tools/calls/jobs/job-places.ts';
import { JobStore } from '../tools/calls/jobs/job-store.ts';
import { UsageCounter } from '../tools/calls/usage/usage-counter.ts';
import { UsageKeeper } from '../tools/calls/usage/usage-keeper.ts';
import { CapabilityCatalogue } from '../tools/capability-catalogue.ts';
import { KnownJobs } from '../tools/elsewhere/known-jobs.ts';
import { KnownTools } from '../tools/elsewhere/known-tools.ts';
import { MeshOutlook, type MeshPorts } from '../tools/elsewhere/mesh-outlook.ts';
import { NameUses } from '../tools/places/name-uses.ts';
import { SchemaValidator } from '../tools/schema/schema-validator.ts';
import { tellToolChanges } from '../tools/tool-events.ts';
import { ToolRegistry } from '../tools/tool-registry.ts';
import { OWN_CAPABILITIES } from './hub-capabilities.ts';
import { GPU, hasGpu, NetworkRoutes } from './machine-facts.ts';
import type { Access } from './open-access.ts';

/** What the tools room needs of the rest of the hub. */
export interface WorkshopGround {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly store: KeyValueStore;
  readonly access: Access;
  /** The mesh, while the hub is in one. */
  readonly mesh: () => MeshPorts | undefined;
}

/** Tools, and the one way to them. */
export interface Workshop {
  readonly registry: ToolRegistry;
  /** Those of the registry and of other hubs. */
  readonly tools: KnownTools;
  readonly validator: SchemaValidator;
  readonly jobs: KnownJobs;
  /** Those of this hub alone. */
  readonly jobStore: JobStore;
  readonly outlook: MeshOutlook;
  readonly capabilities: CapabilityCatalogue;
  /** What was written down with names of devices and tools. */
  readonly nameUses: NameUses;
  readonly pipeline: CallPipeline;
  /** Whether the hub has a network. */
  readonly networkRoutes: Pick<NetworkRoutes, 'isOnline'>;
}

/** Opens a registry without tools yet and the pipeline of calls over it. */
export async function openWorkshop(ground: WorkshopGround, config: HubConfig, stack: ServiceStack): Promise<Workshop> {
  const { access, store, clock, logger, events } = ground;
  const validator = new SchemaValidator();
  const registry = new ToolRegistry({ validator }, { onWarning: config.tools.refusesUndescribed ? 'error' : 'keep' });
  const outlook = new MeshOutlook(ground.mesh);
  const self = { id: access.key.hubId, name: hubName(config) };
  const known = new KnownTools({ registry, self, remote: outlook.tools, mesh: outlook.view });
  const jobStore = new JobStore({ store, clock, events });
  jobStore.recover();
  const jobPlaces = new JobPlaces(store);
  const jobs = new KnownJobs({ jobs: jobStore, places: jobPlaces, remote: outlook.jobs });
  tellToolChanges(registry, events);
  const capabilities = new CapabilityCatalogue(registry);
  for (const capability of OWN_CAPABILITIES) capabilities.add(capability);
  if (config.capabilities.gpu ?? hasGpu()) capabilities.add(GPU);
  const networkRoutes = new NetworkRoutes(clock);
  const usage = new UsageCounter();
  await stack.start(new UsageKeeper({ usage, store, clock, logger }));
  stack.own(registry);
  const standstill = new Standstill(clock);
  await stack.start(standstill);
  const nameUses = namesWrittenDown(config, { access, clock });
  const parts = {
    registry,
    tools: known,
    nameUses,
    validator,
    jobStore,
    jobPlaces,
    outlook,
    capabilities,
    usage,
    standstill,
    networkRoutes,
  };
  const pipeline = openPipeline(ground, parts, config);
  access.tokens.onRevoked((tokenId) => jobStore.cancelOf(tokenId));
  // Other hubs may say so too, and not each of them may end this token.
  access.revocations.onRevoked((tokenId) => {
    pipeline.abortOf((caller) => (caller.token?.chain.includes(tokenId) ?? false) && !access.authenticator.isStillValid(caller));
  });
  return { registry, tools: known, nameUses, validator, jobs, jobStore, outlook, capabilities, pipeline, networkRoutes };
}

/** The names in the configuration, in tokens that still count and in the owner's rules. */
function namesWrittenDown(
  { tools: { disabled, failOver, features }, roles, sensors }: HubConfig,
  { access, clock }: Pick<WorkshopGround, 'access' | 'clock'>,
): NameUses {
  const uses = new NameUses();
  uses.add(() =>
    Object.entries(roles).map(([name, { permissions }]) => ({ kind: 'setting', id: `roles.${name}`, content: [...permissions] })),
  );
  uses.add(() => access.rules.list().rules.map(({ name, when }) => ({ kind: 'rule', id: name, content: when })));
  uses.add(() =>
    access.tokens
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

/** What people call the hub. */
export function hubName({ mesh }: HubConfig): string {
  return mesh.name ?? hostname();
}

type PipelineParts = Omit<Workshop, 'pipeline' | 'jobs'> & {
  readonly usage: UsageCounter;
  readonly jobPlaces: JobPlaces;
  readonly standstill: Standstill;
};

function openPipeline(ground: WorkshopGround, parts: PipelineParts, config: HubConfig): CallPipeline {
  const { tools, roles } = config;
  const { access, store, clock, logger, events } = ground;
  const { disabled, failOver, logsCalls, features, refusesUndescribed: _, ...bounds } = tools;
  const roleOf = ({ token }: Principal) => token && access.tokens.find(token.id)?.role;
  // An agent has the features of the role that its token was minted for.
  const featuresOf = (principal: Principal) => {
    const role = roleOf(principal);
    return role === undefined ? [] : (roles[role]?.features ?? []);
  };
  return new CallPipeline(
    {
      registry: parts.registry,
      tools: parts.tools,
      validator: parts.validator,
      authorizer: access.authorizer,
      clock,
      standstill: parts.standstill,
      logger,
      events,
      nodeId: access.key.hubId,
      capabilities: () => parts.capabilities.types(),
      facts: () => ({ name: hubName(config), isOnline: parts.networkRoutes.isOnline(), constraints: parts.capabilities.constraints() }),
      jobs: parts.jobStore,
      idempotency: new IdempotencyStore({ store, clock }),
      audit: access.audit,
      approvals: access.approvals,
      rules: access.rules,
      rateLimiter: access.rateLimiter,
      router: parts.outlook.router,
      jobPlaces: parts.jobPlaces,
      mesh: parts.outlook.view,
      validity: access.authenticator,
      time: access.time,
      sealSecret: (value) => access.key.sealSecret(value),
      features: { required: features, granted: featuresOf },
      roleOf,
      availableMemory: () => process.availableMemory(),
      usage: parts.usage,
    },
    { ...bounds, logCalls: logsCalls, disabledTools: disabled, failOverTools: failOver },
  );
}
