import { describe, expect, test } from 'vitest';
import { checkDeterminism } from '../../src/calls/replay.ts';
import { basicTools } from '../../src/tools/builtin/basic-tools.ts';
import { makeTool } from './pipeline-fixture.ts';

const declared = (determinism: string, handler: Parameters<typeof makeTool>[0]['handler']) =>
  makeTool({ name: determinism, execution: { determinism }, ...(handler && { handler }) });

describe('declared determinism', () => {
  test('every built-in tool that declares it keeps it', async () => {
    const findings = await checkDeterminism(basicTools);
    expect(findings.map(({ tool }) => tool)).toEqual(basicTools.map(({ id }) => id));
    expect(findings.filter(({ differs }) => differs !== undefined)).toEqual([]);
  });

  test('a tool that looks at the machine’s clock is found out, whichever of the two it claims', async () => {
    let ticks = 0;
    const ticking = async () => ({ now: ticks++ });
    const findings = await checkDeterminism([declared('deterministic', ticking), declared('bounded', ticking)]);
    expect(findings).toMatchObject([
      { determinism: 'deterministic', differs: {} },
      { determinism: 'bounded', differs: {} },
    ]);
  });

  test('a bounded tool that uses only what it is given is honest', async () => {
    const handler = async (_: unknown, { clock, random }: { clock: { now(): number }; random(): number }) => [
      clock.now(),
      random(),
      random(),
    ];
    expect(await checkDeterminism([declared('bounded', handler)])).toMatchObject([{ determinism: 'bounded', runs: 1 }]);
  });

  test('a tool that fails the same way each time is deterministic', async () => {
    const handler = async () => {
      throw new TypeError('always');
    };
    const [finding] = await checkDeterminism([declared('deterministic', handler)]);
    expect(finding).not.toHaveProperty('differs');
  });

  test('tools with side effects and nondeterministic ones never run', async () => {
    const handler = async () => {
      throw new RangeError('ran');
    };
    const acting = makeTool({ permissions: ['x:act'], execution: { side_effects: true }, handler });
    expect(await checkDeterminism([acting, declared('nondeterministic', handler)])).toEqual([]);
  });
});
