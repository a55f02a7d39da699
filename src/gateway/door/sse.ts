/** Headers of an answer that is Server-Sent Events (HTML Living Standard §9.2); proxies pass it on as it comes. */
export const SSE_HEADERS = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } as const;
/** The first words of a stream to which clients come back: when. */
export const SSE_RETRY = 'retry: 2000\n\n';
/** A comment, so that nobody takes a silent stream for a dead one. */
export const SSE_STILL_HERE = ': still here\n\n';
/** How long a stream is silent at most. */
export const SSE_HEARTBEAT_MS = 15_000;

/** A message with its data in JSON; who comes back names the `id` of the last one. */
export function sseMessage(event: string, data: object, id?: string): string {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
