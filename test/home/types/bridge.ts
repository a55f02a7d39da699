import { AggregatorEndpoint } from '@matter/main/endpoints/aggregator';
import type { DeviceType } from '../part.ts';

/** Empty; what it bridges stands in the home's description or is added while it runs. */
export const BRIDGE: DeviceType = { parts: [{ id: 'bridge', type: AggregatorEndpoint }] };
