import type { Effect, PlannedProgram, Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId, ToolId } from '../../core/ids.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { Logger, Severity } from '../../core/logger.ts';
import type { RunContext } from '../../core/storage/audit-log.ts';

/** Value of `$schema` in public definitions. */
export const TOOL_SCHEMA_ID = 'https://atmosphere.dev/schemas/tool/v1';
/** The purposes of tools (`metadata.category`). */
export const TOOL_CATEGORIES = ['sensing', 'acting', 'communicating', 'querying', 'computing', 'managing'] as const;
export type Category = (typeof TOOL_CATEGORIES)[number];

/** The degrees of determinism, which tell a replay whether a second run gives the same result. */
export const DETERMINISMS = ['deterministic', 'bounded', 'nondeterministic'] as const;
type Determinism = (typeof DETERMINISMS)[number];

/** A tool in the internal form. `normalizeDefinition` sets every required field. */
export interface ToolDefinition {
  readonly name: string;
  readonly namespace: string;
  readonly version: string;
  readonly description: string;
  /** JSON Schema (draft 2020-12) with the root type object. */
  readonly parameters: JsonSchema;
  readonly returns: JsonSchema;
  readonly requires: {
    /** Names of the capabilities that a hub must have to run the tool. */
    readonly capabilities: readonly string[];
    /** Permissions that the caller's token must cover. Validated parameters replace placeholders such as `{device_id}`. */
    readonly permissions: readonly string[];
    readonly network: boolean;
    readonly gpu: boolean;
    readonly gpuPreferred: boolean;
  };
  readonly execution: {
    readonly timeoutMs: number;
    /** True if the tool declares no time limit. The hub's default limit then replaces `timeoutMs`. */
    readonly isTimeoutDefault?: true;
    /** Number of repeats after a temporary error. If the request may have been delivered, only an idempotent tool is repeated. */
    readonly retries: number;
    readonly isIdempotent: boolean;
    readonly isAsyncAllowed: boolean;
    readonly isStreamSupported: boolean;
    readonly hasSideEffects: boolean;
    readonly determinism: Determinism;
    readonly maxMemoryBytes?: number;
    readonly maxFuel?: number;
    /** Maximum length of the parameters' JSON text in UTF-8 bytes, instead of the hub's limit. The mesh's own limit still applies. */
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
    /** Id of the device that a generated tool controls or reads. */
    readonly device?: string;
    readonly area?: string;
    readonly createdBy: 'system' | 'agent';
    readonly isDangerous: boolean;
    /** Number of persons who must approve a dangerous call; default: 1. */
    readonly approvalsNeeded?: number;
    /** What the audit log stores of a call besides hashes. Secrets are always masked. */
    readonly audit: { readonly logParams: boolean; readonly logResult: boolean; readonly notifyAdmins: boolean };
  };
}

/** Returns whether a repeated call could have a second effect. */
export function isActing({ execution }: Pick<ToolDefinition, 'execution'>): boolean {
  return execution.hasSideEffects && !execution.isIdempotent;
}

/** The information and functions that a handler receives. */
export interface ToolContext {
  readonly principal: Principal;
  readonly agentId: string;
  /** The role for which the caller's token was minted. */
  readonly role?: string | undefined;
  readonly sessionId: string;
  readonly traceId: string;
  readonly requestId: string;
  readonly permissions: readonly string[];
  readonly nodeId: string;
  /** Signal that aborts at the deadline, or when the caller cancels the call. */
  readonly signal: AbortSignal;
  /** Deadline of the call in milliseconds since 1970, by `clock`. */
  readonly deadlineMs: number;
  /** The clock. For a tool with the determinism `bounded`, it always shows the start time of the call. A replay gets the same time. */
  readonly clock: Clock;
  readonly run: RunContext;
  /** Data from the program that embeds the hub. Calls over HTTP, MCP and the mesh have no such data. */
  readonly callerData?: CallerData | undefined;
  /** Returns a random number from 0 to below 1. If the tool's determinism is `bounded`, a replay gets the same numbers again. */
  random(): number;
  readonly logger: Logger;
  /**
   * Reports the progress of a long call; `fraction` goes from 0 to 1. A `stream_supported` tool may send a part of its result as `partial`.
   * The final result must repeat all parts. Throws VALIDATION_ERROR if `partial` is not JSON, and PAYLOAD_TOO_LARGE above 16 KB.
   */
  progress(fraction: number, note?: string, partial?: Json): void;
  /**
   * Checks the token, permission, rules and approval of the call again. A handler that has waited, for example in a queue, calls this right
   * before it acts. Throws an error if the call is no longer allowed, and CONFLICT if the call differs from what people approved.
   */
  confirm(): void;
  /**
   * Returns whether the owner's rules allow the call these effects as well, without an approval. A handler that can take another way to the
   * same end asks this before it takes one whose effects were not judged with the call.
   */
  allows(effects: readonly Effect[]): boolean;
  /**
   * Asks the person behind the caller a question, and waits for the answer, at most until the deadline. The tool needs a long timeout and
   * must not allow async calls. The caller and its model see the answer. So never ask for a secret, and never use the answer as an
   * approval. Rejects with NOT_SUPPORTED if the caller cannot be asked or the tool is deterministic or bounded, CANCELLED if the caller
   * gives up, RESOURCE_EXCEEDED if too many questions are open, and VALIDATION_ERROR if no form can show the question.
   */
  ask(question: ToolQuestion): Promise<ToolAnswer>;
  /** Sends the caller a log message with a severity of RFC 5424. Throws the same errors as `progress`. */
  tell(level: Severity, data: Json): void;
  /** Sets the media type of a text in the result, such as `text/markdown`. Throws VALIDATION_ERROR for an invalid type (RFC 6838 §4.2). */
  contentType(type: string): void;
  /** Adds details to the answer, beside the result. They need no schema. The audit log omits them. Throws the same errors as `progress`. */
  details(details: JsonObject): void;
}

/** A question to the person behind a tool's caller (elicitation of the Model Context Protocol, version 2025-11-25). */
export interface ToolQuestion {
  /** Name of the question: 1 to 64 letters, digits, `_` or `-`; default: `answer`. A call with several questions needs different names. */
  readonly key?: string;
  /** The question's text for people, at most 2,000 characters. */
  readonly message: string;
  /** Schema of the answer: a flat object of texts, numbers, booleans and choices, without secrets. */
  readonly schema: JsonSchema;
}

/** The answer to a question. For the action `accept`, `content` matches the question's schema. Other actions have no content. */
export type ToolAnswer =
  | { readonly action: 'accept'; readonly content: JsonObject }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/** Facts about the caller and its session from a program that embeds the hub. The hub passes them on without reading them. */
export interface CallerData {
  readonly user?: JsonObject;
  readonly session?: JsonObject;
}

/** Runs a tool. The parameters are validated and have their defaults. Throws an AtmoError if the tool refuses or fails. */
export type ToolHandler<Params = JsonObject> = (params: Params, context: ToolContext) => Promise<Json>;

/** Tells which resources a caller may see. */
export interface CallerView {
  /** Returns whether the caller has any grant for the permission's resource. If not, the hub does not reveal that the resource exists. */
  canSee(permission: string): boolean;
}

/** Tells which resources a caller may see, and what its grants permit. */
export interface CallerRights extends CallerView {
  /** Returns whether the caller's grants cover the permission. */
  may(permission: string): boolean;
}

/** A call that a tool will make in its caller's name. `params` is absent if the parameters depend on results of earlier calls. */
export interface InnerCall {
  readonly tool: string;
  readonly params?: JsonObject;
  /** The parameters as shown to people. In place of a result that is not known yet, they contain a reference. */
  readonly written?: JsonObject;
}

/** What a call changes elsewhere than in values of devices, such as the room of a device, and the call that brings it back. */
export interface Restorable {
  /** What changes, such as `area/lamp`. Calls with the same path change the same. */
  readonly path: string;
  /** Returns what is there now, null for nothing; undefined if that is not known, so that the call cannot be undone. */
  readonly now: () => Json | undefined;
  /** Returns the call that brings back what was there before; undefined if no call does. */
  readonly restore: (before: Json) => InnerCall | undefined;
}

/** Detail of an error with which a tool names the hub that has to run the call instead. */
export const RUN_ON = 'run_on';

/** A device that a call for several devices would leave out. Clients get it unchanged. */
export interface SkippedMember {
  readonly device_id: string;
  readonly name: string;
  readonly reason: string;
}

/** A tool in the form of the registry: its definition and its handler. */
export interface RegisteredTool {
  readonly id: ToolId;
  readonly definition: ToolDefinition;
  /** Further short names of the tool, such as its former names. A setting with one of these names applies to the tool. */
  readonly aliases?: readonly string[];
  /** Names of tools in the namespace that do the same in another way. The owner's rules for these tools hold for this tool as well. */
  readonly ruledLike?: readonly string[];
  readonly handler: ToolHandler;
  /**
   * Returns the permissions that a call with canonical parameters requires, beside those of its effects and of its inner calls. Undefined stands
   * for those of the definition. It may be none only if the effects and inner calls require all that the call needs.
   */
  readonly permissionsFor?: (params: JsonObject) => readonly string[] | undefined;
  /** Returns the effects of a call with validated parameters. If absent, the definition's permissions describe all effects. */
  readonly effects?: (params: JsonObject) => readonly Effect[];
  /** Returns the inner calls that a call with these parameters will make; default: none. */
  readonly innerCalls?: (params: JsonObject | undefined) => readonly InnerCall[];
  /** Returns what a call with these parameters changes and how to bring it back; default: only values of devices are brought back. */
  readonly restorable?: (params: JsonObject) => Restorable | undefined;
  /** Returns the members that a call would leave out, such as devices of an area that cannot do what is wanted; default: none. */
  readonly skips?: (params: JsonObject, caller: CallerRights) => readonly SkippedMember[];
  /** Returns the program that a call with these parameters starts, to show it to approvers. Absent if the tool starts no program. */
  readonly program?: (params: JsonObject | undefined) => PlannedProgram;
  /**
   * Returns the details that an approval covers in addition to the definition and the program, such as steps, settings and file versions.
   * If the details change, a call needs a new approval. The hub stores only their hash.
   */
  readonly implementation?: () => Json;
  /** Returns the parameters in their canonical form, such as a device's id instead of its name. Called before the permission check. */
  readonly canonicalize?: (params: JsonObject, caller: CallerRights) => JsonObject;
  /** How the code is isolated. `process`: a process with a memory limit. `script`: an interpreter with limits on memory and steps. */
  readonly isolation?: 'process' | 'script';
  /** Returns whether the tool's device is reachable. If not, the tool is still listed, but its calls fail with DEVICE_UNREACHABLE. */
  readonly isAvailable?: () => boolean;
  /**
   * If the owner has not made a necessary setting, returns a sentence that names it. Otherwise returns undefined. While the setting is
   * missing, the tool is listed as unavailable and not announced. Its calls run on another hub or fail with NOT_CONFIGURED.
   */
  readonly missingSetting?: () => string | undefined;
  /** Returns the hubs that have the tool. Set only if this hub lacks the tool. This hub then never calls the handler. */
  readonly hubs?: () => readonly HubId[];
  /** MCP resources and prompts that belong to the tool. */
  readonly companions?: ToolCompanions;
  /** Releases the tool's resources. Called when the tool is removed and when the hub stops. */
  readonly shutdown?: () => Promise<void>;
}

/** Content of an MCP resource: a text, or bytes in base64. */
type CompanionContent = { readonly text: string } | { readonly blob: string };

/** An MCP resource that belongs to a tool. */
export interface CompanionResource {
  /** The resource's URI, or a URI template with placeholders such as `{name}` (RFC 6570). */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
  /** Returns the content of the resource. `parts` has the decoded values of the placeholders in the URI template. */
  read(parts: Readonly<Record<string, string>>): Promise<CompanionContent>;
}

/** An MCP prompt that belongs to a tool. */
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
  /** Returns the prompt's MCP messages, each with a role and a content block. */
  messages(
    given: Readonly<Record<string, string>>,
    context: Pick<ToolContext, 'ask'>,
  ): Promise<readonly { readonly role: 'user' | 'assistant'; readonly content: JsonObject }[]>;
}

/** MCP resources and prompts of a tool. Only callers who may see the tool can see them. */
export interface ToolCompanions {
  readonly resources?: readonly CompanionResource[];
  readonly prompts?: readonly CompanionPrompt[];
}

/** Schema keyword of a result `{content}`, which has MCP content blocks for agents: text, images, audio or resources. */
export const CONTENT_BLOCKS = 'x-content-blocks';

/** Schema keyword that names the result member with a base64 picture. Agents get JPEG, PNG, GIF and WebP as an image, not as text. */
export const IMAGE_MEMBER = 'x-image-member';

/** Tag of a tool that calls other tools. */
export const COMPOSED = 'composed';
/** Tag of a tool with a step that a person must approve. */
export const NEEDS_APPROVAL = 'needs_approval';
/** Tag of a tool that permanently ends something, itself or through other tools. It is a tag, not a field: older hubs refuse new fields. */
export const DESTRUCTIVE = 'destructive';

/** Namespaces of the hub's own tools and of device profiles. In them, a tool's name and tags show whether the tool is destructive. */
const OWN_NAMESPACES: ReadonlySet<string> = new Set(['core', 'hub', 'matter', 'gpio', 'scene']);
/** Words in tool names that mean permanent removal. */
const DESTRUCTIVE_WORDS = new Set([
  ...['cancel', 'clear', 'close', 'decommission', 'delete', 'dismiss', 'end', 'erase', 'forget', 'kill', 'leave', 'remove', 'reset'],
  ...['restore', 'revoke', 'rotate', 'unbind', 'unregister', 'wipe'],
]);
/** Words that are not destructive in the name of a device's tool, because another call can undo the effect (a closed valve). */
const REVERSIBLE_WORDS = new Set(['cancel', 'close', 'end']);

/** Returns whether people approve each call of a tool, or of one of its steps. */
export function needsApproval({ metadata: { isDangerous, tags } }: Pick<ToolDefinition, 'metadata'>): boolean {
  return isDangerous || tags.includes(NEEDS_APPROVAL);
}

/** Returns whether a call can have a permanent effect. Outside OWN_NAMESPACES, assumes so for tools with side effects if not COMPOSED. */
export function isDestructive({ name, namespace, execution, metadata }: ToolDefinition): boolean {
  const { tags, device } = metadata;
  if (!execution.hasSideEffects) return false;
  if (needsApproval({ metadata }) || tags.includes(DESTRUCTIVE)) return true;
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

/** Returns the tool as unavailable because of a missing setting. Omits `canonicalize` and `effects`, since only another hub can run it. */
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

/** Returns a tool that is unavailable while a setting is missing. `missing` returns a sentence about the setting, or undefined. */
export function whileConfigured(tool: RegisteredTool, missing: () => string | undefined): RegisteredTool {
  return { ...tool, missingSetting: missing, isAvailable: () => missing() === undefined };
}

/** Returns the error NOT_CONFIGURED for a tool. Its message names the missing setting. */
export function notConfigured(tool: string, missingSetting: string): AtmoError {
  return new AtmoError('NOT_CONFIGURED', `The tool ${tool} is not configured: ${missingSetting}`, { tool });
}
