import type { Clock } from '../../core/clock.ts';
import type { Question, Questions } from '../../core/questions.ts';

/** Waits for the answer to a question, at most `leftMs`. Returns `null` if nobody answered; the question is then over, unless the signal aborts. */
export async function answerTo(
  id: string,
  { leftMs, signal }: { readonly leftMs: number; readonly signal: AbortSignal },
  { clock, questions }: { readonly clock: Clock; readonly questions: Pick<Questions, 'get' | 'end' | 'onEnd'> },
): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stops = [questions.onEnd(id, resolve), clock.after(leftMs, resolve)];
  const giveUp = () => resolve();
  signal.addEventListener('abort', giveUp, { once: true });
  if (!isOpen(questions.get(id)) || signal.aborted) resolve();
  await promise;
  for (const stop of stops) stop();
  signal.removeEventListener('abort', giveUp);
  return (signal.aborted ? questions.get(id) : questions.end(id))?.answered?.answer ?? null;
}

function isOpen(question: Question | undefined): boolean {
  return question !== undefined && question.answered === undefined && question.endedMs === undefined;
}
