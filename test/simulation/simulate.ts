import './install.ts';

/** One world in this process: `node test/simulation/simulate.ts --seed N --hubs 5 --hours 24 [--trace FILE]`. */
const { parseArgs } = await import('node:util');
const { runWorld } = await import('./run-world.ts');
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    hubs: { type: 'string', default: '5' },
    hours: { type: 'string', default: '24' },
    trace: { type: 'string' },
  },
});
const { seed, hubs, hours, trace } = values;
process.exitCode = await runWorld({
  seed: Number(seed),
  hubs: Number(hubs),
  hours: Number(hours),
  ...(trace !== undefined && { traceFile: trace }),
});
