import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { searchForever } from './forever.ts';
import { findOrdinaryTests, provePlanted } from './planted/planted-proof.ts';
import { proveReplays } from './replays.ts';
import { shrinkWorld } from './shrink.ts';
import { planOf, WORLD_OPTIONS } from './world-plan.ts';

/** What runs many worlds, each in a process of its own (scripts/simulate). */
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
const { bug, trace: traceFile } = values;
const folder = new URL('../../.run/simulation/', import.meta.url).pathname;
mkdirSync(folder, { recursive: true });

if (values['ordinary-tests']) process.exitCode = findOrdinaryTests(positionals[0] ?? '');
else if (values.planted) process.exitCode = await provePlanted(positionals[0] ?? '');
else if (values.forever) process.exitCode = await searchForever(plan, { folder, goesOn: values['go-on'] });
else if (values.repeat !== undefined) process.exitCode = await proveReplays(plan, Number(values.repeat));
else {
  const smallest = await shrinkWorld({ plan, ...(bug !== undefined && { bug }) }, traceFile ?? `${folder}shrunk-${plan.seed}.trace`);
  if (!smallest) console.log('nothing breaks in this world');
  process.exitCode = smallest ? 1 : 0;
}
