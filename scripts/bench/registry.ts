/** 10,000 tools in one registry: how long names, lists and validation take, and what they weigh. */
import { normalizeDefinition } from '../../src/tools/definition/public-definition.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { toolId } from '../../src/tools/definition/tool-names.ts';
import { ToolRegistry } from '../../src/tools/registry/tool-registry.ts';
import { toolNotFound } from '../../src/tools/registry/tool-suggestion.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { wordsOf } from '../../src/tools/search/words.ts';
import type { BenchFigure } from './figure.ts';
import { mansion } from './search-mansion.ts';
import { median } from './statistics.ts';

const TOOLS = 10_000;
const SUGGESTED_AMONG = 8_000;
const SUGGESTION_BAR = 1.5;
const ROUNDS = 50;
const LIST_BAR_MS = 20;
const ROOMS = ['kitchen', 'hall', 'bath', 'attic', 'office', 'garage', 'garden', 'cellar', 'studio', 'lounge'];
const KINDS = ['light', 'plug', 'cover', 'sensor', 'thermostat', 'fan', 'lock', 'valve', 'pump', 'speaker'];

interface Measured {
  readonly unit: string;
  readonly samples: number;
  readonly vs: string;
  readonly bar?: number;
}

/** Registers, finds, lists and validates; each time is the median of its rounds. */
export async function run(): Promise<BenchFigure[]> {
  const rssBefore = process.memoryUsage.rss();
  const validator = new SchemaValidator();
  const registry = new ToolRegistry({ validator });
  const registerMs = timed(() => fill(registry));
  const rssMb = (process.memoryUsage.rss() - rssBefore) / 2 ** 20;
  const all = registry.list({ limit: 1 });
  const batch = { unit: 'ms', samples: ROUNDS, vs: `${all.total} tools` };
  return [
    figure('registry.register', registerMs / TOOLS, { unit: 'ms', samples: TOOLS, vs: 'per tool, lint included' }),
    figure('registry.rss', rssMb, { unit: 'MB', samples: 1, vs: `${TOOLS} tools registered, none compiled` }),
    figure(
      'registry.lookup',
      repeated(() => registry.resolve('matter:kitchen_light_7_set')),
      batch,
    ),
    figure(
      'registry.lookup_bare',
      repeated(() => registry.resolve('kitchen_light_7_set')),
      batch,
    ),
    figure(
      'registry.list_page',
      repeated((round) => registry.list({ offset: round * 100, limit: 100 })),
      { ...batch, bar: LIST_BAR_MS },
    ),
    figure(
      'registry.list_filtered',
      repeated(() => registry.list({ text: 'kitchen light', category: 'acting' })),
      { ...batch, bar: LIST_BAR_MS },
    ),
    figure(
      'registry.list_after_change',
      repeated((round) => listAfterChange(registry, round)),
      { ...batch, bar: LIST_BAR_MS },
    ),
    ...validationFigures(registry),
    suggestionFigure(),
  ];
}

function validationFigures(registry: ToolRegistry): BenchFigure[] {
  const [first, same] = [registry.resolve('matter:hall_light_3_set'), registry.resolve('matter:hall_light_13_set')];
  const validator = new SchemaValidator();
  validator.compile({ type: 'object' });
  const check = (tool: RegisteredTool) => () => validator.parameters(tool.definition.parameters, { level: 40 });
  const once = { unit: 'ms', samples: 1 };
  return [
    figure('registry.validate_first', timed(check(first)), { ...once, vs: 'compiles' }),
    figure('registry.validate_same_kind', timed(check(same)), { ...once, vs: 'another tool of the same kind: compiled already' }),
    figure('registry.validate_again', repeated(check(first)), { unit: 'ms', samples: ROUNDS, vs: 'compiled' }),
  ];
}

/** An unknown name among the tools of a large home, which begins like no device of it, beside reading what their texts say once. */
function suggestionFigure(): BenchFigure {
  const { tools } = mansion(SUGGESTED_AMONG);
  const suggestMs = repeated(() => toolNotFound('pantry_lamp_turn_on', tools));
  const readMs = repeated(() => {
    for (const { definition } of tools) {
      const { title, tags } = definition.metadata;
      for (const text of [title, tags.join(' '), definition.name.replaceAll('_', ' ')]) wordsOf(text);
    }
  });
  return figure('registry.suggestion', suggestMs / readMs, {
    unit: '',
    samples: ROUNDS,
    vs: `reading the words of ${SUGGESTED_AMONG} tools once`,
    bar: SUGGESTION_BAR,
  });
}

function fill(registry: ToolRegistry): void {
  for (let index = 0; index < TOOLS; index++) registry.register(makeTool(index));
}

function makeTool(index: number): RegisteredTool {
  const room = ROOMS[index % ROOMS.length] ?? '';
  const kind = KINDS[Math.floor(index / ROOMS.length) % KINDS.length] ?? '';
  const device = `${room}-${kind}-${Math.floor(index / (ROOMS.length * KINDS.length))}`;
  const definition = normalizeDefinition({
    name: `${device.replaceAll('-', '_')}_set`,
    namespace: 'matter',
    description: `Sets the ${kind} in the ${room}`,
    category: 'acting',
    parameters: {
      type: 'object',
      required: ['level'],
      properties: { level: { type: 'integer', minimum: 0, maximum: 100, description: `Level of the ${kind}, percent` } },
      additionalProperties: false,
    },
    permissions: [`device:control:${device}`],
    metadata: { device, area: room, tags: [kind, room] },
  });
  return { id: toolId(definition), definition, handler: async () => null };
}

function listAfterChange(registry: ToolRegistry, round: number): void {
  registry.register(makeTool(round), { replace: true });
  registry.list({ limit: 100 });
}

function repeated(work: (round: number) => unknown): number {
  return median(Array.from({ length: ROUNDS }, (_, round) => timed(() => work(round))));
}

function timed(work: () => unknown): number {
  const startMs = performance.now();
  work();
  return performance.now() - startMs;
}

function figure(name: string, value: number, { unit, samples, vs, bar }: Measured): BenchFigure {
  return { name, value, unit, bar: bar ?? null, ok: bar === undefined || value <= bar, samples, vs };
}
