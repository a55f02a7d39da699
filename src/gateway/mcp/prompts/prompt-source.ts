import type { JsonObject } from '../../../core/json.ts';
import type { McpCaller } from '../mcp-feature.ts';

/** An argument of a prompt. */
export interface PromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
}

/** One line of `prompts/list`. */
export interface PromptEntry {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly PromptArgument[];
}

/** A turn of the conversation that a prompt begins; `content` is a content block of MCP. */
export interface PromptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject;
}

/** Arguments of a prompt by name, as the client gave them. */
export type PromptArguments = Readonly<Record<string, string>>;

/** Where prompts come from. To a caller that may not see one of them it does not exist. */
export interface PromptSource {
  /** In a fixed order. */
  list(caller: McpCaller): readonly PromptEntry[];
  /** The messages of a prompt of its own that is listed, with all its required arguments; VALIDATION_ERROR for one that cannot be. */
  messages(name: string, given: PromptArguments, caller: McpCaller): Promise<readonly PromptMessage[]>;
  /** Values for an argument; undefined for a prompt or an argument that is none of its own. */
  values(name: string, argument: string, caller: McpCaller): readonly string[] | undefined;
}
