import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { onLoopback } from './loopback-server.ts';

/** A request as a service got it. */
export interface HeardRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What a service answers; `hang` never does, `break` ends the connection instead. */
export type SpokenAnswer =
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  | 'hang'
  | 'break';

/** A web service on a loopback port that a test speaks for. */
export async function spokenService(answer: (request: HeardRequest) => SpokenAnswer) {
  const heard: HeardRequest[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const one = { method, path, headers, body: await text(request) };
    heard.push(one);
    const said = answer(one);
    if (said === 'break') request.socket.destroy();
    else if (said !== 'hang') response.writeHead(said.status, said.headers).end(said.body);
  });
  return { ...(await onLoopback(server)), heard };
}
