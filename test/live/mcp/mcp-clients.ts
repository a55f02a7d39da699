import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { MAIN } from '../main-program.ts';

const ABOUT = { name: 'live-test', version: '1.0.0' };

/** Where a client finds the hub. */
export type Way =
  | { readonly kind: 'http'; readonly url: string; readonly token: string }
  /** `atmo mcp` with these words, as the person of this environment. */
  | {
      readonly kind: 'stdio';
      readonly words: readonly string[];
      readonly env: Record<string, string>;
      /** The command that is `atmo`; that of the sources when absent. */
      readonly atmo?: readonly [string, ...string[]];
    };

interface Wish {
  /** What the client's person does when it is asked; the client cannot ask when absent. */
  readonly onQuestion?: (message: string) => Promise<'accept' | 'decline'>;
}

/** The result of a call, or the error of the tool. */
export interface CallResult {
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
}

/** What both eras of clients have in common. */
export interface LiveClient {
  tools(): Promise<readonly { readonly name: string }[]>;
  call(name: string, given?: Record<string, unknown>, signal?: AbortSignal): Promise<CallResult>;
  resources(): Promise<readonly { readonly uri: string }[]>;
  read(uri: string): Promise<Record<string, unknown>>;
  prompt(name: string, given: Record<string, string>): Promise<string>;
  complete(prompt: string, argument: string, value: string): Promise<readonly string[]>;
  /** From now on `notices` gets what changes. */
  listen(uri: string): Promise<void>;
  /** Methods of notifications, with the URI of those that have one. */
  readonly notices: string[];
  close(): Promise<void>;
}

/** A client of 2026-07-28, the official one. */
export async function modernClient(way: Way, { onQuestion }: Wish = {}): Promise<LiveClient> {
  const notices: string[] = [];
  const client = new ModernClient(ABOUT, {
    capabilities: onQuestion ? { elicitation: { form: {} } } : {},
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  });
  if (onQuestion) {
    client.setRequestHandler('elicitation/create', async ({ params }) => ({ action: await onQuestion(params.message), content: {} }));
  }
  for (const kind of ['tools', 'prompts', 'resources'] as const) {
    client.setNotificationHandler(`notifications/${kind}/list_changed`, () => void notices.push(kind));
  }
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void notices.push(params.uri));
  await client.connect(way.kind === 'http' ? new ModernHttp(new URL(way.url), headersOf(way)) : new ModernStdio(commandOf(way)));
  return {
    notices,
    tools: async () => (await client.listTools()).tools,
    call: (name, given = {}, signal = undefined) => client.callTool({ name, arguments: given }, signal && { signal }),
    resources: async () => (await client.listResources()).resources,
    read: async (uri) => jsonIn(await client.readResource({ uri })),
    prompt: async (name, given) => JSON.stringify((await client.getPrompt({ name, arguments: given })).messages),
    complete: async (name, argument, value) =>
      (await client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } })).completion.values,
    listen: async (uri) => {
      await client.listen({ toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [uri] });
    },
    close: () => client.close(),
  };
}

/** A client of 2025-11-25, as most are today. */
export async function legacyClient(way: Way, { onQuestion }: Wish = {}): Promise<LiveClient> {
  const notices: string[] = [];
  const client = new LegacyClient(ABOUT, { capabilities: onQuestion ? { elicitation: {} } : {} });
  if (onQuestion) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({ action: await onQuestion(params.message), content: {} }));
  }
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void notices.push('tools'));
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => void notices.push('prompts'));
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void notices.push('resources'));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void notices.push(params.uri));
  const transport = way.kind === 'http' ? new LegacyHttp(new URL(way.url), headersOf(way)) : new LegacyStdio(commandOf(way));
  await client.connect(transport as Parameters<LegacyClient['connect']>[0]);
  return {
    notices,
    tools: async () => (await client.listTools()).tools,
    call: async (name, given = {}, signal = undefined) =>
      (await client.callTool({ name, arguments: given }, undefined, signal && { signal })) as CallResult,
    resources: async () => (await client.listResources()).resources,
    read: async (uri) => jsonIn(await client.readResource({ uri })),
    prompt: async (name, given) => JSON.stringify((await client.getPrompt({ name, arguments: given })).messages),
    complete: async (name, argument, value) =>
      (await client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } })).completion.values,
    listen: async (uri) => {
      await client.subscribeResource({ uri });
    },
    close: async () => {
      if (transport instanceof LegacyHttp) await transport.terminateSession();
      await client.close();
    },
  };
}

function headersOf({ token }: Extract<Way, { kind: 'http' }>) {
  return { requestInit: { headers: { authorization: `Bearer ${token}` } } };
}

function commandOf({ words, env, atmo = [process.execPath, MAIN] }: Extract<Way, { kind: 'stdio' }>) {
  const [command, ...args] = atmo;
  return { command, args: [...args, 'mcp', ...words], env, stderr: 'pipe' as const };
}

function jsonIn({ contents }: { contents: readonly object[] }): Record<string, unknown> {
  const [first] = contents;
  return first && 'text' in first && typeof first.text === 'string' ? JSON.parse(first.text) : {};
}
