import type { ConnectorContext } from '../../src/connectors/connector.ts';
import { systemClock } from '../../src/core/clock.ts';
import { NO_DEVICES } from '../../src/core/devices/device-directory.ts';
import { HubProblems } from '../../src/core/health.ts';
import { silentLogger } from '../../src/core/logger.ts';

type GivenParts = Pick<ConnectorContext, 'events' | 'store' | 'registry'>;

/** What a connector is made from on a hub without devices, sensors, programs and agents. */
export function connectorContext(given: GivenParts & Partial<ConnectorContext>): ConnectorContext {
  return {
    clock: systemClock,
    logger: silentLogger,
    problems: new HubProblems(),
    nodeId: 'hub-1',
    stateDir: '/nonexistent',
    env: {},
    readings: { sensors: () => [], current: () => undefined },
    devices: NO_DEVICES,
    hub: { name: 'hub', version: '' },
    programs: undefined as never,
    agents: undefined as never,
    ...given,
  };
}
