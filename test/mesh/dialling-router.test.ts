import { describe, expect, test, vi } from 'vitest';
import type { ForwardedCall } from '../../src/calls/pipeline-context.ts';
import type { HubId } from '../../src/core/ids.ts';
import { DiallingRouter } from '../../src/mesh/dialling-router.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';

const TARGET = 'hub-00000000000000aa' as HubId;
type Parts = ConstructorParameters<typeof DiallingRouter>[0];

/** A router whose hub gets connected, while its control stream never comes. */
function room(dialNow: () => Promise<unknown> = async () => undefined, isElsewhere = () => false) {
  const clock = new ManualClock();
  const forward = vi.fn(async () => ({}) as never);
  const stopListening = vi.fn();
  const links = { to: () => undefined, onLinkUp: () => stopListening } as unknown as Parts['links'];
  const connections = { dialNow } as Parts['connections'];
  const parts = { clock, router: { forward }, connections, peers: { routeTo: () => undefined }, links };
  const router = new DiallingRouter({ ...parts, isElsewhere });
  const call = (signal: AbortSignal) => router.forward(TARGET, { signal } as ForwardedCall);
  return { clock, forward, stopListening, call };
}

describe('a call to a hub that is no neighbour', () => {
  test('waits for the control stream of its connection for a second and not longer', async () => {
    const { clock, forward, stopListening, call } = room();
    const called = call(new AbortController().signal);
    await settled();
    clock.advance(999);
    await settled();
    expect(forward).not.toHaveBeenCalled();
    clock.advance(1);
    await called;
    expect(forward).toHaveBeenCalledOnce();
    expect(stopListening).toHaveBeenCalledOnce();
  });

  test('does not wait for the stream when its caller gave up while the connection was made', async () => {
    const caller = new AbortController();
    const { forward, call } = room(async () => caller.abort());
    await call(caller.signal);
    expect(forward).toHaveBeenCalledOnce();
  });
});
