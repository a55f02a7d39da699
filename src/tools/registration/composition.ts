import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { parseToolName } from '../definition/tool-name.ts';
import type { RecordReader } from '../manifest/record-reader.ts';
import { countReferences, parametersIn } from '../steps/step-reference.ts';
import type { Step } from '../steps/step-runner.ts';

/** What a composed tool does: calls of other tools in order, and what it answers of their results. */
export interface Composition {
  readonly steps: readonly Step[];
  /** The answer, with references to results and parameters; the result of the last step when absent. */
  readonly result?: Json;
}

const MAX_STEPS = 16;
/** A result that repeats another one thousands of times is no answer. */
const MAX_REFERENCES = 64;
/** Tools that would hide what the steps do from whoever judges them. */
const NO_STEPS: ReadonlySet<string> = new Set(['sequence']);

/** Reads `steps` and `result`; undefined where the record has no steps. VALIDATION_ERROR with a JSON pointer. */
export function readComposition(reader: RecordReader): Composition | undefined {
  const steps = reader.children('steps').map(readStep);
  const result = reader.any('result');
  if (steps.length > MAX_STEPS) throw reader.refuse('steps', `may have at most ${MAX_STEPS} steps`);
  if (steps.length === 0 && result !== undefined) throw reader.refuse('result', 'needs steps that it is made from');
  if (steps.length === 0) return undefined;
  const composition = { steps, ...(result !== undefined && { result }) };
  if (countReferences(compositionJson(composition)) <= MAX_REFERENCES) return composition;
  throw reader.refuse('result', `and the steps may hold at most ${MAX_REFERENCES} references to results`);
}

/** The form in which it is kept and was sent. */
export function compositionJson({ steps, result }: Composition): JsonObject {
  return { steps: steps.map(({ tool, params }) => ({ tool, params })), ...(result !== undefined && { result }) };
}

/** VALIDATION_ERROR for a `$param` that is none of the tool's parameters. */
export function requireKnownParameters(composition: Composition, parameters: readonly string[]): void {
  const unknown = parametersIn(compositionJson(composition)).find((name) => !parameters.includes(name));
  if (unknown === undefined) return;
  const known = parameters.join(', ') || 'none';
  throw new AtmoError('VALIDATION_ERROR', `{"$param": ${JSON.stringify(unknown)}} is no parameter of the tool; it has ${known}`, {
    pointer: '/steps',
  });
}

function readStep(reader: RecordReader): Step {
  const tool = reader.requiredText('tool');
  const params = reader.object('params') ?? {};
  reader.end();
  const name = parseToolName(tool);
  if (!name) throw reader.refuse('tool', 'has to be the name of a tool');
  if (NO_STEPS.has(name.name)) throw reader.refuse('tool', `cannot be ${name.name}; write its steps into this list`);
  return { tool, params };
}
