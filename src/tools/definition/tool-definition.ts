import type { Effect, PlannedProgram, Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId, ToolId } from '../../core/ids.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import type { Logger, Severity } from '../../core/logger.ts';
import type { RunContext } from '../../core/storage/audit-log.ts';

/** `$schema` of a public definition. */
export const TOOL_SCHEMA_ID = 'https://atmosphere.dev/schemas/tool/v1';
/** What a tool is for: `metadata.category`. */
export const TOOL_CATEGORIES = ['sensing', 'acting', 'communicating', 'querying', 'computing', 'managing'] as const;
export type Category = (typeof TOOL_CATEGORIES)[number];

/** Source 001: what replay may count on. */
export const DETERMINISMS = ['deterministic', 'bounded', 'nondeterministic'] as const;
export type Determinism = (typeof DETERMINISMS)[number];

/** A tool in the one internal form. Every member is present after `normalizeDefinition`. */
export interface ToolDefinition {
  readonly name: string;
  readonly namespace: string;
  readonly version: string;
  readonly description: string;
  /** JSON Schema 2020-12 with root type object. */
  readonly parameters: JsonSchema;
  readonly returns: JsonSchema;
  readonly requires: {
    /** What the executing hub must have. */
    readonly capabilities: readonly string[];
    /** What the caller's token must cover; `{param}` is filled from validated parameters. */
    readonly permissions: readonly string[];
    readonly network: boolean;
    readonly gpu: boolean;
    readonly gpuPreferred: boolean;
  };
  readonly execution: {
    readonly timeoutMs: number;
    /** The tool states no limit of its own: the hub's default counts instead of `timeoutMs`. */
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
    /**
     * Longest JSON text of a call's parameters, in UTF-8 bytes, where the hub's own bound does not fit. Calls that leave the hub keep that
     * one.
     */
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
    /** Distinct persons who have to approve a dangerous call; 1 when absent. */
    readonly approvalsNeeded?: number;
    /** What the journal keeps of its calls beside hashes. Secrets are masked in any case. */
    readonly audit: { readonly logParams: boolean; readonly logResult: boolean; readonly notifyAdmins: boolean };
  };
}

/** Returns whether running a call twice would do something twice. */
export function isActing({ execution }: Pick<ToolDefinition, 'execution'>): boolean {
  return execution.hasSideEffects && !execution.isIdempotent;
}

/** What a handler gets to know and use. */
export interface ToolContext {
  readonly principal: Principal;
  /** The principal's id. */
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
  /** A bounded tool sees the time at which its call was written to the journal, and it stands still. */
  readonly clock: Clock;
  readonly run: RunContext;
  /** From the program around the hub alone; no door to the outside sets it. */
  readonly callerData?: CallerData | undefined;
  /** Numbers from 0 to below 1; a bounded tool gets them from the seed of its run, so that replay gets the same. */
  random(): number;
  readonly logger: Logger;
  /**
   * Tells how far a long call is, `fraction` 0 to 1, and a part of what it has found where the tool is `stream_supported`; the
   * result repeats all of it. VALIDATION_ERROR or PAYLOAD_TOO_LARGE for a part that is no JSON or longer than 16 KB.
   */
  progress(fraction: number, note?: string, partial?: Json): void;
  /**
   * Judges the call once more: token, permission, rules, and whether it would run what people approved. A handler that waits for its
   * turn asks right before it acts. Throws what refuses the call, CONFLICT where that has become another one.
   */
  confirm(): void;
  /**
   * Asks the person behind the caller and waits for the answer, at most until the deadline: a tool that asks needs a long
   * timeout and no `async_allowed`. The answer passes the caller and its model, so nothing secret may be asked; it is no approval.
   * Throws NOT_SUPPORTED if the caller cannot be asked, and for tools that say they are deterministic or bounded; throws CANCELLED if the
   * caller gives up; throws RESOURCE_EXCEEDED if too much waits for answers; throws VALIDATION_ERROR for a question that no form can show.
   */
  ask(question: ToolQuestion): Promise<ToolAnswer>;
  /** Tells whoever listens to the call, with a severity of RFC 5424; nobody may. VALIDATION_ERROR or PAYLOAD_TOO_LARGE as for parts. */
  tell(level: Severity, data: Json): void;
  /** Says what a text in the result holds, such as `text/markdown`. Throws VALIDATION_ERROR for what is no media type (RFC 6838 §4.2). */
  contentType(type: string): void;
  /**
   * Says something about the result beside it, which no schema binds and no journal keeps. VALIDATION_ERROR or PAYLOAD_TOO_LARGE as for
   * parts.
   */
  details(details: JsonObject): void;
}

/** A question to the person behind the caller of a tool (elicitation of the Model Context Protocol, 2025-11-25). */
export interface ToolQuestion {
  /** Distinguishes several questions of one call: letters, digits, `_`, `-`, at most 64; `answer` when absent. */
  readonly key?: string;
  /** For people, at most 2,000 characters. */
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

/** What the caller of a tool may know of. */
export interface CallerView {
  /** Returns whether the caller holds any grant on the resource of this permission; what it may not see does not exist for it. */
  canSee(permission: string): boolean;
}

/** A call that a tool is going to make in its caller's name; without parameters where results of others decide on them. */
export interface InnerCall {
  readonly tool: string;
  readonly params?: JsonObject;
  /** With references to those results, for people. */
  readonly written?: JsonObject;
}

/** A definition with what runs it. */
export interface RegisteredTool {
  readonly id: ToolId;
  readonly definition: ToolDefinition;
  /** Bare names that mean it too: short forms, and what it was called before. What is said of one of them holds for the tool. */
  readonly aliases?: readonly string[];
  readonly handler: ToolHandler;
  /** The real effects of a call, from validated parameters; absent = the definition's permissions are all there is. */
  readonly effects?: (params: JsonObject) => readonly Effect[];
  /** The calls that a call with these parameters is going to make, as far as they are known; none when absent. */
  readonly innerCalls?: (params: JsonObject | undefined) => readonly InnerCall[];
  /** The program that a call with these parameters starts, for the people who approve it; absent if it starts none. */
  readonly program?: (params: JsonObject | undefined) => PlannedProgram;
  /**
   * What decides what a call does and stands neither in the definition nor in the program, such as steps, settings and the versions of
   * files. Another one is another tool for the people who approve it; the hub only hashes it.
   */
  readonly implementation?: () => Json;
  /** Replaces parameters by their canonical form (a device's name by its id) before permission is asked. */
  readonly canonicalize?: (params: JsonObject, caller: CallerView) => JsonObject;
  /**
   * `process`: its code runs in a process of its own, whose memory can be bounded. `script`: it is interpreted, which also bounds its
   * steps.
   */
  readonly isolation?: 'process' | 'script';
  /** False for a device that is away: listed, answers DEVICE_UNREACHABLE. */
  readonly isAvailable?: () => boolean;
  /**
   * What the owner has not configured, as a sentence that says what to set; undefined while nothing is known to be missing. A tool
   * that lacks something is listed as unavailable and not announced; another hub may run it, else it answers NOT_CONFIGURED.
   */
  readonly missingSetting?: () => string | undefined;
  /** The hubs that have it, for a tool that this hub does not have itself; its handler is never called here. */
  readonly hubs?: () => readonly HubId[];
  /** Resources and prompts for agents that come with it. */
  readonly companions?: ToolCompanions;
  /** Gives back what the tool holds; called when it is removed and when the hub stops. */
  readonly shutdown?: () => Promise<void>;
}

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

/** Tag of a tool that is composed of others. */
export const COMPOSED = 'composed';
/** Tag of one of which a step has to be approved by a person. */
export const NEEDS_APPROVAL = 'needs_approval';
/**
 * Tag of a tool that replaces or ends something for good, or that can have other tools do so. Tags travel between hubs of every
 * version, where a new member of a definition would be refused.
 */
export const DESTRUCTIVE = 'destructive';

/** Namespaces of what the hub and its device profiles bring: such tools say what they do by their names and tags. */
const OWN_NAMESPACES: ReadonlySet<string> = new Set(['core', 'hub', 'matter', 'gpio']);
/** Words of names of tools that take something away, which none of them gives back. */
const DESTRUCTIVE_WORDS = new Set([
  ...['cancel', 'clear', 'close', 'decommission', 'delete', 'dismiss', 'end', 'erase', 'forget', 'kill', 'leave', 'remove', 'reset'],
  ...['restore', 'revoke', 'rotate', 'unbind', 'unregister', 'wipe'],
]);
/** A cover that closes, a valve that closes and a charging plan that is cancelled can all be undone by another call. */
const REVERSIBLE_WORDS = new Set(['cancel', 'close', 'end']);

/**
 * Returns true for a tool that may do more than add something or set a state that another call sets back: what is dangerous, what ends
 * something, what has other tools do so, and whatever acts and comes from elsewhere, of which nothing is known.
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
 * Returns the tool for a hub whose owner has not configured it; `missingSetting` names the setting. The effects of a call are checked on
 * a hub that can run it: they are not known here.
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

/** Returns the tool as one whose setting may appear or go while the hub runs; `missing` names the setting. */
export function whileConfigured(tool: RegisteredTool, missing: () => string | undefined): RegisteredTool {
  return { ...tool, missingSetting: missing, isAvailable: () => missing() === undefined };
}

/** Returns NOT_CONFIGURED for a tool, with the missing setting. */
export function notConfigured(tool: string, missingSetting: string): AtmoError {
  return new AtmoError('NOT_CONFIGURED', `The tool ${tool} is not configured: ${missingSetting}`, { tool });
}
