import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';

const PROGRAM = new URL('fuzz.ts', import.meta.url).pathname;
/** Seconds for each target; a longer run takes another number from the environment. */
const SECONDS = process.env.ATMO_FUZZ_SECONDS ?? '0.5';

/** Runs the program in a process of its own, since it counts the branches of all modules. */
async function fuzz(...args: readonly string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, TZ: 'UTC' } });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { printed, code };
}

describe('every parser of what others sent', () => {
  test('stands with its module in docs/reliability.md', async () => {
    const { printed } = await fuzz('--list');
    const documented = readFileSync('docs/reliability.md', 'utf8').matchAll(/^\| `([a-z\d-]+)` \| .+ \| `(.+)` \|$/gm);
    expect([...documented].map(([, name, source]) => `${name} ${source}`)).toEqual(
      printed
        .trim()
        .split('\n')
        .map((line) => line.replace(/ +/, ' ')),
    );
  });

  test('reads or refuses the kept inputs and new ones', async () => {
    const { printed, code } = await fuzz('--seconds', SECONDS, '--seed', '1');
    expect(printed).not.toContain('FINDING');
    expect(code).toBe(0);
    expect(printed.match(/^\S+ +\d+ executions/gm)?.length).toBeGreaterThan(50);
  }, 600_000);
});
