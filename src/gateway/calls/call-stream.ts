import type { CallAnswer, CallRequest } from '../../tools/calls/call-answer.ts';
import type { Answer } from '../door/answer.ts';
import { sseMessage } from '../door/sse.ts';
import { TextStream } from '../door/text-stream.ts';
import type { CallPort } from '../ports.ts';

/** Media types in which a call is told while it runs, and how a frame is written in each. */
const FORMATS = {
  'text/event-stream': (type: string, data: object) => sseMessage(type, data),
  'application/x-ndjson': (type: string, data: object) => `${JSON.stringify({ type, ...data })}\n`,
} as const;
/** A media type of the list. */
export type StreamFormat = keyof typeof FORMATS;

/** Bytes of chunks that may wait for a slow client; what comes then is left out, the answer has all of it. */
const MAX_PENDING_BYTES = 262_144;

/** The media type of a stream that a client asks for with its Accept header; one that takes JSON as well gets that. */
export function streamFormatOf(accept: string | undefined): StreamFormat | undefined {
  const wanted = accept?.split(',').map((range) => range.split(';', 1)[0]?.trim().toLowerCase());
  if (wanted?.some((range) => range === 'application/json' || range === '*/*')) return undefined;
  return (Object.keys(FORMATS) as StreamFormat[]).find((format) => wanted?.includes(format));
}

/**
 * Runs a call and tells of it while it runs: frames `tool_chunk` with `sequence`, `fraction`, `note` and `partial`, and last one
 * `tool_response` with the envelope, success or not. A call that is refused is answered by `whole`, with the status of its error.
 */
export async function streamedCall(
  pipeline: Pick<CallPort, 'call'>,
  { signal, ...call }: CallRequest,
  { format, whole }: { readonly format: StreamFormat; readonly whole: (answer: CallAnswer) => Answer },
): Promise<Answer> {
  const gone = new AbortController();
  const stream = new TextStream(MAX_PENDING_BYTES, () => gone.abort());
  const frame = FORMATS[format];
  let sequence = 0;
  const begun = Promise.withResolvers<'begun'>();
  const ended = pipeline.call({
    ...call,
    signal: signal ? AbortSignal.any([signal, gone.signal]) : gone.signal,
    wantsChunks: true,
    onDispatch: () => begun.resolve('begun'),
    onChunk: (chunk) => {
      const numbered = { sequence: sequence++, ...chunk };
      if (stream.hasRoom) stream.write(frame('tool_chunk', numbered));
    },
  });
  const first = await Promise.race([begun.promise, ended]);
  if (first !== 'begun') return whole(first);
  void ended.then((answer) => {
    stream.write(frame('tool_response', answer));
    stream.close();
  });
  return { status: 200, headers: { 'content-type': format, 'x-accel-buffering': 'no' }, body: stream.body };
}
