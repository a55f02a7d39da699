import { AtmoError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { EnginePeer, MeshEngine, PeerAddress } from '../../engine/mesh-engine.ts';

const NEXT_ADDRESS_MS = 250; // RFC 8305 8, connection attempt delay

/** What a try needs. */
export interface DialTry {
  readonly clock: Clock;
  readonly engine: Pick<MeshEngine, 'connect'>;
  /** In the order in which to try them; at least one. */
  readonly addresses: readonly PeerAddress[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** How a try ended. */
export interface DialOutcome {
  readonly peer?: EnginePeer;
  readonly address?: PeerAddress;
  /** Addresses where a hub answered and would not have us, or another hub than expected was. */
  readonly refused: readonly PeerAddress[];
}

/**
 * Tries the addresses of one hub, the next one when the last has failed or for 250 ms not answered; the first connection
 * ends the others. Never rejects.
 */
export function dialTry(parts: DialTry): Promise<DialOutcome> {
  const { clock, engine, addresses, timeoutMs, signal } = parts;
  const { promise, resolve } = Promise.withResolvers<DialOutcome>();
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  const refused: PeerAddress[] = [];
  let next = 0;
  let open = 0;
  let cancelNext = () => {};

  const finish = (outcome: DialOutcome) => {
    cancelNext();
    cancelTimeout();
    over.abort();
    resolve(outcome);
  };
  const begin = () => {
    cancelNext();
    const address = addresses[next];
    if (address === undefined) return;
    next += 1;
    open += 1;
    cancelNext = clock.after(NEXT_ADDRESS_MS, begin);
    engine.connect(address, { signal: within }).then(
      (peer) => finish({ peer, address, refused }),
      (error: unknown) => {
        open -= 1;
        if (error instanceof AtmoError && error.code === 'PERMISSION_DENIED') refused.push(address);
        if (within.aborted || (open === 0 && next === addresses.length)) finish({ refused });
        else begin();
      },
    );
  };
  const cancelTimeout = clock.after(timeoutMs, () => finish({ refused }));
  begin();
  return promise;
}
