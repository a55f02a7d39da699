import { createHmac } from 'node:crypto';
import { GrantAuthorizer } from '../../src/auth/grant-authorizer.ts';
import { LateComingAutomations } from '../../src/calls/coming-conflicts.ts';
import { IdempotencyStore } from '../../src/calls/idempotency-store.ts';
import { JobDirectory } from '../../src/calls/jobs/job-directory.ts';
import { JobStore } from '../../src/calls/jobs/job-store.ts';
import { MeshProxy } from '../../src/calls/mesh-ports.ts';
import { CallPipeline } from '../../src/calls/pipeline.ts';
import type { PipelineCollaborators, PipelineOptions, RouteCandidate } from '../../src/calls/pipeline-context.ts';
import type { CallAnswer } from '../../src/calls/request-and-answer.ts';
import { UsageCounter } from '../../src/calls/usage.ts';
import type { CallVault, VaultContent } from '../../src/core/auth/call-vault.ts';
import { NO_GROUPS } from '../../src/core/auth/permission.ts';
import type { Authorizer, Principal, TokenFacts } from '../../src/core/auth/principal.ts';
import type { Clock } from '../../src/core/clock.ts';
import { LateDeviceStates } from '../../src/core/devices/device-states.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { EventBus, type HubEvent } from '../../src/core/events.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { AuditIntent, AuditOutcome, AuditSink } from '../../src/core/storage/audit-sink.ts';
import { INVOCATION_POLICY } from '../../src/tools/definition/invocation-policy.ts';
import { normalizeDefinition } from '../../src/tools/definition/public-definition.ts';
import type { RegisteredTool, ToolHandler } from '../../src/tools/definition/tool-definition.ts';
import { toolId } from '../../src/tools/definition/tool-names.ts';
import { type RemoteTools, ToolDirectory } from '../../src/tools/registry/tool-directory.ts';
import { ToolRegistry } from '../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { NO_REMOTE_GROUPS } from '../no-device-facts.ts';

export const owner: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };

export function agent(...permissions: readonly string[]): Principal {
  return { id: 'agent-1', kind: 'agent', permissions };
}

/** The same agent with a token that lives for an hour of the manual clock, `facts` aside. */
export function withToken(principal: Principal, facts: Partial<TokenFacts> = {}): Principal {
  const expiresAtMs = new ManualClock().now() + 3_600_000;
  return { ...principal, token: { id: 'aa', chain: ['aa'], text: 'at1.text', expiresAtMs, keys: [], rateLimits: [], ...facts } };
}

/** Decides by the grants, with tokens that never end and no groups of devices. */
export const listAuthorizer: Authorizer = new GrantAuthorizer({
  groups: NO_GROUPS,
  elsewhere: NO_REMOTE_GROUPS,
  validity: { isStillValid: () => true },
});

type ToolInput = Record<string, unknown> & { readonly handler?: ToolHandler } & Partial<
    Pick<RegisteredTool, 'effects' | 'canonicalize' | 'isAvailable' | 'isolation' | 'aliases'>
  >;

/** A tool from its public form; without side effects unless `execution` says so. */
export function makeTool({ handler, effects, canonicalize, isAvailable, isolation, aliases, ...input }: ToolInput): RegisteredTool {
  const execution = { side_effects: false, ...(input.execution as object) };
  const definition = normalizeDefinition({ name: 'probe', description: 'Does what a test wants', ...input, execution });
  return {
    id: toolId(definition),
    definition,
    handler: handler ?? (async () => ({ ok: true })),
    ...(effects && { effects }),
    ...(canonicalize && { canonicalize }),
    ...(isAvailable && { isAvailable }),
    ...(isolation && { isolation }),
    ...(aliases && { aliases }),
  };
}

/** A hub that is in no mesh. */
export const NO_OTHERS = new MeshProxy(() => undefined);

/** The jobs of a hub without others. */
export function jobsHere(jobs: JobStore): JobDirectory {
  return new JobDirectory({ jobs, places: { hubOf: () => undefined, list: () => [] }, remote: NO_OTHERS.jobs });
}

/** A vault that hides nothing. */
export const PLAIN_VAULT: CallVault = {
  seal: (jobId, content) => JSON.stringify({ jobId, content }),
  open: (jobId, sealed) => {
    const found = JSON.parse(sealed) as { readonly jobId: string; readonly content: VaultContent };
    if (found.jobId !== jobId) throw new AtmoError('STORAGE_FAILED', 'The call of another job');
    return found.content;
  },
};

/** The parts of a pipeline that guard a call. */
type GuardingParts = Pick<
  PipelineCollaborators,
  | 'audit'
  | 'approvals'
  | 'vault'
  | 'rules'
  | 'rateLimiter'
  | 'rehearsalLimiter'
  | 'router'
  | 'jobPlaces'
  | 'mesh'
  | 'states'
  | 'coming'
  | 'validity'
  | 'time'
  | 'sealSecret'
  | 'features'
  | 'roleOf'
  | 'process'
  | 'usage'
>;

/** Guards that let every call pass, of a hub in no mesh; only what people have to approve is refused, as nobody is there to do it. */
export function permissiveParts(clock: Clock): GuardingParts {
  const nobodyApproves = async ({ toolId }: { readonly toolId: string }) => {
    throw new AtmoError('PERMISSION_DENIED', `${toolId} is dangerous or a rule wants it approved, and nobody is here to approve it`);
  };
  return {
    audit: { record: async () => {} },
    approvals: {
      check: nobodyApproves,
      peek: nobodyApproves,
      giveBack: () => {},
      refusalOf: () => undefined,
      stillApprovedBy: () => [],
      withdraw: () => {},
    },
    vault: PLAIN_VAULT,
    rules: { judge: () => ({ kind: 'allow' }) },
    rateLimiter: { charge: () => {}, left: () => [] },
    rehearsalLimiter: { charge: () => {} },
    router: NO_OTHERS.router,
    jobPlaces: { remember: () => {} },
    mesh: NO_OTHERS.view,
    states: new LateDeviceStates(),
    coming: new LateComingAutomations(),
    validity: { isStillValid: () => true },
    time: { now: () => clock.now(), isTrusted: () => true },
    sealSecret: (value) => createHmac('sha256', 'a key of tests').update(JSON.stringify(value)).digest('hex'),
    features: { required: {}, granted: () => [] },
    roleOf: () => undefined,
    process: { availableMemory: () => Number.MAX_SAFE_INTEGER, availableHeap: () => Number.MAX_SAFE_INTEGER },
    usage: new UsageCounter(),
  };
}

/** What a test gives a room instead of what it has by itself, and the tools of other hubs. */
type RoomParts = Partial<Omit<PipelineCollaborators, 'self'>> & {
  readonly self?: Partial<RouteCandidate>;
  readonly capabilities?: () => readonly string[];
  readonly remote?: RemoteTools;
};

/** Limits that a test of something else does not reach. */
export const TEST_OPTIONS: PipelineOptions = {
  maxConcurrent: 64,
  maxQueued: 256,
  maxConcurrentPerCaller: 16,
  maxQueuedPerCaller: 256,
  defaultTimeoutMs: INVOCATION_POLICY.timeoutMs,
  maxCallsPerSession: Number.POSITIVE_INFINITY,
  maxParamsBytes: 65_536,
  minFreeBytes: 16_000_000,
  disabledTools: [],
  failOverTools: [],
  resultInvalid: 'error',
  logCalls: true,
};

/** A pipeline with everything around it in memory. */
export function makePipeline(
  { remote = NO_OTHERS.tools, self: ownFacts, capabilities = () => ['sensor_access', 'matter_bridge'], ...extra }: RoomParts = {},
  options: Partial<PipelineOptions> = {},
) {
  const clock = new ManualClock();
  const guards = permissiveParts(extra.clock ?? clock);
  const validator = new SchemaValidator();
  const registry = new ToolRegistry({ validator });
  const events = new EventBus('hub:test', clock);
  const heard: HubEvent[] = [];
  events.listen((event) => heard.push(event));
  const store = new MemoryKeyValueStore(clock);
  const jobs = new JobStore({ store, clock, events });
  const idempotency = new IdempotencyStore({ store, clock, hasLostState: false });
  const audited: (AuditIntent | AuditOutcome)[] = [];
  const audit: AuditSink = {
    record: async (entry) => {
      if (entry.kind !== 'note') audited.push(entry);
    },
  };
  const self: RouteCandidate = {
    id: 'hub-1',
    name: 'cellar',
    isLocal: true,
    isReachable: true,
    isOnline: true,
    hops: 0,
    roundTripMs: 0,
    get capabilities() {
      return capabilities();
    },
    ...ownFacts,
  };
  const tools = new ToolDirectory({ registry, self, remote, mesh: extra.mesh ?? NO_OTHERS.view });
  const collaborators: PipelineCollaborators = {
    ...guards,
    registry,
    tools,
    validator,
    authorizer: listAuthorizer,
    clock,
    stallDetector: { waitedMs: 0 },
    logger: silentLogger,
    events,
    self,
    jobs,
    idempotency,
    audit,
    ...extra,
  };
  const pipeline = new CallPipeline(collaborators, { ...TEST_OPTIONS, ...options });
  return { clock, validator, registry, tools, events, heard, store, jobs, idempotency, audited, pipeline, collaborators };
}

/** The code of a refused or failed call; `success` for one that worked. */
export function codeOf(answer: CallAnswer): string {
  return answer.status === 'error' ? answer.error.code : 'success';
}

/** Lets everything that is ready run. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}
