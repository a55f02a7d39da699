import type { ReadStream } from 'node:tty';
import { AtmoError } from '../../core/errors.ts';
import type { TextSink } from '../terminal/spinner.ts';

const ENTER: ReadonlySet<string> = new Set(['\r', '\n', '\u0004']);
const BACKSPACE: ReadonlySet<string> = new Set(['\b', '\u007f']);
const CANCEL = '\u0003';

/** Applies typed keys to the text `before` and returns the new text. `isDone` is true after Enter. Throws CANCELLED after Ctrl-C. */
export function applyKeys(before: string, keys: string): { readonly text: string; readonly isDone: boolean } {
  let text = before;
  for (const key of keys) {
    if (key === CANCEL) throw new AtmoError('CANCELLED', 'Cancelled; nothing was done');
    if (ENTER.has(key)) return { text, isDone: true };
    text = BACKSPACE.has(key) ? [...text].slice(0, -1).join('') : text + key;
  }
  return { text, isDone: false };
}

/** Reads a line from the terminal without showing it. Returns undefined if there is no terminal. Rejects with CANCELLED after Ctrl-C. */
export async function promptSecret(
  prompt: string,
  stdin: Partial<ReadStream> & Pick<ReadStream, 'on' | 'off'>,
  sink: TextSink,
): Promise<string | undefined> {
  if (stdin.isTTY !== true) return undefined;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  const onData = (chunk: Buffer | string) => {
    try {
      const { text: typed, isDone } = applyKeys(text, String(chunk));
      text = typed;
      if (isDone) resolve(text);
    } catch (error) {
      reject(error);
    }
  };
  sink.write(prompt);
  stdin.setRawMode?.(true);
  stdin.on('data', onData);
  stdin.resume?.();
  try {
    return await promise;
  } finally {
    stdin.off('data', onData);
    stdin.setRawMode?.(false);
    stdin.pause?.();
    sink.write('\n');
  }
}
