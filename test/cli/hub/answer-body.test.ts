import { describe, expect, test } from 'vitest';
import { answerText } from '../../../src/cli/hub/answer-body.ts';
import { allTools } from '../../../src/cli/hub/answer-lists.ts';

/** An answer whose body never ends. `pulled` counts its pieces. */
function endlessAnswer() {
  const state = { pulled: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      state.pulled++;
      controller.enqueue(new TextEncoder().encode('0123456789'));
    },
    cancel() {
      state.isCancelled = true;
    },
  });
  return { state, response: new Response(body) };
}

describe('an answer', () => {
  test('is read whole, with characters that two pieces share', async () => {
    const bytes = new TextEncoder().encode('Küche');
    const body = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    expect(await answerText(new Response(body))).toBe('Küche');
    expect(await answerText(new Response(null))).toBe('');
  });

  test('that does not end is refused at the limit, and its connection is closed', async () => {
    const { state, response } = endlessAnswer();
    await expect(answerText(response, 1_000)).rejects.toMatchObject({
      code: 'RESULT_INVALID',
      message: expect.stringContaining('1000 bytes'),
    });
    expect(state.isCancelled).toBe(true);
    expect(state.pulled).toBeLessThan(110);
  });
});

test('a list of tools whose pages do not end is given up', async () => {
  const hub = { get: async () => ({ tools: [{ id: 'lamp' }], next_cursor: 'more' }) };
  await expect(allTools(hub, {})).rejects.toMatchObject({ code: 'RESULT_INVALID' });
});
