import { describe, expect, test } from 'vitest';
import { RemoteData } from '../../../src/web/components/remote-data.ts';

describe('data that is loaded from the hub', () => {
  test('holds the result of the last request, whichever response comes first', async () => {
    const asked = new RemoteData<string>(() => undefined);
    const slow = Promise.withResolvers<string>();
    const first = asked.load(() => slow.promise);
    await asked.load(async () => 'second');
    slow.resolve('first');
    await first;
    expect(asked.value).toBe('second');
    expect(asked.isLoading).toBe(false);
  });

  test('holds the old value during a new request, and the error after it', async () => {
    let changes = 0;
    const asked = new RemoteData<string>(() => changes++);
    await asked.load(async () => 'before');
    const again = asked.load(async () => {
      throw new TypeError('no answer');
    });
    expect({ value: asked.value, isLoading: asked.isLoading }).toEqual({ value: 'before', isLoading: true });
    await again;
    expect({ value: asked.value, problem: asked.problem, isLoading: asked.isLoading }).toEqual({
      value: 'before',
      problem: 'no answer',
      isLoading: false,
    });
    expect(changes).toBe(4);
  });

  test('stays empty after a reset when a late response comes', async () => {
    const asked = new RemoteData<string>(() => undefined);
    const late = Promise.withResolvers<string>();
    const pending = asked.load(() => late.promise);
    asked.reset();
    late.resolve('late');
    await pending;
    expect(asked.value).toBeUndefined();
  });
});
