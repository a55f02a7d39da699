import { readFile } from 'node:fs/promises';
import { isJsonObject, type Json, type JsonObject, jsonIn } from '../../core/json.ts';
import { systemCode } from '../../core/process/system-code.ts';
import type { CliIo } from '../cli-io.ts';
import { usage } from '../command.ts';

/** Text given as it is, as `-` (stdin) or as `@file`: secrets then stay out of the process list and the shell's history. */
export async function readInput(given: string, io: Pick<CliIo, 'stdin'>): Promise<string> {
  if (given === '-') return (await readAll(io.stdin)).trim();
  if (!given.startsWith('@')) return given;
  try {
    return (await readFile(given.slice(1), 'utf8')).trim();
  } catch (error) {
    throw usage(unreadable(given.slice(1), systemCode(error)));
  }
}

function unreadable(file: string, reason: string): string {
  if (reason === 'ENOENT') return `There is no file ${file}; look at its name, and at the folder that you are in`;
  if (reason === 'EACCES') return `The file ${file} cannot be read by you; look at its mode (ls -l ${file})`;
  return `The file ${file} cannot be read (${reason})`;
}

/** A JSON object that was typed; `name` says where. The text itself may be secret and is never repeated. */
export function jsonObject(text: string, name: string): JsonObject {
  const value = jsonIn(text);
  if (isJsonObject(value)) return value;
  throw usage(`${name} has to be a JSON object such as {"brightness": 40}`);
}

/** As `jsonObject`, for a list. */
export function jsonList(text: string, name: string): readonly Json[] {
  const value = jsonIn(text);
  if (Array.isArray(value)) return value;
  throw usage(`${name} has to be a JSON list such as [{}]`);
}

async function readAll(stream: CliIo['stdin']): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
