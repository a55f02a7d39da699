/** The HTTP door of a hub with nothing behind it but events and readings, for benchmarks of what it tells. */

import { GrantAuthorizer } from '../../src/access/grant-authorizer.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { EventBus } from '../../src/core/events.ts';
import { NO_HOME_NAMES } from '../../src/core/home-names.ts';
import type { KeyValueStore } from '../../src/core/key-value-store.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { NO_DEVICES } from '../../src/core/no-devices.ts';
import { NO_GROUPS } from '../../src/core/permission.ts';
import type { Principal } from '../../src/core/principal.ts';
import type { ReadingStore } from '../../src/core/reading-store.ts';
import { HttpGateway } from '../../src/gateway/http-gateway.ts';
import { MetricRegistry } from '../../src/gateway/metrics/metrics.ts';
import { CallPipeline } from '../../src/tools/calls/call-pipeline.ts';
import { IdempotencyStore } from '../../src/tools/calls/idempotency-store.ts';
import { JobStore } from '../../src/tools/calls/job-store.ts';
import { CapabilityCatalogue } from '../../src/tools/capability-catalogue.ts';
import { KnownJobs } from '../../src/tools/known-jobs.ts';
import { KnownTools } from '../../src/tools/known-tools.ts';
import { MeshOutlook } from '../../src/tools/mesh-outlook.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { LexicalEntitySearch } from '../../src/tools/search/lexical-entity-search.ts';
import { LexicalToolSearch } from '../../src/tools/search/lexical-tool-search.ts';
import { ToolRegistry } from '../../src/tools/tool-registry.ts';

const SELF = 'hub-bench';
const owner: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };

interface DoorParts {
  readonly events: EventBus;
  readonly readings: ReadingStore;
  readonly store: KeyValueStore;
}

/** A door that has not been started; every bearer is its owner. */
export function eventDoor({ events, readings, store }: DoorParts): HttpGateway {
  const [clock, logger] = [systemClock, silentLogger];
  const validator = new SchemaValidator();
  const registry = new ToolRegistry({ validator });
  const authorizer = new GrantAuthorizer({ groups: NO_GROUPS, validity: { isStillValid: () => true } });
  const jobs = new JobStore({ store, clock, events });
  const tools = new KnownTools({ registry, self: { id: SELF, name: 'bench' } });
  const parts = { registry, tools, validator, authorizer, clock, logger, events, jobs };
  const health = { status: 'ok', nodeId: SELF, version: '0', startedAtMs: 0, problems: [] } as const;
  return new HttpGateway(
    {
      ...parts,
      outlook: new MeshOutlook(() => undefined),
      jobs: new KnownJobs({ jobs, places: { hubOf: () => undefined, list: () => [] } }),
      pipeline: new CallPipeline({ ...parts, nodeId: SELF, capabilities: () => [], idempotency: new IdempotencyStore({ store, clock }) }),
      capabilities: new CapabilityCatalogue(registry),
      search: new LexicalToolSearch(),
      entities: new LexicalEntitySearch(),
      homeNames: NO_HOME_NAMES,
      directory: NO_DEVICES,
      readings,
      authenticator: { authenticate: async () => ({ principal: owner }), isStillValid: () => true },
      metrics: new MetricRegistry(),
      health: { health: () => health },
    },
    { host: '127.0.0.1', port: 0 },
  );
}
