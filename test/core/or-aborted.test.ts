import { describe, expect, test } from 'vitest';
import { orAborted } from '../../src/core/clock.ts';

const never = new Promise<never>(() => {});

describe('a wait that a signal ends', () => {
  test('settles as the promise does', async () => {
    const { signal } = new AbortController();
    expect(await orAborted(Promise.resolve(7), signal)).toBe(7);
    await expect(orAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
  });

  test('rejects with the reason of a signal that aborts', async () => {
    const caller = new AbortController();
    const waiting = orAborted(never, caller.signal);
    caller.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
  });

  test('does not wait for a signal that has aborted already', async () => {
    await expect(orAborted(never, AbortSignal.abort(new Error('given up')))).rejects.toThrow('given up');
  });
});
