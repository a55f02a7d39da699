import { type Clock, systemClock } from '../../core/clock.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { CliIo } from '../cli-io.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { hubUrl } from '../identity/credential.ts';
import { AgentCredential, givenCredential, HOME_PERMISSIONS } from '../mcp/agent-credential.ts';
import { agentOfSettings, applySettings } from '../mcp/host-settings.ts';
import { type McpCredential, McpHttpClient, type McpMessage, paramsOf, parseLine, statedVersion } from '../mcp/http-client.ts';
import { McpSession } from '../mcp/session.ts';
import { McpStatelessRequests } from '../mcp/stateless-requests.ts';
import type { TextSink } from '../terminal/spinner.ts';

const AREA = /^areas\/(.+)$/;

export const mcp: Command = {
  name: 'mcp',
  summary: 'speak MCP with an agent over stdin and stdout, with a token of the agent alone',
  examples: ['mcp --agent claude', 'mcp --agent reader --allow sensor:read:* --view areas/kitchen'],
  options: {
    agent: {
      value: 'NAME',
      help: 'make a token for this agent once, keep and renew it; without it ATMO_TOKEN counts, then the name in ATMO_AGENT',
    },
    allow: { value: 'PERMISSION', help: 'what --agent may do instead of using the whole home; may be repeated', isRepeated: true },
    view: { value: 'VIEW', help: 'devices or areas/AREA: every tool, typed, instead of the dozen that find and run them' },
  },
  async run(call) {
    await applySettings(call);
    const credential = credentialOf(call);
    await requireCredential(credential, call);
    const client = new McpHttpClient({ url: hubUrl(call.io.env), path: pathOf(call.text('view')), fetch: call.io.fetch, credential });
    await new McpStdioBridge({ client, stdin: call.io.stdin, stdout: call.io.stdout }).run();
  },
};

function credentialOf(call: Invocation): McpCredential {
  const name = call.text('agent') ?? agentOfSettings(call.io.env);
  const allowed = call.texts('allow').flatMap((text) => text.split(','));
  if (name === undefined && allowed.length > 0) throw usage('--allow says what --agent may do; ATMO_TOKEN says itself what it may');
  if (name === undefined) return givenCredential(call.io.env);
  const note = (text: string) => call.output.note(text);
  return new AgentCredential({ io: call.io, note }, name, allowed.length > 0 ? allowed : HOME_PERMISSIONS);
}

/** Throws an error if no token can ever be made. If the hub does not respond, only prints a note, since the hub may respond later. */
async function requireCredential(credential: McpCredential, { output }: Invocation): Promise<void> {
  try {
    await credential.token();
  } catch (thrown) {
    const error = toAtmoError(thrown);
    if (error.code !== 'HUB_UNREACHABLE') throw thrown;
    output.note(error.message);
  }
}

function pathOf(view: string | undefined): string {
  if (view === undefined) return '/mcp';
  if (view === 'devices') return '/mcp/devices';
  const area = AREA.exec(view)?.[1];
  if (area !== undefined) return `/mcp/areas/${encodeURIComponent(area)}`;
  throw usage(`--view takes devices or areas/AREA, such as areas/kitchen, not ${JSON.stringify(view)}`);
}

/** Maximum length of a client's message in characters, so that a line without an end does not fill the memory. */
const MAX_LINE_CHARS = 4 * 1024 * 1024;
/** Milliseconds that running requests may still take after the client has closed stdin. */
const LAST_ANSWERS_MS = 1_500;

interface BridgeParts {
  readonly client: McpHttpClient;
  readonly stdin: CliIo['stdin'];
  readonly stdout: TextSink;
  readonly clock?: Clock;
}

/** Forwards MCP messages between the hub's HTTP endpoint and a client on stdio, where each line is one message. */
export class McpStdioBridge {
  readonly #parts: BridgeParts;
  readonly #session: McpSession;
  readonly #stateless: McpStatelessRequests;
  readonly #running = new Set<Promise<void>>();

  constructor(parts: BridgeParts) {
    this.#parts = parts;
    const ends = { client: parts.client, write: (message: McpMessage) => this.#write(message), clock: parts.clock ?? systemClock };
    this.#session = new McpSession(ends);
    this.#stateless = new McpStatelessRequests(ends);
  }

  /** Runs until the client closes stdin. Then waits for the last responses, and ends the session on the hub. */
  async run(): Promise<void> {
    for await (const line of linesOf(this.#parts.stdin)) if (line.trim() !== '') this.#handleLine(line);
    await this.#lastAnswers();
    this.#stateless.close();
    await this.#session.close();
  }

  #handleLine(line: string): void {
    const parsed = parseLine(line);
    if ('refusal' in parsed) {
      this.#write(parsed.refusal);
      return;
    }
    const done = this.#forward(parsed.message);
    this.#running.add(done);
    void done.finally(() => this.#running.delete(done));
  }

  #forward(message: McpMessage): Promise<void> {
    const isCancel = message.method === 'notifications/cancelled';
    if (isCancel && this.#stateless.cancel(paramsOf(message).requestId)) return Promise.resolve();
    return statedVersion(message) === undefined ? this.#session.handle(message) : this.#stateless.handle(message);
  }

  async #lastAnswers(): Promise<void> {
    const { clock = systemClock } = this.#parts;
    const waited = Promise.withResolvers<void>();
    const stop = clock.after(LAST_ANSWERS_MS, waited.resolve);
    await Promise.race([Promise.all(this.#running), waited.promise]);
    stop();
  }

  #write(message: McpMessage): void {
    this.#parts.stdout.write(`${JSON.stringify(message)}\n`);
  }
}

/** Yields the lines of a stream. If a line is too long, cuts it. The cut line is not valid JSON, so the client gets an error. */
async function* linesOf(stream: CliIo['stdin']): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let line = '';
  for await (const chunk of stream) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const [end = '', ...others] = text.split('\n');
    if (line.length < MAX_LINE_CHARS) line += end;
    for (const other of others) {
      yield line;
      line = other;
    }
  }
  if (line !== '') yield line;
}
