import { NO_HOME_NAMES } from '../../src/core/devices/home-names.ts';
import { NO_DEVICES } from '../../src/core/devices/no-devices.ts';
import type { ReadingStore } from '../../src/core/devices/reading-store.ts';
import type { EventBus } from '../../src/core/events.ts';
import { HubProblems } from '../../src/core/hub-problems.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { AuditSink } from '../../src/core/storage/audit-sink.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import { systemClock } from '../../src/core/time/clock.ts';
import { HttpGateway } from '../../src/gateway/http-gateway.ts';
import { MetricRegistry } from '../../src/gateway/metrics/metrics.ts';
import { CallPipeline } from '../../src/tools/calls/call-pipeline.ts';
import { IdempotencyStore } from '../../src/tools/calls/jobs/idempotency-store.ts';
import { JobStore } from '../../src/tools/calls/jobs/job-store.ts';
import { CapabilityCatalogue } from '../../src/tools/capability-catalogue.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { KnownTools } from '../../src/tools/elsewhere/known-tools.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { LexicalEntitySearch } from '../../src/tools/search/lexical-entity-search.ts';
import { LexicalToolSearch } from '../../src/tools/search/lexical-tool-search.ts';
import { ToolRegistry } from '../../src/tools/tool-registry.ts';
import { jobsHere, listAuthorizer, NO_OTHERS, owner, permissiveParts } from '../../test/tools/tool-room.ts';

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
  readonly door: HttpGateway;
  readonly pipeline: CallPipeline;
} {
  const [clock, logger] = [systemClock, silentLogger];
  const validator = new SchemaValidator();
  const registry = new ToolRegistry({ validator });
  for (const tool of own) registry.register(tool);
  const jobs = new JobStore({ store, clock, events });
  const tools = new KnownTools({ registry, self: { id: SELF, name: 'bench' }, remote: NO_OTHERS.tools, mesh: NO_OTHERS.view });
  const idempotency = new IdempotencyStore({ store, clock });
  const pipeline = new CallPipeline({
    ...permissiveParts(clock, SELF),
    registry,
    tools,
    validator,
    authorizer: listAuthorizer,
    clock,
    logger,
    events,
    jobs,
    standstill: { waitedMs: 0 },
    nodeId: SELF,
    capabilities: () => [],
    idempotency,
    ...(audit && { audit }),
  });
  const health = { status: 'ok', nodeId: SELF, version: '0', startedAtMs: 0, problems: [] } as const;
  const door = new HttpGateway(
    {
      registry,
      tools,
      validator,
      authorizer: listAuthorizer,
      clock,
      logger,
      events,
      outlook: NO_OTHERS,
      store,
      jobs: jobsHere(jobs),
      pipeline,
      capabilities: new CapabilityCatalogue(registry),
      search: new LexicalToolSearch(),
      entities: new LexicalEntitySearch(),
      homeNames: NO_HOME_NAMES,
      directory: NO_DEVICES,
      readings,
      authenticator: { authenticate: async () => ({ principal: owner }), isStillValid: () => true },
      metrics: new MetricRegistry(),
      health: { health: () => health },
      problems: new HubProblems(),
      time: clock,
      meshDrops: () => ({}),
      registrations: { record: () => undefined, isManagedBy: () => false },
      signChallenge: () => new Uint8Array(),
    },
    { host: '127.0.0.1', port: 0 },
  );
  return { door, pipeline };
}
