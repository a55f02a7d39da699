import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { McpCaller, McpFeature } from './mcp-feature.ts';
import type { PromptSource } from './prompts/prompt-source.ts';
import type { ResourceSource } from './resources/resource-source.ts';

/** As many as one answer may hold (MCP, completion). */
const MAX_VALUES = 100;

interface CompletionParts {
  readonly prompts: readonly PromptSource[];
  readonly resources: readonly ResourceSource[];
}

/** `completion/complete`: what may stand for an argument of a prompt or for a variable of a resource template. */
export function completionFeature(parts: CompletionParts): McpFeature {
  return {
    capabilities: { completions: {} },
    methods: {
      'completion/complete': async ({ ref, argument }, caller) => {
        const { name, value } = isJsonObject(argument) ? argument : {};
        if (!isJsonObject(ref) || typeof name !== 'string' || typeof value !== 'string') {
          throw new AtmoError('VALIDATION_ERROR', 'completion/complete needs ref, and argument with name and value');
        }
        const fitting = fits(valuesFor(parts, { ref, name }, caller), value);
        return { completion: { values: fitting.slice(0, MAX_VALUES), total: fitting.length, hasMore: fitting.length > MAX_VALUES } };
      },
    },
  };
}

interface Wanted {
  readonly ref: JsonObject;
  /** Of the argument or variable. */
  readonly name: string;
}

/** Those of the first source that knows the argument; VALIDATION_ERROR when none does. */
function valuesFor({ prompts, resources }: CompletionParts, { ref, name }: Wanted, caller: McpCaller): readonly string[] {
  if (ref.type === 'ref/prompt' && typeof ref.name === 'string') {
    const prompt = ref.name;
    const source = prompts.find((one) => one.list(caller).some((entry) => entry.name === prompt));
    const values = source?.values(prompt, name, caller);
    if (values) return values;
  }
  if (ref.type === 'ref/resource' && typeof ref.uri === 'string') {
    const template = ref.uri;
    for (const source of resources) {
      const values = source.values(template, name, caller);
      if (values) return values;
    }
  }
  throw new AtmoError('VALIDATION_ERROR', `There is no argument ${JSON.stringify(name.slice(0, 80))} of what ref names`);
}

/** What begins with the text comes before what only holds it, letter case aside. */
function fits(values: readonly string[], text: string): readonly string[] {
  const wanted = text.toLowerCase();
  const holding = [...new Set(values)].filter((value) => value.toLowerCase().includes(wanted));
  const begins = (value: string) => value.toLowerCase().startsWith(wanted);
  return [...holding.filter(begins), ...holding.filter((value) => !begins(value))];
}
