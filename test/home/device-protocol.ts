import type { Json } from '../../src/core/json.ts';
import type { DeviceSpec } from './home-spec.ts';

/** What a device process does on request: one JSON line in, one JSON line out with the same id. */
export interface Request {
  readonly id: number;
  readonly device: string;
  readonly op: 'pairing' | 'get' | 'state' | 'set' | 'emit' | 'commands' | 'reset' | 'addBridged' | 'removeBridged' | 'memory';
  readonly params: Readonly<Record<string, Json>>;
}

export type Reply = { readonly id: number; readonly result: Json } | { readonly id: number; readonly error: string };

/** First line that a process writes: all its devices can be commissioned. */
export interface Ready {
  readonly ready: true;
}

/** Everything that a device process is told at its start, as its only argument in JSON. */
export interface ProcessSpec {
  readonly storagePath: string;
  /** Network interface for multicast DNS. */
  readonly interfaceName: string;
  readonly devices: readonly DeviceSpec[];
}
