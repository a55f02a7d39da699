import { systemClock } from '../../src/core/clock.ts';
import type { Logger } from '../../src/core/logger.ts';
import { TokenBucket } from '../../src/mesh/rate-limit.ts';
import { ControlLink } from '../../src/mesh/rpc/control-link.ts';
import type { RequestHandler } from '../../src/mesh/rpc/peer-link.ts';
import type { ConnectionGate, MeshStream } from '../../src/mesh/transport/mesh-engine.ts';

/** What both ends of the echo benchmark agree on. */
export const ECHO_PROTOCOL = '/atmosphere-edge/bench-echo/1';

/** The echo measures the engine, not the certificates: whoever has the key gets in. */
export const everybody: ConnectionGate = { admit: async () => undefined };

/** One stream for all requests, as hubs have it. */
export const LINK_PROTOCOL = '/atmosphere-edge/bench-link/1';
/** A stream for each request. */
export const REQUEST_PROTOCOL = '/atmosphere-edge/bench-request/1';

const logger: Logger = { error() {}, warn() {}, info() {}, debug() {}, child: () => logger };

/** The hub's own control stream, started, without bounds on the rate of requests. */
export function startedLink(stream: MeshStream, ids: 'odd' | 'even', handler: RequestHandler): ControlLink {
  const rate = new TokenBucket(systemClock, { burst: 1e9, perSecond: 1e9 });
  const drops = { count: () => undefined };
  const link = new ControlLink({ stream, clock: systemClock, logger, drops, rate, handlerOf: () => handler, onEnd: () => undefined }, ids);
  link.start();
  return link;
}
