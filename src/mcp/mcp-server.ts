import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  type Implementation,
  isLegacyRequest,
  McpServer,
  MissingRequiredClientCapabilityError,
  mergeCapabilities,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerCapabilities,
  type ServerContext,
  type ServerEventBus,
  type ServerOptions,
} from '@modelcontextprotocol/server';
import type { Principal } from '../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf } from '../core/json.ts';
import type { Trace } from '../http/server/route.ts';
import { elicitation, neededCapabilities, showsForms } from './calls/elicitation.ts';
import type { McpCaller, McpEra, McpFeature, McpSession, McpView } from './mcp-feature.ts';

/** The authenticated sender of a request. */
export interface McpRequester {
  readonly principal: Principal;
  readonly view: McpView;
  readonly trace: Trace;
}

/** The description of the server, and its features. */
export interface McpServerOptions {
  readonly about: Implementation;
  readonly instructions: string;
  readonly features: readonly McpFeature[];
  /** Called with errors of the protocol. Errors of tools are not reported here. */
  onError(error: Error): void;
}

interface ServerScope {
  readonly era: McpEra;
  readonly session?: McpSession;
  /** Names of the methods to register; default: all. */
  readonly methods?: ReadonlySet<string>;
}

/** Schema that accepts all params. Each feature checks its own params with better messages. */
const UNCHECKED = { '~standard': { version: 1, vendor: 'atmosphere-edge', validate: (value: unknown) => ({ value }) } } as const;

/** Returns whether a request needs a session, as in MCP 2025-11-25 and before. `body` is its parsed body, if any. */
export function isOfSession(request: Request, body: unknown): Promise<boolean> {
  return isLegacyRequest(request, body);
}

/** Returns an MCP server with the features, for one session or one request. */
export function makeServer(offer: McpServerOptions, use: ServerScope): Server {
  const server = new Server(offer.about, optionsOf(offer));
  registerHandlers(server, offer, use);
  return server;
}

function optionsOf({ features, instructions }: McpServerOptions): ServerOptions {
  return { capabilities: capabilitiesOf(features), instructions };
}

function registerHandlers(server: Server, offer: McpServerOptions, { era, session, methods }: ServerScope): void {
  server.onerror = offer.onError;
  for (const feature of offer.features) {
    for (const [method, answer] of Object.entries(feature.methods)) {
      if (methods && !methods.has(method)) continue;
      server.setRequestHandler(method, { params: UNCHECKED }, async (params, context) => {
        const caller = callerOf(context, { era, server, ...(session && { session }) });
        try {
          return { ...(await answer(objectOf(params), caller)) };
        } catch (thrown) {
          throw protocolError(toAtmoError(thrown), era);
        }
      });
    }
  }
}

/** Serves a tool call whose arguments are repeated in headers. To compare both, the SDK asks this class for the tool's parameter schema. */
class MirroringServer extends McpServer {
  readonly #schema: JsonObject;

  constructor(offer: McpServerOptions, use: ServerScope, schema: JsonObject) {
    super(offer.about, optionsOf(offer));
    this.#schema = schema;
    registerHandlers(this.server, offer, use);
  }

  override toolInputSchemaJson(): JsonObject {
    return this.#schema;
  }
}

interface ModernExchange {
  readonly requester: McpRequester;
  readonly request: Request;
  readonly body: JsonObject;
  /** The source of change notifications for `subscriptions/listen`. */
  readonly bus: ServerEventBus;
}

/** Handles one request of MCP 2026-07-28. Calling `close` ends its stream. */
export function serveModern(offer: McpServerOptions, { requester, request, body, bus }: ModernExchange) {
  const { method, params } = body;
  // Only the handler for the request's method is registered, because each request creates its own server.
  const use = { era: 'modern', methods: new Set(typeof method === 'string' ? [method] : []) } as const;
  const { name } = objectOf(params);
  const isCall = method === 'tools/call' && typeof name === 'string';
  const schema = isCall ? offer.features.map((feature) => feature.mirroredSchema?.(name, requester)).find(isJsonObject) : undefined;
  const handler = createMcpHandler(() => (schema ? new MirroringServer(offer, use, schema) : makeServer(offer, use)), {
    legacy: 'reject',
    onerror: offer.onError,
    bus,
  });
  return { response: handler.fetch(request, { authInfo: authInfoOf(requester), parsedBody: body }), close: () => handler.close() };
}

/** Puts the requester into an auth info, which the SDK passes to the handlers. */
export function authInfoOf(requester: McpRequester) {
  return { token: '', clientId: requester.principal.id, scopes: [...requester.principal.permissions], extra: { requester } };
}

interface RequestContext {
  readonly era: McpEra;
  readonly server: Server;
  readonly session?: McpSession;
}

function callerOf({ mcpReq, http }: ServerContext, { era, server, session }: RequestContext): McpCaller {
  // The cast is safe because `authInfoOf` in this file made the value.
  const requester = http?.authInfo?.extra?.requester as McpRequester;
  const { requestState } = mcpReq;
  const state = requestState<unknown>();
  const token = mcpReq._meta?.progressToken;
  const clientCapabilities = objectOf(
    era === 'modern' ? objectOf(mcpReq.envelope)[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities(),
  );
  return {
    ...requester,
    era,
    clientCapabilities,
    signal: mcpReq.signal,
    inputResponses: objectOf(mcpReq.inputResponses),
    ...(session && showsForms(clientCapabilities) && { ask: sessionQuestion(mcpReq) }),
    sendMessage({ level, data }) {
      mcpReq.log(level, data).catch(() => {});
    },
    ...(typeof state === 'string' && { requestState: state }),
    ...(session && { session }),
    progress(fraction, message) {
      if (token === undefined) return;
      const params = { progressToken: token, progress: fraction, total: 1, ...(message !== undefined && { message }) };
      // An error is ignored, since a disconnected client needs no progress and its request is aborted elsewhere.
      mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
    },
  };
}

function capabilitiesOf(features: readonly McpFeature[]): ServerCapabilities {
  return features.reduce<ServerCapabilities>((all, { capabilities }) => mergeCapabilities(all, capabilities as ServerCapabilities), {});
}

/** Returns the error for the client. It describes mistakes in the request; only the hub's log describes other errors. */
function protocolError(error: AtmoError, era: McpEra): ProtocolError {
  const body = error.toBody();
  const { code, message, details } = body;
  // MCP requires the URI of a missing resource in the error's data (SEP-2164).
  const data: Record<string, Json> = { ...body, ...(typeof details.uri === 'string' && { uri: details.uri }) };
  if (code === 'INTERNAL_ERROR') return new ProtocolError(ProtocolErrorCode.InternalError, message, data);
  const requiredCapabilities = era === 'modern' ? neededCapabilities(error) : undefined;
  if (requiredCapabilities) return new MissingRequiredClientCapabilityError({ requiredCapabilities }, message);
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);
}

/** Maximum time in milliseconds to wait for a person's answer. */
const ANSWER_LIMIT_MS = 10 * 60_000;

/** Returns a function that sends a question to the client of a session, on the stream of the current request. */
function sessionQuestion({ send }: ServerContext['mcpReq']): NonNullable<McpCaller['ask']> {
  return async (question, signal) => {
    try {
      const { action, content } = await send(elicitation(question), { signal, timeout: ANSWER_LIMIT_MS });
      return action === 'accept' ? { action, content: { ...content } } : { action };
    } catch (error) {
      throw new AtmoError(
        'CANCELLED',
        `The client did not put the question to anybody: ${error instanceof Error ? error.message.slice(0, 200) : 'it gave no reason'}`,
      );
    }
  };
}
