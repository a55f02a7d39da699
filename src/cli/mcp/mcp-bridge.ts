import type { Clock } from '../../core/time/clock.ts';
import { systemClock } from '../../core/time/clock.ts';
import type { CliIo } from '../cli-io.ts';
import type { TextSink } from '../terminal/text-sink.ts';
import type { McpDoor } from './mcp-door.ts';
import { type McpMessage, paramsOf, parseLine, statedVersion } from './mcp-message.ts';
import { McpSession } from './mcp-session.ts';
import { McpStatements } from './mcp-statements.ts';

/** As much as a message from the client may have, so that a client that never ends its line fills no memory. */
const MAX_LINE_CHARS = 4 * 1024 * 1024;
/** How long running requests may go on after the client has said its last word. */
const LAST_ANSWERS_MS = 1_500;

interface BridgeParts {
  readonly door: McpDoor;
  readonly stdin: CliIo['stdin'];
  readonly stdout: TextSink;
  readonly clock?: Clock;
}

/** Carries MCP between the stdio of a client, one message a line, and the hub's HTTP endpoint. */
export class McpBridge {
  readonly #parts: BridgeParts;
  readonly #session: McpSession;
  readonly #statements: McpStatements;
  readonly #running = new Set<Promise<void>>();

  constructor(parts: BridgeParts) {
    this.#parts = parts;
    const ends = { door: parts.door, write: (message: McpMessage) => this.#write(message), clock: parts.clock ?? systemClock };
    this.#session = new McpSession(ends);
    this.#statements = new McpStatements(ends);
  }

  /** Until the client closes its end; what it asked last is answered, then nothing is left on the hub. */
  async run(): Promise<void> {
    for await (const line of linesOf(this.#parts.stdin)) if (line.trim() !== '') this.#take(line);
    await this.#lastAnswers();
    this.#statements.close();
    await this.#session.close();
  }

  #take(line: string): void {
    const parsed = parseLine(line);
    if ('refusal' in parsed) this.#write(parsed.refusal);
    else this.#start(parsed.message);
  }

  #start(message: McpMessage): void {
    const done = this.#pass(message);
    this.#running.add(done);
    void done.finally(() => this.#running.delete(done));
  }

  #pass(message: McpMessage): Promise<void> {
    const isCancel = message.method === 'notifications/cancelled';
    if (isCancel && this.#statements.cancel(paramsOf(message).requestId)) return Promise.resolve();
    return statedVersion(message) === undefined ? this.#session.handle(message) : this.#statements.handle(message);
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

/** The lines of a stream; of one that is too long only its beginning comes, which is then no message. */
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
