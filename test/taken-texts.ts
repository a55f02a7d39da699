import type { AcceptedText } from '../src/core/files/owner-file.ts';

/** Texts of files by their paths, as the store keeps them. */
export function takenInMemory(): (path: string) => AcceptedText {
  const texts = new Map<string, string>();
  return (path) => ({
    get: () => texts.get(path),
    wasLost: () => false,
    set: (text) => void texts.set(path, text),
    forget: () => void texts.delete(path),
  });
}
