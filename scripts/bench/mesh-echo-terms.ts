import type { ConnectionGate } from '../../src/mesh/transport/mesh-engine.ts';

/** What both ends of the echo benchmark agree on. */
export const ECHO_PROTOCOL = '/atmosphere-edge/bench-echo/1';

/** The echo measures the engine, not the certificates: whoever has the key gets in. */
export const everybody: ConnectionGate = { admit: async () => undefined };
