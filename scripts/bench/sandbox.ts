/** What it costs to start a tool, by where its code runs: in the hub, in a thread, in a process, in the sandbox. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openProgramSandbox } from '../../src/connectors/sandbox/bubblewrap-sandbox.ts';
import { SANDBOX_SECTION, type SandboxConfig } from '../../src/connectors/sandbox/sandbox-config.ts';
import { ScriptWorkerPool } from '../../src/connectors/sandbox/script-worker-pool.ts';
import { OWNER } from '../../src/core/auth/principal.ts';
import { systemClock } from '../../src/core/clock.ts';
import { camelKeys } from '../../src/core/config/config-section.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { normalizeDefinition } from '../../src/tools/definition/public-definition.ts';
import type { ToolContext } from '../../src/tools/definition/tool-definition.ts';
import { isolatedHandler } from '../../src/tools/programs/node-process.ts';
import { sandboxedModule } from '../../src/tools/programs/sandboxed-module.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { findDebianTool } from '../network-lab/debian-tool.ts';
import type { BenchFigure } from './figure.ts';
import { median } from './statistics.ts';
import { Workspace } from './workspace.ts';

const ROUNDS = 15;
const MEMORY = 16 * 1_048_576;
/** A sandbox around a Node against the Node alone. */
const BAR = 2;
const CODE = 'export const execute = ({ a }, { factor }) => a * factor;';
const MODULE = 'export const createTool = ({ factor }) => ({ execute: async ({ a }) => a * factor });';

type Work = () => Promise<unknown>;

/** One round makes each once, one after the other, so that a busy machine slows all alike. */
export async function run(): Promise<BenchFigure[]> {
  using workspace = new Workspace();
  // Started by root, programs of the sandbox are nobody's.
  chmodSync(workspace.dir, 0o755);
  const kinds = kindsOf(workspace.dir);
  const taken = new Map(Object.keys(kinds).map((name): [string, number[]] => [name, []]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const [name, work] of Object.entries(kinds)) {
      const startedMs = performance.now();
      await work();
      if (round >= 0) taken.get(name)?.push(performance.now() - startedMs);
    }
  }
  return figuresOf(new Map([...taken].map(([name, times]) => [name, median(times)])));
}

const definition = normalizeDefinition({
  name: 'bench',
  description: 'Bench',
  execution: { side_effects: false, max_memory_bytes: MEMORY },
});

function kindsOf(directory: string): Readonly<Record<string, Work>> {
  const specifier = pathToFileURL(join(directory, 'module.mjs')).href;
  writeFileSync(join(directory, 'module.mjs'), MODULE);
  const params = { a: 21 };
  const config = { factor: 2 };
  const context = () => ({ principal: OWNER, signal: AbortSignal.timeout(30_000) }) as unknown as ToolContext;
  const code = { specifier, entry: 'createTool', config };
  const isolated = isolatedHandler({ ...code, maxMemoryBytes: MEMORY }, definition);
  const scripts = new ScriptWorkerPool({ clock: systemClock });
  const script = { kind: 'js', code: new TextEncoder().encode(CODE), params, config, maxMemoryBytes: MEMORY } as const;
  return {
    in_process: async () => expectRight(params.a * config.factor),
    quickjs: async () => expectRight(await scripts.run({ ...script, signal: AbortSignal.timeout(30_000) })),
    process: async () => expectRight(await isolated(params, context())),
    ...sandboxKinds({ directory, code, params, context }),
  };
}

/** None without bubblewrap. */
function sandboxKinds({
  directory,
  code,
  params,
  context,
}: {
  readonly directory: string;
  readonly code: { readonly specifier: string; readonly entry: string; readonly config: JsonObject };
  readonly params: JsonObject;
  readonly context: () => ToolContext;
}): Readonly<Record<string, Work>> {
  const bubblewrap = findDebianTool('bwrap')?.path;
  if (bubblewrap === undefined) return {};
  const settings = camelKeys(new SchemaValidator().parameters(SANDBOX_SECTION, { bubblewrap }), SANDBOX_SECTION) as SandboxConfig;
  const programs = openProgramSandbox(settings, { stateDir: `${directory}-state`, env: process.env });
  const sandboxed = sandboxedModule({ ...code, powers: [], visible: [directory] }, definition, programs);
  return {
    sandbox_sh: async () => {
      const { stdout } = await programs.run({
        kind: 'cmd',
        program: '/bin/sh',
        args: ['-c', 'echo 42'],
        powers: [],
        confirm: () => {},
        caller: OWNER,
        signal: context().signal,
      });
      return expectRight(Number(stdout));
    },
    sandbox_node: async () => expectRight(await sandboxed(params, context())),
  };
}

/** A figure of something that failed says nothing. */
function expectRight(answer: Json): void {
  if (answer !== 42) throw new RangeError(`The tool answered ${JSON.stringify(answer)} instead of 42`);
}

function figuresOf(times: ReadonlyMap<string, number>): BenchFigure[] {
  const figures = [...times].map(
    ([name, value]): BenchFigure => ({
      name: `sandbox.${name}`,
      value,
      unit: 'ms',
      bar: null,
      ok: true,
      samples: ROUNDS,
      vs: 'one call, started and ended',
    }),
  );
  const [inside, alone] = [times.get('sandbox_node'), times.get('process')];
  if (inside === undefined || alone === undefined) return figures;
  const value = inside / alone;
  const vs = 'a Node of its own without a sandbox';
  return [{ name: 'sandbox.around_node', value, unit: '×', bar: BAR, ok: value <= BAR, samples: ROUNDS, vs }, ...figures];
}
