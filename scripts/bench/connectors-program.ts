/** One connector in a process of its own: prints its resident memory without it, with its definitions, and after its first use. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CONNECTORS_SECTION, type ConnectorsConfig } from '../../src/connectors/connectors-config.ts';
import { systemClock } from '../../src/core/clock.ts';
import { parseCheckedYaml } from '../../src/core/config/checked-yaml.ts';
import { camelKeys } from '../../src/core/config/config-section.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { makePipeline, makeTool, owner } from '../../test/calls/pipeline-fixture.ts';
import { connectorContext } from '../../test/connectors/connector-context.ts';
import { CONNECTOR_ROWS } from './connector-rows.ts';
import { rssMegabytes } from './process-figures.ts';

const SETTLE_MS = 300;

async function measured(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await sleep(SETTLE_MS / 3);
  }
  return rssMegabytes(process.pid);
}

async function main([name = '', portText = '', dir = '']: readonly string[]): Promise<void> {
  const row = CONNECTOR_ROWS[name] ?? missing(name);
  const port = Number(portText);
  const capabilities = new Set<string>();
  const { registry, events, store, pipeline } = makePipeline({ clock: systemClock, capabilities: () => [...capabilities] });
  const config = camelKeys(parseCheckedYaml(JSON.stringify(row.config(port)), name, CONNECTORS_SECTION), CONNECTORS_SECTION);
  const call = (tool: string, params: unknown) => pipeline.call({ principal: owner, tool, params });
  registry.register(makeTool({ name: 'warm_up' }));
  await call('warm_up', {});
  const baseMegabytes = await measured();

  const open = await row.load();
  const ground = connectorContext({ events, store, registry, nodeId: 'bench', stateDir: dir });
  const connector = open(ground, config as ConnectorsConfig);
  for (const tool of connector.tools) registry.register(tool);
  for (const { type } of connector.capabilities ?? []) capabilities.add(type);
  const definedMegabytes = await measured();

  await connector.service?.start();
  const { use } = row;
  const answer = use && (await call(use.tool, JSON.parse(JSON.stringify(use.params).replaceAll('{port}', portText))));
  if (answer?.status === 'error') throw new AtmoError('INTERNAL_ERROR', `${name}: ${answer.error.message}`);
  if (!use) await sleep(SETTLE_MS);
  const usedMegabytes = await measured();
  console.log(JSON.stringify({ baseMegabytes, definedMegabytes, usedMegabytes }));
  process.exit(0);
}

function missing(name: string): never {
  throw new AtmoError('VALIDATION_ERROR', `There is no row ${name} in connector-rows.ts`);
}

await main(process.argv.slice(2));
