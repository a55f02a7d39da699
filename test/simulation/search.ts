import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { proveReplays, searchForever } from './many-worlds.ts';
import { bugsWith } from './planted/planted-bugs.ts';
import { findOrdinaryTests, provePlanted } from './planted/planted-proof.ts';
import { shrinkWorld } from './shrink.ts';
import { count, planOf, readOptions, type ShownPlan, WORLD_OPTIONS } from './world-plan.ts';

const FOLDER = new URL('../../.run/simulation/', import.meta.url).pathname;

/** What runs many worlds, each in a process of its own (scripts/simulate). Returns the exit code. */
type Program = () => number | Promise<number>;

function programOf(): Program {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...WORLD_OPTIONS,
      planted: { type: 'boolean', default: false },
      'ordinary-tests': { type: 'boolean', default: false },
      shrink: { type: 'boolean', default: false },
      forever: { type: 'boolean', default: false },
      'go-on': { type: 'boolean', default: false },
      repeat: { type: 'string' },
    },
  });
  const plan = planOf(values);
  if (values.shrink) return () => shrink(plan, values.trace ?? `${FOLDER}shrunk-${plan.seed}.trace`);
  if (values.trace !== undefined) throw new RangeError('--trace is for one world, or for --shrink');
  if (values.forever) return () => searchForever(plan, { folder: FOLDER, goesOn: values['go-on'] });
  if (values.repeat !== undefined) {
    const times = count('repeat', values.repeat);
    return () => proveReplays(plan, times);
  }
  if (plan.bug !== undefined) throw new RangeError('--bug is for worlds; --planted NAME looks for one mistake');
  const bugs = bugsWith(positionals[0] ?? '');
  return values['ordinary-tests'] ? () => findOrdinaryTests(bugs) : () => provePlanted(bugs);
}

async function shrink(plan: ShownPlan, traceFile: string): Promise<number> {
  const smallest = await shrinkWorld(plan, traceFile);
  if (!smallest) console.log('nothing breaks in this world');
  return smallest ? 1 : 0;
}

const program = readOptions(programOf);
mkdirSync(FOLDER, { recursive: true });
process.exitCode = await program();
