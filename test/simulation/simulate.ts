import { parseArgs } from 'node:util';
import './install.ts';
import { plant } from './planted/plant.ts';
import { planOf, WORLD_OPTIONS } from './world-plan.ts';

/** One world in this process, with a planted bug if `--bug` names one (scripts/simulate). */
const { values } = parseArgs({ options: WORLD_OPTIONS });
if (values.bug !== undefined) plant(values.bug);
const { runWorld } = await import('./run-world.ts');
process.exitCode = await runWorld({ ...planOf(values), ...(values.trace !== undefined && { traceFile: values.trace }) });
