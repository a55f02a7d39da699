import { AtmoError } from '../../../src/core/errors.ts';
import type { ProgramRequest, ProgramResult, ProgramSandbox } from '../../../src/tools/programs/program-sandbox.ts';

/** A sandbox that runs nothing: it keeps the orders and answers what a test says. The power `media` reads, `out` writes. */
export function programsFake(
  answer: Partial<ProgramResult> | ((order: ProgramRequest) => Promise<Partial<ProgramResult>>) = {},
  missing?: string,
): ProgramSandbox & { readonly orders: ProgramRequest[] } {
  const orders: ProgramRequest[] = [];
  return {
    orders,
    missingSetting: () => missing,
    power: (name) => ({ media: { isActing: false }, out: { isActing: true } })[name],
    inspect: ({ powers }) => ({ powers: powers.map((name) => ({ name, allows: [`use ${name}`] })), versions: [] }),
    requireSafe: (argv) => {
      if (argv.includes('forbidden')) throw new AtmoError('RULE_BLOCKED', 'a safety rule forbids it');
    },
    run: async (order) => {
      orders.push(order);
      const told = typeof answer === 'function' ? await answer(order) : answer;
      return { exitCode: 0, stdout: '', stderr: '', ...told };
    },
  };
}
