import type { JsonObject } from '../../core/json.ts';
import type { ToolContext } from './tool-definition.ts';

/** Content of a resource: text, or octets in base64. */
export type CompanionContent = { readonly text: string } | { readonly blob: string };

/** Something to read that comes with a tool. */
export interface CompanionResource {
  /** A URI, or with `{name}` parts (RFC 6570) the template of many. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
  /** `parts` are the values of the template's names, decoded. */
  read(parts: Readonly<Record<string, string>>): Promise<CompanionContent>;
}

/** What a prompt may use while it is made. */
type PromptContext = Pick<ToolContext, 'ask'>;

/** A prompt that comes with a tool. */
export interface CompanionPrompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
    /** What it may be, for completion. */
    readonly values?: readonly string[];
  }[];
  /** Messages of MCP: a role, and a content block. */
  messages(
    given: Readonly<Record<string, string>>,
    context: PromptContext,
  ): Promise<readonly { readonly role: 'user' | 'assistant'; readonly content: JsonObject }[]>;
}

/** What a tool brings along for agents. Who may call the tool may see it, to others it does not exist. */
export interface ToolCompanions {
  readonly resources?: readonly CompanionResource[];
  readonly prompts?: readonly CompanionPrompt[];
}

/** Keyword of a result schema: the result is `{content}` with content blocks of MCP (text, image, audio, resources) for the agent. */
export const CONTENT_BLOCKS = 'x-content-blocks';

/**
 * Keyword of a result schema: the name of a member that holds a picture in base64, which agents are shown as a picture instead of
 * as text where its form is one that they can look at (JPEG, PNG, GIF, WebP).
 */
export const IMAGE_MEMBER = 'x-image-member';
