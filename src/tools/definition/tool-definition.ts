import type { Effect, PlannedProgram, Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId, ToolId } from '../../core/ids.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { Logger, Severity } from '../../core/logger.ts';
import type { RunContext } from '../../core/storage/audit-log.ts';

/** `$schema` of a public definition. */
export const TOOL_SCHEMA_ID = 'https://atmosphere.dev/schemas/tool/v1';
/** Purposes of a tool: `metadata.category`. */
export const TOOL_CATEGORIES = ['sensing', 'acting', 'communicating', 'querying', 'computing', 'managing'] as const;
export type Category = (typeof TOOL_CATEGORIES)[number];

/** Degrees of determinism: what a replay may rely on. */
export const DETERMINISMS = ['deterministic', 'bounded', 'nondeterministic'] as const;
export type Determinism = (typeof DETERMINISMS)[number];

/** A tool in the internal form. `normalizeDefinition` sets every member. */
export interface ToolDefinition {
  readonly name: string;
  readonly namespace: string;
  readonly version: string;
  readonly description: string;
  /** JSON Schema 2020-12 with root type object. */
  readonly parameters: JsonSchema;
  readonly returns: JsonSchema;
  readonly requires: {
    /** Capabilities that the executing hub needs. */
    readonly capabilities: readonly string[];
    /** Permissions that the caller's token must cover; `{param}` is filled from validated parameters. */
    readonly permissions: readonly string[];
    readonly network: boolean;
    readonly gpu: boolean;
    readonly gpuPreferred: boolean;
  };
  readonly execution: {
    readonly timeoutMs: number;
    /** True if the tool declares no time limit: the hub's default replaces `timeoutMs`. */
    readonly isTimeoutDefault?: true;
    /** Extra tries after a failure that delivered nothing. */
    readonly retries: number;
    readonly isIdempotent: boolean;
    readonly isAsyncAllowed: boolean;
    readonly isStreamSupported: boolean;
    readonly hasSideEffects: boolean;
    readonly determinism: Determinism;
    readonly maxMemoryBytes?: number;
    readonly maxFuel?: number;
    /** Longest JSON text of a call's parameters in UTF-8 bytes, instead of the hub's limit. Only this hub's calls have it. */
    readonly maxParamsBytes?: number;
  };
  readonly routing: {
    readonly preferLocal: boolean;
    readonly nodeAffinity: readonly string[];
    readonly hopLimit: number;
    readonly preferGpu: boolean;
  };
  readonly metadata: {
    readonly title: string;
    readonly category: Category;
    readonly tags: readonly string[];
    readonly author: string;
    readonly examples: readonly { readonly description: string; readonly params: JsonObject }[];
    /** Device that a generated tool belongs to. */
    readonly device?: string;
    readonly area?: string;
    readonly createdBy: 'system' | 'agent';
    readonly isDangerous: boolean;
    /** Number of persons who must approve a dangerous call; default 1. */
    readonly approvalsNeeded?: number;
    /** The content that audit rows of its calls have besides hashes. Secrets are always masked. */
    readonly audit: { readonly logParams: boolean; readonly logResult: boolean; readonly notifyAdmins: boolean };
  };
}

/** Returns whether running a call twice would do something twice. */
export function isActing({ execution }: Pick<ToolDefinition, 'execution'>): boolean {
  return execution.hasSideEffects && !execution.isIdempotent;
}

/** The information and functions that a handler receives. */
export interface ToolContext {
  readonly principal: Principal;
  readonly agentId: string;
  /** The role that the principal's token was minted for. */
  readonly role?: string | undefined;
  readonly sessionId: string;
  readonly traceId: string;
  readonly requestId: string;
  readonly permissions: readonly string[];
  readonly nodeId: string;
  /** Aborts at the deadline and when the caller cancels. */
  readonly signal: AbortSignal;
  /** Milliseconds since 1970 on `clock`. */
  readonly deadlineMs: number;
  /** The clock. For a bounded tool it stands still at the time at which its call was recorded. */
  readonly clock: Clock;
  readonly run: RunContext;
  /** Set only by the program that contains the hub; HTTP, MCP and the mesh never set it. */
  readonly callerData?: CallerData | undefined;
  /** Returns a number from 0 to below 1. A bounded tool gets numbers from the seed of its run, so that a replay gets the same numbers. */
  random(): number;
  readonly logger: Logger;
  /**
   * Reports the progress of a long call: `fraction` from 0 to 1, and for a `stream_supported` tool a part of its result; the final result
   * repeats all parts. Throws VALIDATION_ERROR or PAYLOAD_TOO_LARGE for a part that is no JSON or longer than 16 KB.
   */
  progress(fraction: number, note?: string, partial?: Json): void;
  /**
   * Checks the call again: token, permission, rules, and whether it still runs what people approved. A handler that waits for its turn
   * calls this directly before it acts. Throws the refusal, or CONFLICT if the call has changed.
   */
  confirm(): void;
  /**
   * Asks the person behind the caller and waits for the answer, at most until the deadline: such a tool needs a long timeout and no
   * `async_allowed`. The caller and its model see the answer, so the question must not be about a secret; the answer is no approval.
   * Rejects with NOT_SUPPORTED if the caller cannot be asked, and for tools that are deterministic or bounded; with CANCELLED if the caller
   * gives up; with RESOURCE_EXCEEDED if too many questions wait; with VALIDATION_ERROR for a question that no form can show.
   */
  ask(question: ToolQuestion): Promise<ToolAnswer>;
  /** Sends a message with a severity of RFC 5424 to listeners of the call. Throws VALIDATION_ERROR or PAYLOAD_TOO_LARGE like `progress`. */
  tell(level: Severity, data: Json): void;
  /** Sets the media type of a text in the result, such as `text/markdown`. Throws VALIDATION_ERROR (RFC 6838 §4.2). */
  contentType(type: string): void;
  /**
   * Adds details next to the result; no schema applies to them, and the audit log does not store them. Throws VALIDATION_ERROR or
   * PAYLOAD_TOO_LARGE like `progress`.
   */
  details(details: JsonObject): void;
}

/** A question to the person behind a tool's caller (elicitation of the Model Context Protocol, 2025-11-25). */
export interface ToolQuestion {
  /** Distinguishes several questions of one call: at most 64 letters, digits, `_` and `-`; default `answer`. */
  readonly key?: string;
  /** The question's text for people, at most 2,000 characters. */
  readonly message: string;
  /** A flat object of texts, numbers, booleans and choices; nothing secret. */
  readonly schema: JsonSchema;
}

/** The reply to a question: only `accept` has content, which fits the schema. */
export type ToolAnswer =
  | { readonly action: 'accept'; readonly content: JsonObject }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/** Facts of a program about who calls and in which session; the hub hands them on and never looks at them. */
export interface CallerData {
  readonly user?: JsonObject;
  readonly session?: JsonObject;
}

/** Runs a tool on validated parameters with defaults filled in. Throws AtmoError to refuse or fail. */
export type ToolHandler<Params = JsonObject> = (params: Params, context: ToolContext) => Promise<Json>;

/** The tools and resources that a caller may see. */
export interface CallerView {
  /** Returns whether the caller has any grant on the permission's resource; otherwise its existence is hidden. */
  canSee(permission: string): boolean;
}

/** A call that a tool is going to make in its caller's name; without parameters where results of others decide on them. */
export interface InnerCall {
  readonly tool: string;
  readonly params?: JsonObject;
  /** The parameters with references to results, for people. */
  readonly written?: JsonObject;
}

/** A definition with its handler. */
export interface RegisteredTool {
  readonly id: ToolId;
  readonly definition: ToolDefinition;
  /** Further short names of the tool: short forms and former names. A setting for one of them applies to the tool. */
  readonly aliases?: readonly string[];
  readonly handler: ToolHandler;
  /** The real effects of a call, from validated parameters; absent = the definition's permissions are all there is. */
  readonly effects?: (params: JsonObject) => readonly Effect[];
  /** Returns the known inner calls of a call with these parameters; default: none. */
  readonly innerCalls?: (params: JsonObject | undefined) => readonly InnerCall[];
  /** Returns the program that a call with these parameters starts, for the people who approve the call; absent if it starts none. */
  readonly program?: (params: JsonObject | undefined) => PlannedProgram;
  /**
   * Returns the parts of the implementation outside of definition and program, such as steps, settings and versions of files. A change
   * makes a new tool for the people who approve it; the hub only stores the hash.
   */
  readonly implementation?: () => Json;
  /** Replaces parameters by their canonical form (a device's name by its id) before permission is asked. */
  readonly canonicalize?: (params: JsonObject, caller: CallerView) => JsonObject;
  /** `process`: the code runs in a separate process with a memory limit. `script`: the code is interpreted, which also limits its steps. */
  readonly isolation?: 'process' | 'script';
  /** Returns false for an unreachable device: the tool is listed, and its calls fail with DEVICE_UNREACHABLE. */
  readonly isAvailable?: () => boolean;
  /**
   * Returns a sentence with the setting that the owner must make; undefined while none is missing. A tool with a missing setting is listed
   * as unavailable and not announced. Its calls run on another hub or fail with NOT_CONFIGURED.
   */
  readonly missingSetting?: () => string | undefined;
  /** The other hubs that have the tool if this hub lacks it; its handler is never called here. */
  readonly hubs?: () => readonly HubId[];
  /** Resources and prompts for agents that come with it. */
  readonly companions?: ToolCompanions;
  /** Releases the tool's resources; called when the tool is removed and when the hub stops. */
  readonly shutdown?: () => Promise<void>;
}

/** Content of a resource: text, or octets in base64. */
export type CompanionContent = { readonly text: string } | { readonly blob: string };

/** An MCP resource of a tool. */
export interface CompanionResource {
  /** A URI, or with `{name}` parts (RFC 6570) the template of many. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
  /** Reads the resource; `parts` are the decoded values of the names in its URI template. */
  read(parts: Readonly<Record<string, string>>): Promise<CompanionContent>;
}

/** An MCP prompt of a tool. */
export interface CompanionPrompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
    readonly values?: readonly string[];
  }[];
  /** Returns MCP messages: a role and a content block. */
  messages(
    given: Readonly<Record<string, string>>,
    context: Pick<ToolContext, 'ask'>,
  ): Promise<readonly { readonly role: 'user' | 'assistant'; readonly content: JsonObject }[]>;
}

/** MCP resources and prompts of a tool. Only callers of the tool can see them. */
export interface ToolCompanions {
  readonly resources?: readonly CompanionResource[];
  readonly prompts?: readonly CompanionPrompt[];
}

/** Keyword of a result schema: the result is `{content}` with content blocks of MCP (text, image, audio, resources) for the agent. */
export const CONTENT_BLOCKS = 'x-content-blocks';

/**
 * Keyword of a result schema: the name of a member with a picture in base64. Agents receive it as an image instead of text if its format is
 * JPEG, PNG, GIF or WebP.
 */
export const IMAGE_MEMBER = 'x-image-member';

/** Tag of a tool that is composed of others. */
export const COMPOSED = 'composed';
/** Tag of a tool with a step that a person must approve. */
export const NEEDS_APPROVAL = 'needs_approval';
/**
 * Tag of a tool that permanently replaces or ends something, or lets other tools do so. A tag works with hubs of every version, which would
 * refuse a new member of a definition.
 */
export const DESTRUCTIVE = 'destructive';

/** Namespaces of the hub's tools and device profiles, whose names and tags declare destructive effects. */
const OWN_NAMESPACES: ReadonlySet<string> = new Set(['core', 'hub', 'matter', 'gpio']);
/** Words in names of tools that remove something permanently. */
const DESTRUCTIVE_WORDS = new Set([
  ...['cancel', 'clear', 'close', 'decommission', 'delete', 'dismiss', 'end', 'erase', 'forget', 'kill', 'leave', 'remove', 'reset'],
  ...['restore', 'revoke', 'rotate', 'unbind', 'unregister', 'wipe'],
]);
/** A cover that closes, a valve that closes and a charging plan that is cancelled can all be undone by another call. */
const REVERSIBLE_WORDS = new Set(['cancel', 'close', 'end']);

/**
 * Returns whether a tool may do more than add something or set a state that another call can reset: tools that are dangerous, end
 * something, or let other tools do so, and changing tools from elsewhere, about which nothing is known.
 */
export function isDestructive({ name, namespace, execution, metadata }: ToolDefinition): boolean {
  const { isDangerous, tags, device } = metadata;
  if (!execution.hasSideEffects) return false;
  if (isDangerous || tags.includes(DESTRUCTIVE) || tags.includes(NEEDS_APPROVAL)) return true;
  if (tags.includes(COMPOSED)) return false;
  if (!OWN_NAMESPACES.has(namespace)) return true;
  const named = new Set(wordsOf(device ?? ''));
  return wordsOf(name).some(
    (word) => DESTRUCTIVE_WORDS.has(word) && !named.has(word) && !(device !== undefined && REVERSIBLE_WORDS.has(word)),
  );
}

function wordsOf(name: string): readonly string[] {
  return name.toLowerCase().split(/[^a-z0-9]+/);
}

/**
 * Returns the tool for a hub whose owner has not configured it; `missingSetting` names the setting. The effects of a call are unknown here:
 * the hub that runs it checks them.
 */
export function unconfigured({ canonicalize: _, effects: __, ...tool }: RegisteredTool, missingSetting: string): RegisteredTool {
  return {
    ...tool,
    missingSetting: () => missingSetting,
    isAvailable: () => false,
    handler: async () => {
      throw notConfigured(tool.id, missingSetting);
    },
  };
}

/** Returns a tool whose setting may appear or disappear while the hub runs; `missing` returns the name of the missing setting. */
export function whileConfigured(tool: RegisteredTool, missing: () => string | undefined): RegisteredTool {
  return { ...tool, missingSetting: missing, isAvailable: () => missing() === undefined };
}

/** Returns the error NOT_CONFIGURED for a tool, with the missing setting. */
export function notConfigured(tool: string, missingSetting: string): AtmoError {
  return new AtmoError('NOT_CONFIGURED', `The tool ${tool} is not configured: ${missingSetting}`, { tool });
}
