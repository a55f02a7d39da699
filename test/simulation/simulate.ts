import { parseArgs } from 'node:util';
import './install.ts';
import { plant } from './planted/plant.ts';
import { planOf, readOptions, WORLD_OPTIONS } from './world-plan.ts';

/** One world in this process, with a planted bug if `--bug` names one (scripts/simulate). */
const { trace: traceFile, plan } = readOptions(() => {
  const { values } = parseArgs({ options: WORLD_OPTIONS });
  return { ...values, plan: planOf(values) };
});
if (plan.bug !== undefined) plant(plan.bug);
const { runWorld } = await import('./run-world.ts');
process.exitCode = await runWorld({ ...plan, ...(traceFile !== undefined && { traceFile }) });
