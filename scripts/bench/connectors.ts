import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundle, ROOT } from '../bundle.ts';
import { CONNECTOR_ROWS, type ConnectorRow } from './connector-rows.ts';
import type { BenchFigure } from './figure.ts';
import { hasRowServer, startRowServer } from './row-server.ts';
import { median } from './statistics.ts';
import { Workspace } from './workspace.ts';

const RUNS = 3;
const LIMIT_MS = 60_000;
/** What a connector may add that nobody uses. */
const DEFINED_BAR_MEGABYTES = 3;
const OUT = join(ROOT, '.run/bench-connectors');
/** Those of the installed service, and a collection before each look. */
const NODE_FLAGS = ['--max-semi-space-size=2', '--expose-gc'];

interface Weight {
  readonly baseMegabytes: number;
  readonly definedMegabytes: number;
  readonly usedMegabytes: number;
}

/** Resident memory that each connector adds: by being configured, and by its first use. Each in a process of its own. */
export async function run(): Promise<BenchFigure[]> {
  await bundle({ entry: join(ROOT, 'scripts/bench/connectors-program.ts'), outDir: OUT, name: 'connectors-program' });
  const figures: BenchFigure[] = [];
  for (const [name, row] of Object.entries(CONNECTOR_ROWS)) {
    if (!hasRowServer(row)) console.error(`connectors: ${name} is left out, ${row.server} is not there`);
    else
      figures.push(
        ...(await weigh(name, row).then(
          (weights) => figuresOf(name, weights),
          (error: unknown) => [failed(name, error)],
        )),
      );
  }
  return figures;
}

async function weigh(name: string, row: ConnectorRow): Promise<readonly Weight[]> {
  using workspace = new Workspace();
  await using server = await startRowServer(row);
  const weights: Weight[] = [];
  for (let round = 0; round < RUNS; round++) {
    const command = [...NODE_FLAGS, join(OUT, 'connectors-program.mjs'), name, String(server.port), workspace.dir];
    const { stdout } = await promisify(execFile)(process.execPath, command, { timeout: LIMIT_MS });
    weights.push(JSON.parse(stdout) as Weight);
  }
  return weights;
}

/** One connector that does not work in a bundle keeps nobody from knowing what the others weigh. */
function failed(name: string, error: unknown): BenchFigure {
  console.error(`connectors: ${name} does not work: ${error instanceof Error ? error.message : String(error)}`);
  return {
    name: `connectors.${name}.used`,
    value: 0,
    unit: 'MB',
    bar: null,
    ok: false,
    samples: 0,
    vs: 'it does not work, see standard error',
  };
}

function figuresOf(name: string, weights: readonly Weight[]): readonly BenchFigure[] {
  const defined = median(weights.map(({ definedMegabytes, baseMegabytes }) => definedMegabytes - baseMegabytes));
  const used = median(weights.map(({ usedMegabytes, baseMegabytes }) => usedMegabytes - baseMegabytes));
  const common = { unit: 'MB', samples: weights.length };
  return [
    {
      ...common,
      name: `connectors.${name}.defined`,
      value: defined,
      bar: DEFINED_BAR_MEGABYTES,
      ok: defined <= DEFINED_BAR_MEGABYTES,
      vs: 'RSS of the same process without it',
    },
    { ...common, name: `connectors.${name}.used`, value: used, bar: null, ok: true, vs: 'RSS of the same process without it' },
  ];
}
