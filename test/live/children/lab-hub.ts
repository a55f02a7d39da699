/** A hub that runs inside a program, which gives it one more tool, `lab:new_NAME_COUNT`, at each SIGUSR2. READY as the hub itself says. */
import { hostname } from 'node:os';
import { createLogger, Hub, loadConfig, systemClock } from '../../../src/index.ts';

process.umask(0o077);
const stateDir = process.env.ATMO_STATE_DIR ?? '';
const config = loadConfig(process.env, stateDir);
const hub = new Hub({ clock: systemClock, logger: createLogger(config.logLevel) }, { config, version: '0.1.0' });
await hub.start();

const name = config.mesh.name ?? hostname();
let count = 0;
process.on('SIGUSR2', () => {
  count += 1;
  hub.orchestrator.registerTool({
    id: `new-${name}-${count}`,
    name: `new_${name}_${count}`,
    displayName: 'New',
    description: 'Came while everything ran.',
    inputSchema: { type: 'object', properties: {} },
    hasSideEffects: false,
    execute: async () => ({ success: true, output: { count } }),
  });
});
process.once('SIGTERM', () => {
  void hub[Symbol.asyncDispose]().finally(() => process.exit());
});
console.log(`READY ${hub.url}`);
