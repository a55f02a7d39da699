import { isJsonObject, type Json, type JsonSchema, jsonIn } from '../../core/json.ts';

/** Lines from the end that are looked at: each that is no JSON takes time, of the whole hub. */
const MAX_LINES = 100;

const SCALARS: readonly unknown[] = ['number', 'integer', 'boolean', 'null'];

/**
 * What a program printed, as the answer of its tool: its JSON object or list, else the last line that is one (of the last hundred
 * lines that begin like one), else `{output: text}`. A bare number or word is text, since what a program prints today says nothing of
 * tomorrow; where `schema` names a text or a scalar, the answer is that.
 */
export function outputOf(stdout: string, { type }: JsonSchema = {}): Json {
  const text = stdout.trimEnd();
  if (type === 'string') return text;
  const value = jsonIn(stdout);
  if (isJsonObject(value) || Array.isArray(value)) return value;
  if (value !== undefined && SCALARS.includes(type)) return value;
  return lastJsonLine(stdout) ?? { output: text };
}

function lastJsonLine(text: string): Json | undefined {
  const lines = text.split('\n').filter((line) => /^\s*[{[]/.test(line));
  for (const line of lines.slice(-MAX_LINES).reverse()) {
    const value = jsonIn(line);
    if (isJsonObject(value) || Array.isArray(value)) return value;
  }
  return undefined;
}
