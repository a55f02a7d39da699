import { readFile } from 'node:fs/promises';
import { systemCode } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, tryParseJson } from '../core/json.ts';
import type { CliIo } from './cli-io.ts';
import { type Invocation, type OptionSpec, usage } from './command.ts';

/**
 * Returns the given text. If it is `-`, returns the content of stdin instead. If it is `@FILE`, returns the content of the file instead.
 * Stdin and files keep secrets out of the process list and out of the shell's history.
 */
export async function readInput(given: string, io: Pick<CliIo, 'stdin'>): Promise<string> {
  if (given === '-') return (await readAll(io.stdin)).trim();
  if (!given.startsWith('@')) return given;
  try {
    return (await readFile(given.slice(1), 'utf8')).trim();
  } catch (error) {
    throw usage(unreadableText(given.slice(1), systemCode(error)));
  }
}

function unreadableText(file: string, reason: string): string {
  if (reason === 'ENOENT') return `There is no file ${file}; look at its name, and at the folder that you are in`;
  if (reason === 'EACCES') return `The file ${file} cannot be read by you; look at its mode (ls -l ${file})`;
  return `The file ${file} cannot be read (${reason})`;
}

/** Parses a typed JSON object. An error contains the `name` of the input but never its text, which may be secret. */
export function parseJsonObject(text: string, name: string): JsonObject {
  const value = tryParseJson(text);
  if (isJsonObject(value)) return value;
  throw usage(`${name} has to be a JSON object such as {"brightness": 40}`);
}

/** Parses a typed JSON list. An error contains the `name` of the input but never its text, which may be secret. */
export function parseJsonList(text: string, name: string): readonly Json[] {
  const value = tryParseJson(text);
  if (Array.isArray(value)) return value;
  throw usage(`${name} has to be a JSON list such as [{}]`);
}

async function readAll(stream: CliIo['stdin']): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

const SHORTEST = 10;
const OF_ROOT_KEY = 'Passphrase of the root key: ';

/** The option for a passphrase from a file. */
export const PASSPHRASE_OPTION: Readonly<Record<string, OptionSpec>> = {
  'passphrase-file': { value: 'FILE', help: 'file with the passphrase; else ATMO_PASSPHRASE, else you are asked' },
};

/** Returns the passphrase from `--passphrase-file` or ATMO_PASSPHRASE. Returns undefined if neither is set. */
export async function givenPassphrase(call: Invocation): Promise<string | undefined> {
  const file = call.text('passphrase-file');
  const text = file === undefined ? call.io.env.ATMO_PASSPHRASE : await readInput(`@${file}`, call.io);
  if (file !== undefined && text === '') throw usage(`The file ${file} holds no passphrase`);
  return text === '' ? undefined : text;
}

/** Returns the given passphrase. If none is given, asks at the terminal. Throws VALIDATION_ERROR if there is no terminal to ask at. */
export async function requirePassphrase(call: Invocation, question = OF_ROOT_KEY): Promise<string> {
  return (await givenPassphrase(call)) ?? askPassphrase(call, question);
}

/** Returns the passphrase for a new key: the given one, or one typed twice. Throws VALIDATION_ERROR if it is shorter than 10 characters. */
export async function newPassphrase(call: Invocation, question = OF_ROOT_KEY): Promise<string> {
  const given = await givenPassphrase(call);
  const passphrase = given ?? (await askPassphrase(call, question));
  if (passphrase.length < SHORTEST)
    throw usage(`The passphrase is too short: take at least ${SHORTEST} characters, such as five words that nobody guesses`);
  if (given === undefined && (await call.io.askSecret?.('The same again: ')) !== passphrase)
    throw usage('The two passphrases differ; nothing was done');
  return passphrase;
}

async function askPassphrase(call: Invocation, question: string): Promise<string> {
  const text = await call.io.askSecret?.(question);
  if (text !== undefined && text !== '') return text;
  throw usage('A passphrase is needed: set ATMO_PASSPHRASE, give --passphrase-file FILE, or run this at a terminal');
}
