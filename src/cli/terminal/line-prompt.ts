import { createInterface } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { AtmoError } from '../../core/errors.ts';

/** What a person typed at the terminal: a line, or the end of the input (Ctrl-D, or the terminal was closed). */
export type TypedLine = { readonly line: string } | 'end_of_input';

/** The terminal at which a person is asked. */
export interface PromptTerminal {
  readonly input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY'>>;
  readonly output: NodeJS.WritableStream;
}

/** Reads a line from the terminal, which shows it. Returns undefined if there is no terminal. Rejects with CANCELLED after Ctrl-C. */
export async function promptLine(prompt: string, { input, output }: PromptTerminal): Promise<TypedLine | undefined> {
  if (input.isTTY !== true) return undefined;
  const { promise, resolve, reject } = Promise.withResolvers<TypedLine>();
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  lines.on('close', () => resolve('end_of_input'));
  lines.on('SIGINT', () => reject(new AtmoError('CANCELLED', 'Cancelled')));
  lines.question(prompt, (line) => resolve({ line }));
  try {
    return await promise;
  } finally {
    lines.close();
  }
}
