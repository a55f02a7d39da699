import { describe, expect, test } from 'vitest';
import { Asked } from '../../../src/monitor/pages/asked.ts';

describe('something that was asked of the hub', () => {
  test('keeps the answer of the last question, whichever comes first', async () => {
    const asked = new Asked<string>(() => undefined);
    const slow = Promise.withResolvers<string>();
    const first = asked.ask(() => slow.promise);
    await asked.ask(async () => 'second');
    slow.resolve('first');
    await first;
    expect(asked.value).toBe('second');
    expect(asked.isAsking).toBe(false);
  });

  test('shows what came before while it is asked again, and why it failed', async () => {
    let changes = 0;
    const asked = new Asked<string>(() => changes++);
    await asked.ask(async () => 'before');
    const again = asked.ask(async () => {
      throw new TypeError('no answer');
    });
    expect({ value: asked.value, isAsking: asked.isAsking }).toEqual({ value: 'before', isAsking: true });
    await again;
    expect({ value: asked.value, problem: asked.problem, isAsking: asked.isAsking }).toEqual({
      value: 'before',
      problem: 'no answer',
      isAsking: false,
    });
    expect(changes).toBe(4);
  });

  test('that is forgotten stays forgotten when the answer comes', async () => {
    const asked = new Asked<string>(() => undefined);
    const late = Promise.withResolvers<string>();
    const pending = asked.ask(() => late.promise);
    asked.forget();
    late.resolve('late');
    await pending;
    expect(asked.value).toBeUndefined();
  });
});
