import { isJsonObject, type Json } from '../../core/json.ts';

/**
 * What a program printed, as the answer of its tool (source 003, output handling): its JSON, else the last line that is a JSON
 * object or list, else `{output: text}`.
 */
export function outputOf(stdout: string): Json {
  return jsonIn(stdout) ?? lastJsonLine(stdout) ?? { output: stdout.trimEnd() };
}

function lastJsonLine(text: string): Json | undefined {
  for (const line of text.split('\n').reverse()) {
    if (!/^\s*[{[]/.test(line)) continue;
    const value = jsonIn(line);
    if (isJsonObject(value) || Array.isArray(value)) return value;
  }
  return undefined;
}

function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
