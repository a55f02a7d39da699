import { putQuestion } from '../../../tools/calls/asking/ask-caller.ts';
import type { CompanionPrompt } from '../../../tools/definition/tool-companions.ts';
import type { ToolCatalogue } from '../../tools/tool-catalogue.ts';
import type { McpCaller } from '../mcp-feature.ts';
import type { PromptArguments, PromptEntry, PromptMessage, PromptSource } from './prompt-source.ts';

/** The prompts that tools of plug-ins bring along, for who may call the tool. */
export class CompanionPrompts implements PromptSource {
  readonly #catalogue: Pick<ToolCatalogue, 'all'>;

  constructor({ catalogue }: { readonly catalogue: Pick<ToolCatalogue, 'all'> }) {
    this.#catalogue = catalogue;
  }

  list(caller: McpCaller): readonly PromptEntry[] {
    return this.#all(caller).map(({ name, title, description, arguments: known }) => ({
      name,
      title,
      description,
      arguments: known.map(({ values: _values, ...argument }) => argument),
    }));
  }

  async messages(name: string, given: PromptArguments, caller: McpCaller): Promise<readonly PromptMessage[]> {
    return this.#named(name, caller)?.messages(given, { ask: (question) => putQuestion(question, caller) }) ?? [];
  }

  values(name: string, argument: string, caller: McpCaller): readonly string[] | undefined {
    const known = this.#named(name, caller)?.arguments.find((one) => one.name === argument);
    return known && (known.values ?? []);
  }

  #named(name: string, caller: McpCaller): CompanionPrompt | undefined {
    return this.#all(caller).find((prompt) => prompt.name === name);
  }

  #all({ principal }: McpCaller): readonly CompanionPrompt[] {
    return this.#catalogue.all(principal).flatMap(({ companions }) => companions?.prompts ?? []);
  }
}
