import { AtmoError } from '../../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts';
import type { AskingCalls } from '../calls/asking-calls.ts';
import { listPage } from '../list-page.ts';
import type { McpCaller, McpFeature } from '../mcp-feature.ts';
import type { PromptArguments, PromptEntry, PromptSource } from './prompt-source.ts';

interface PromptFeatureParts {
  readonly sources: readonly PromptSource[];
  readonly asking: AskingCalls;
}

/** `prompts/list` and `prompts/get`. */
export function promptFeature({ sources, asking }: PromptFeatureParts): McpFeature {
  return {
    capabilities: { prompts: {} },
    methods: {
      'prompts/list': async ({ cursor }, caller) => list(sources, caller, cursor),
      'prompts/get': (params, caller) => {
        const { name, arguments: given } = params;
        const subject = { name: 'prompts/get', params: { name: name ?? null, given: given ?? null } };
        return asking.answer(subject, caller, (asked) => get(sources, params, asked));
      },
    },
  };
}

function list(sources: readonly PromptSource[], caller: McpCaller, cursor: Json | undefined): JsonObject {
  const all = sources.flatMap((source) => source.list(caller));
  const { items, nextCursor } = listPage(all, ({ name }) => name, cursor);
  const prompts = items.map((entry) => ({ ...entry, arguments: entry.arguments.map((argument) => ({ ...argument })) }));
  return { prompts, ...(nextCursor !== undefined && { nextCursor }) };
}

async function get(sources: readonly PromptSource[], params: JsonObject, caller: McpCaller): Promise<JsonObject> {
  const { name, arguments: given = {} } = params;
  for (const source of sources) {
    const entry = source.list(caller).find((known) => known.name === name);
    if (!entry) continue;
    const messages = await source.messages(entry.name, checkedArguments(entry, given), caller);
    return { description: entry.description, messages: messages.map((message) => ({ ...message })) };
  }
  throw new AtmoError('NOT_FOUND', `There is no prompt ${JSON.stringify(String(name).slice(0, 80))}; prompts/list tells what there is`);
}

function checkedArguments({ name, arguments: known }: PromptEntry, given: Json): PromptArguments {
  const texts = isJsonObject(given) ? Object.entries(given) : [];
  const problem = texts.find(([argument, value]) => typeof value !== 'string' || !known.some((one) => one.name === argument));
  if (problem || !isJsonObject(given)) {
    const names = known.map((argument) => argument.name).join(', ') || 'none';
    throw new AtmoError(
      'VALIDATION_ERROR',
      `${name} takes texts by name: ${names}${problem ? `; ${JSON.stringify(problem[0])} is none` : ''}`,
    );
  }
  const missing = known.find((argument) => argument.required && (given[argument.name] ?? '') === '');
  if (!missing) return Object.fromEntries(texts.map(([argument, value]) => [argument, String(value)]));
  throw new AtmoError('VALIDATION_ERROR', `${name} needs ${missing.name}: ${missing.description}`, { parameter: missing.name });
}
