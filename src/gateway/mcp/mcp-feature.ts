import type { Principal } from '../../core/access/principal.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ToolMessage } from '../../tools/calls/asking/tool-message.ts';
import type { ToolAnswer, ToolQuestion } from '../../tools/calls/asking/tool-question.ts';
import type { Trace } from '../door/trace.ts';
import type { McpView } from './mcp-view.ts';

/** The two ways in which clients of today speak: with a handshake (2025-11-25 and before), or statement by statement (2026-07-28). */
export type McpEra = 'legacy' | 'modern';

/** Who asks, and what its client can do. */
export interface McpCaller {
  readonly principal: Principal;
  readonly view: McpView;
  readonly era: McpEra;
  /** `ClientCapabilities` as the client declared them. */
  readonly clientCapabilities: JsonObject;
  readonly trace: Trace;
  /** Aborts when the client cancels or goes away. */
  readonly signal: AbortSignal;
  /** The session of the handshake era that the request is part of. */
  readonly session?: McpSession;
  /** What the client answered to the questions of an `input_required` result, by their keys; nothing of it is checked yet. */
  readonly inputResponses: JsonObject;
  /** The state that an `input_required` result gave the client, as it came back; nothing of it is checked yet. */
  readonly requestState?: string;
  /** Tells how far the request is, 0 to 1; nothing happens where the client wants to hear none. */
  progress(fraction: number, message?: string): void;
  /** Tells the client what a tool has to say; nothing happens where it wants to hear nothing as mild as that. */
  say(message: ToolMessage): void;
  /**
   * Asks the person at the client; absent where that cannot be. CANCELLED when the client does not put the question to anybody.
   * The signal ends the question. What is answered is not checked yet.
   */
  readonly ask?: (question: Required<ToolQuestion>, signal: AbortSignal) => Promise<ToolAnswer>;
}

/** What a session of the handshake era remembers. */
export interface McpSession {
  readonly id: string;
  /** URIs of `resources/subscribe`. */
  readonly subscriptions: ReadonlySet<string>;
  subscribe(uri: string): void;
  unsubscribe(uri: string): void;
}

/** Answers one method; what it throws becomes a JSON-RPC error. */
export type McpMethod = (params: JsonObject, caller: McpCaller) => Promise<JsonObject>;

/** A part of the server: what it declares, and the requests that it answers. */
export interface McpFeature {
  /** Its part of `ServerCapabilities`. */
  readonly capabilities: JsonObject;
  /** By method name, such as `resources/read`. */
  readonly methods: Readonly<Record<string, McpMethod>>;
  /** The schema of a tool of this name whose arguments a client repeats in headers; what does not agree is refused before the call. */
  mirroredSchema?(name: string, listener: McpListener): JsonObject | undefined;
  /** Throws where a client would never hear of one of these resources, or they are too many. */
  admitSubscriptions?(uris: readonly string[], listener: McpListener): void;
  /** Lets go of what it listens to. */
  close?(): void;
}

/** Somebody who is told of changes. */
export type McpListener = Pick<McpCaller, 'principal' | 'view'>;

/** What open sessions and subscriptions are told of. */
export interface McpNotices {
  /** Those whose list it is about; everybody where `concerns` is absent. */
  toolsChanged(concerns?: (listener: McpListener) => boolean): void;
  resourcesChanged(concerns?: (listener: McpListener) => boolean): void;
  /** Only those hear it who asked for this very URI and of whom `mayRead` holds now; everybody where it is absent. */
  resourceUpdated(uri: string, mayRead?: (principal: Principal) => boolean): void;
}
