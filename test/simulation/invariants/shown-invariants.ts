import { isVisible } from '../../../src/core/untrusted-text.ts';
import { BrokenInvariant } from '../broken-invariant.ts';
import type { SimulatedMachine } from '../simulated-machine.ts';

/** Checks that no text in an answer of a hub has characters that nobody sees. Throws BrokenInvariant. */
export function checkShown({ name }: SimulatedMachine, answer: unknown): void {
  const hidden = hiddenText(answer);
  if (hidden === undefined) return;
  throw new BrokenInvariant('nothing hidden is shown', `${name} shows ${escaped(hidden)}`, [name]);
}

function hiddenText(value: unknown): string | undefined {
  if (typeof value === 'string') return isVisible(value) ? undefined : value;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, item] of Object.entries(value)) {
    const hidden = hiddenText(name) ?? hiddenText(item);
    if (hidden !== undefined) return hidden;
  }
  return undefined;
}

function escaped(text: string): string {
  return JSON.stringify(text).replace(/[^\x20-\x7e]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
