import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import { seededRandom } from '../seeded-random.ts';
import { branchCounts, counted } from './edge-hooks.ts';
import { FuzzRun } from './fuzz-run.ts';
import { type Target, textTarget } from './target.ts';

/** A parser with its branches counted, as a module that is loaded after `countBranches` has them. */
function countedParser(body: string): (text: string) => unknown {
  Reflect.set(globalThis, '__branchCounts', branchCounts);
  const { code } = counted('parser.ts', `(text) => {${body}}`);
  // biome-ignore lint/security/noGlobalEval: the code is the one above
  return globalThis.eval(code) as (text: string) => unknown;
}

/** Runs a target with so many inputs, or until `isOver`. */
async function findingsOf(target: Target, most: number, isOver = () => false) {
  let begun = 0;
  const run = new FuzzRun(target, {
    random: seededRandom(1),
    words: [],
    corpus: [],
    maxProcessorMs: 100,
    isOver: () => begun >= most || isOver(),
    begin: () => begun++,
  });
  const { findings } = await run.run();
  return findings.map(({ problem, input }) => ({ problem, input: Buffer.from(input).toString() }));
}

describe('a run', () => {
  test('finds its way through branches that no single change reaches, and shrinks what it found', async () => {
    const parse = countedParser(`
      if (text[0] === 'k') if (text[2] === 'e') if (text[4] === 'y') if (text[6] === '!') throw new TypeError('four steps');
      return text`);
    let isThere = false;
    const run = (text: string) => {
      isThere ||= /^k.e.y.!/s.test(text);
      return parse(text);
    };
    const findings = await findingsOf(textTarget('steps', 'x.ts', { run, seeds: ['a.b.c.d.'] }), 400_000, () => isThere);
    expect(findings).toEqual([{ problem: expect.stringContaining('four steps'), input: expect.stringMatching(/^k.e.y.!$/s) }]);
  });

  test('takes refusals for right, and any other error for a finding', async () => {
    const refusing = textTarget('refusing', 'x.ts', {
      run: () => {
        throw new AtmoError('VALIDATION_ERROR', 'no');
      },
      seeds: ['a'],
    });
    expect(await findingsOf(refusing, 200)).toEqual([]);
    const failing = textTarget('failing', 'x.ts', {
      run: () => {
        throw new AtmoError('INTERNAL_ERROR', 'bug');
      },
      seeds: ['a'],
    });
    expect(await findingsOf(failing, 200)).toEqual([{ problem: expect.stringContaining('bug'), input: '' }]);
    const rejecting = textTarget('rejecting', 'x.ts', { run: () => Promise.reject(new RangeError('late')), seeds: ['a'] });
    expect(await findingsOf(rejecting, 200)).toMatchObject([{ problem: expect.stringContaining('late') }]);
  });

  test('finds an input that keeps the processor busy for longer than any should', async () => {
    const workFor = (milliseconds: number) => () => {
      const start = process.threadCpuUsage().user;
      while (process.threadCpuUsage().user - start < milliseconds * 1_000);
    };
    const target = (milliseconds: number) => textTarget('busy', 'x.ts', { run: workFor(milliseconds), seeds: ['a'] });
    expect(await findingsOf(target(10), 1)).toEqual([]);
    expect(await findingsOf(target(400), 1)).toEqual([{ problem: expect.stringContaining('time of the processor'), input: 'a' }]);
  });
});

describe('the counting of branches', () => {
  test.each([
    ['function', 'function f(a) { return a ? 1 : 2 } return f(text)'],
    ['arrow to an object', 'const f = (a) => ({ a }); return f(text).a'],
    ['directive', 'function f() { "use strict"; return this === undefined } return f()'],
    [
      'switch and loops',
      'let n = 0; for (const c of text) switch (c) { case "a": case "b": n++; break; default: n += 2 } while (n > 3) n--; do n++; while (n < 2); return n',
    ],
    ['else without braces', 'if (text === "") return 0; else if (text === "x") return 1; else return text?.length ?? 2'],
    ['catch', 'try { null.x } catch { return text || "none" }'],
    ['labels and ends without semicolons', 'let a = 0\nouter: for (;;) { for (;;) break outer }\nconst b = text\n  ? text : "z"\nreturn b'],
  ])('leaves the meaning of a %s as it is', (_what, body) => {
    // biome-ignore lint/security/noGlobalEval: the code is the one above
    const plain = globalThis.eval(`(text) => {${body}}`) as (text: string) => unknown;
    for (const input of ['', 'x', 'abc']) expect(countedParser(body)(input)).toEqual(plain(input));
  });
});
