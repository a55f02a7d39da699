import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';

const PROGRAM = new URL('simulate.ts', import.meta.url).pathname;

/** What a simulated world prints, in a process of its own. */
async function simulate(...args: readonly string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, TZ: 'UTC' } });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { printed, code, hash: /^hash ([0-9a-f]{64})$/m.exec(printed)?.[1] };
}

describe('a simulated world', () => {
  test('is the same for the same seed in two processes, and another one for another seed', async () => {
    const [first, again, other] = await Promise.all(
      ['7', '7', '8'].map((seed) => simulate('--seed', seed, '--hubs', '2', '--hours', '0.1')),
    );
    expect(first).toMatchObject({ code: 0, hash: expect.any(String) });
    expect(again?.hash).toBe(first?.hash);
    expect(other?.hash).not.toBe(first?.hash);
  }, 300_000);
});
