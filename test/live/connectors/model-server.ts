import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { onLoopback } from './loopback-server.ts';

/** What it was asked: the path below `/v1`, the bearer, and the JSON or the fields of the form. */
interface AskedModel {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
}

type Handler = (body: Record<string, unknown>, response: ServerResponse) => unknown;

const KEY = 'Bearer sk-house';
const usage = { prompt_tokens: 9, completion_tokens: 4 };

/** An endpoint that speaks the API of OpenAI on a loopback port; the names of its models say how it behaves. */
export async function modelServer() {
  const asked: AskedModel[] = [];
  const server = createServer(async (request, response) => {
    const path = (request.url ?? '').replace(/^\/v1/, '');
    const body = await bodyOf(request);
    asked.push({ path, authorization: request.headers.authorization, body });
    if (request.headers.authorization !== KEY)
      return send(response, 401, { error: { message: `Incorrect key ${request.headers.authorization}` } });
    const answer = HANDLERS[path]?.(body, response);
    if (answer !== undefined) send(response, 200, answer);
    else if (!response.headersSent && body.model !== 'hangs') send(response, 404, { error: { message: 'No such path' } });
  });
  const listening = await onLoopback(server);
  return { ...listening, url: `${listening.url}/v1`, asked, last: () => asked.at(-1) };
}

const HANDLERS: Readonly<Record<string, Handler>> = {
  '/chat/completions': chat,
  '/embeddings': ({ input }) => ({
    data: (input as string[]).map((text, index) => ({ index, embedding: letters(text) })).reverse(),
  }),
  '/audio/transcriptions': transcription,
  '/forecast': ({ input, hours }) => ({ kilowatts: Array.from({ length: Number(hours) }, () => (input as number[])[0]) }),
};

function chat({ model, messages, stream }: Record<string, unknown>, response: ServerResponse): unknown {
  if (model === 'hangs') return undefined;
  if (model === 'busy') return send(response, 429, { error: { message: 'Too many requests' } }, { 'retry-after': '7' });
  if (model === 'page') return send(response, 200, '<html>Welcome</html>');
  const content = (messages as { content: unknown }[]).at(-1)?.content;
  const text = typeof content === 'string' ? `You said: ${content}` : seen(content as { image_url?: { url: string } }[]);
  if (stream !== true) return { choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }], usage };
  tellSlowly(response, text.match(/\S+\s*/g) ?? [], model === 'breaks');
  return undefined;
}

/** One word in each piece; a model that breaks ends the connection after two. */
function tellSlowly(response: ServerResponse, words: readonly string[], breaks: boolean): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (value: unknown) => response.write(`data: ${JSON.stringify(value)}\n\n`);
  const [word, ...rest] = words;
  const tell = (next: string | undefined, left: readonly string[]) => {
    if (breaks && left.length < words.length - 2) return response.destroy();
    if (next !== undefined) {
      event({ choices: [{ delta: { content: next } }] });
      setTimeout(() => tell(left[0], left.slice(1)), 20);
      return;
    }
    event({ choices: [{ delta: {}, finish_reason: 'stop' }] });
    event({ choices: [], usage });
    response.end('data: [DONE]\n\n');
  };
  tell(word, rest);
}

/** Looks at the picture itself, as far as its head goes. */
function seen(parts: readonly { readonly image_url?: { readonly url: string } }[]): string {
  const [, type, data = ''] = /^data:(image\/\w+);base64,(.+)$/.exec(parts.find((part) => part.image_url)?.image_url?.url ?? '') ?? [];
  const bytes = Buffer.from(data, 'base64');
  return JSON.stringify({ result: `${type} of ${bytes.length} bytes`, confidence: 0.75 });
}

function transcription(form: Record<string, unknown>, response: ServerResponse): unknown {
  const text = ` heard ${form.file}`;
  if (form.response_format === 'json') return { text };
  if (form.model === 'plain') return send(response, 400, { error: { message: 'response_format verbose_json is not supported' } });
  const segments = [
    { start: 0, end: 3, text: ' heard', avg_logprob: Math.log(0.9) },
    { start: 3, end: 4, text: ` ${form.file}`, avg_logprob: Math.log(0.5) },
  ];
  return { text, language: form.language ?? 'english', segments };
}

/** How often each letter is in a text: what has the same letters is near. */
function letters(text: string): readonly number[] {
  return [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => text.toLowerCase().split(letter).length - 1);
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): undefined {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
  response.end(isText ? body : JSON.stringify(body));
  return undefined;
}

/** JSON, or the fields of a form; a file as `name type length`. */
async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const bytes = await buffer(request);
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/')) return JSON.parse(bytes.toString()) as Record<string, unknown>;
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
  return Object.fromEntries(
    [...form].map(([name, value]) => [name, typeof value === 'string' ? value : `${value.name} ${value.type} ${value.size}`]),
  );
}
