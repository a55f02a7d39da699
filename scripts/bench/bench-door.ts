import { IdempotencyStore } from '../../src/calls/idempotency-store.ts';
import { JobStore } from '../../src/calls/jobs/job-store.ts';
import { CallPipeline } from '../../src/calls/pipeline.ts';
import { systemClock } from '../../src/core/clock.ts';
import { DeviceAttention } from '../../src/core/devices/device-attention.ts';
import { NO_DEVICES } from '../../src/core/devices/device-directory.ts';
import { NO_HOME_NAMES } from '../../src/core/devices/device-names.ts';
import type { ReadingStore } from '../../src/core/devices/sensor-readings.ts';
import type { EventBus } from '../../src/core/events.ts';
import { HubProblems } from '../../src/core/health.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { AuditSink } from '../../src/core/storage/audit-sink.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import { MetricRegistry } from '../../src/http/metrics.ts';
import { memoryProfile } from '../../src/hub/config/memory-profile.ts';
import { HttpApi } from '../../src/hub/http.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { CapabilityCatalogue } from '../../src/tools/registry/capability-catalogue.ts';
import { ToolDirectory } from '../../src/tools/registry/tool-directory.ts';
import { ToolRegistry } from '../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { LexicalEntitySearch } from '../../src/tools/search/entity-search.ts';
import { LexicalToolSearch } from '../../src/tools/search/tool-search.ts';
import { jobsHere, listAuthorizer, NO_OTHERS, owner, permissiveParts, TEST_OPTIONS } from '../../test/calls/pipeline-fixture.ts';
import { NO_PEOPLE } from '../../test/no-people.ts';

const SELF = 'hub-bench';

interface DoorParts {
  readonly events: EventBus;
  readonly readings: ReadingStore;
  readonly store: KeyValueStore;
  readonly tools?: readonly RegisteredTool[];
  readonly audit?: AuditSink;
}

/** An HTTP door with little behind it, which has not been started, and the pipeline of its calls; every bearer is the owner. */
export function benchDoor({ events, readings, store, tools: own = [], audit }: DoorParts): {
  readonly door: HttpApi;
  readonly pipeline: CallPipeline;
} {
  const [clock, logger] = [systemClock, silentLogger];
  const validator = new SchemaValidator();
  const registry = new ToolRegistry({ validator });
  for (const tool of own) registry.register(tool);
  const jobs = new JobStore({ store, clock, events });
  const tools = new ToolDirectory({ registry, self: { id: SELF, name: 'bench' }, remote: NO_OTHERS.tools, mesh: NO_OTHERS.view });
  const idempotency = new IdempotencyStore({ store, clock, hasLostState: false });
  const guards = permissiveParts(clock);
  const pipeline = new CallPipeline(
    {
      ...guards,
      registry,
      tools,
      validator,
      authorizer: listAuthorizer,
      clock,
      logger,
      events,
      jobs,
      stallDetector: { waitedMs: 0 },
      self: { id: SELF, name: 'bench', isLocal: true, isReachable: true, isOnline: true, hops: 0, roundTripMs: 0, capabilities: [] },
      idempotency,
      ...(audit && { audit }),
    },
    TEST_OPTIONS,
  );
  const health = { status: 'ok', nodeId: SELF, version: '0', startedAtMs: 0, problems: [] } as const;
  const door = new HttpApi(
    {
      registry,
      tools,
      validator,
      authorizer: listAuthorizer,
      clock,
      logger,
      events,
      mesh: NO_OTHERS,
      store,
      jobs: jobsHere(jobs),
      pipeline,
      usage: guards.usage,
      capabilities: new CapabilityCatalogue(registry),
      search: new LexicalToolSearch(),
      entities: new LexicalEntitySearch(),
      homeNames: NO_HOME_NAMES,
      directory: NO_DEVICES,
      attention: new DeviceAttention(clock),
      readings,
      authenticator: { authenticate: async () => ({ principal: owner }), isStillValid: () => true },
      metrics: new MetricRegistry(),
      health: { health: () => health },
      problems: new HubProblems(),
      time: clock,
      people: NO_PEOPLE,
      meshDrops: () => ({}),
      registrations: { record: () => undefined, isManagedBy: () => false },
      signChallenge: () => new Uint8Array(),
      oauth: undefined,
    },
    { host: '127.0.0.1', port: 0, eventStreams: memoryProfile('normal').eventStreams },
  );
  return { door, pipeline };
}
