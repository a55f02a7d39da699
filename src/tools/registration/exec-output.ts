import { isJsonObject, type Json, jsonIn } from '../../core/json.ts';

/** Lines from the end that are looked at: each that is no JSON takes time, of the whole hub. */
const MAX_LINES = 100;

/**
 * What a program printed, as the answer of its tool (source 003, output handling): its JSON, else the last line that is a JSON
 * object or list (of the last hundred lines that begin like one), else `{output: text}`.
 */
export function outputOf(stdout: string): Json {
  return jsonIn(stdout) ?? lastJsonLine(stdout) ?? { output: stdout.trimEnd() };
}

function lastJsonLine(text: string): Json | undefined {
  const lines = text.split('\n').filter((line) => /^\s*[{[]/.test(line));
  for (const line of lines.slice(-MAX_LINES).reverse()) {
    const value = jsonIn(line);
    if (isJsonObject(value) || Array.isArray(value)) return value;
  }
  return undefined;
}
