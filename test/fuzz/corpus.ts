import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { branchCounts } from './edge-hooks.ts';
import type { Target } from './target.ts';

const FOLDER = new URL('corpus/', import.meta.url);
/** Bytes of a kept file, and of one input in it. */
const MAX_FILE_BYTES = 6_000;
const MAX_INPUT_BYTES = 600;

/** Returns the inputs that were kept for a target. */
export function keptInputs({ name, form }: Target): readonly Uint8Array[] {
  const file = fileOf(name);
  if (!existsSync(file)) return [];
  const texts = JSON.parse(readFileSync(file, 'utf8')) as readonly string[];
  return texts.map((text) => Uint8Array.from(Buffer.from(text, form === 'bytes' ? 'base64' : 'utf8')));
}

/** Keeps for later runs the shortest inputs that together run all branches, as far as they fit. */
export async function keepInputs(target: Target, inputs: readonly Uint8Array[]): Promise<void> {
  const ran = new Set<number>();
  for (const seed of target.seeds) noteBranches(ran, await branchesOf(target, seed));
  const kept: string[] = [];
  for (const input of inputs.toSorted((a, b) => a.length - b.length)) {
    const text = Buffer.from(input).toString(target.form === 'bytes' ? 'base64' : 'utf8');
    const isNew = noteBranches(ran, await branchesOf(target, input));
    if (isNew && input.length <= MAX_INPUT_BYTES && JSON.stringify([...kept, text]).length < MAX_FILE_BYTES) kept.push(text);
  }
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(fileOf(target.name), `[\n${kept.map((text) => `  ${JSON.stringify(text)}`).join(',\n')}\n]\n`);
}

async function branchesOf(target: Target, input: Uint8Array): Promise<readonly number[]> {
  branchCounts.fill(0);
  try {
    await target.run(input);
  } catch {
    // A refused input runs branches too.
  }
  return [...branchCounts.entries().flatMap(([edge, count]) => (count > 0 ? [edge] : []))];
}

function noteBranches(ran: Set<number>, branches: readonly number[]): boolean {
  const before = ran.size;
  for (const branch of branches) ran.add(branch);
  return ran.size > before;
}

const fileOf = (name: string): URL => new URL(`${name}.json`, FOLDER);
