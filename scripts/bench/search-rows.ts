/** Reads the public rows of sentences and homes that the benchmark of the search is held against; they are no part of this repository. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One device of a home of the rows. */
export interface RowDevice {
  readonly device: string;
  readonly area: string;
  readonly type: string;
}

/** A sentence and the one action of the one device that it means. */
export interface ActionRow {
  readonly home: string;
  readonly utterance: string;
  readonly device: string;
  readonly area: string;
  readonly type: string;
  readonly action: string;
}

interface NamedThing {
  readonly id: string;
  readonly name: string;
  readonly area?: string;
}

/** A home whose things are meant by name. */
export interface EntityHome {
  readonly areas: readonly { readonly id: string; readonly name: string; readonly floor?: string }[];
  readonly devices: readonly NamedThing[];
  readonly entities: readonly (NamedThing & { readonly device?: string; readonly attributes?: { readonly device_class?: string } })[];
}

/** A sentence and the things that it means. */
export interface EntityRow {
  readonly home: string;
  readonly category: string;
  readonly utterance: string;
  readonly expect: readonly string[];
}

/** All that the benchmark reads. */
export interface SearchRows {
  readonly actions: readonly ActionRow[];
  readonly actionHomes: Readonly<Record<string, readonly RowDevice[]>>;
  readonly entities: readonly EntityRow[];
  readonly entityHomes: Readonly<Record<string, EntityHome>>;
}

const FOLDER = join(process.env.ATMO_BENCH_DATA ?? join(import.meta.dirname, '../../../shared/bench'), 'search');

/** The rows, or undefined where they are not on this machine: `ATMO_BENCH_DATA` names the folder above `search`. */
export function searchRows(): SearchRows | undefined {
  if (!existsSync(join(FOLDER, 'ha-device-actions.jsonl'))) return undefined;
  return {
    actions: lines('ha-device-actions.jsonl'),
    actionHomes: document('ha-device-actions-homes.json'),
    entities: lines('ha-assist.jsonl'),
    entityHomes: document('ha-assist-homes.json'),
  };
}

function document<Shape>(file: string): Shape {
  return JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Shape;
}

function lines<Shape>(file: string): readonly Shape[] {
  const texts = readFileSync(join(FOLDER, file), 'utf8').split('\n').filter(Boolean);
  return texts.map((text) => JSON.parse(text) as Shape);
}
