import type { ClusterDescription } from '../../core/devices/device-model.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import type { JsonSchema } from '../../core/json.ts';
import { fieldAt } from '../compile/cluster-view.ts';
import type { ProfileProblem } from '../files/profile-format.ts';
import { propertiesOf } from '../values/converter.ts';

/** Returns a problem as two lines of text for people: file, pointer and mistake, then the fix. */
export function formatProblem(problem: ProfileProblem): string {
  return `${problem.file}${problem.pointer === '' ? '' : ` at ${problem.pointer}`}: ${problem.problem}\n    fix: ${problem.fix}`;
}

/** Collects the mistakes in one file. */
export class CheckReport {
  readonly #file: string;
  readonly problems: ProfileProblem[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  add(pointer: string, problem: string, fix: string): void {
    this.problems.push({ file: this.#file, pointer, problem, fix });
  }

  /** Returns the item with the given name, or reports that no item has the name. */
  find<Item extends { readonly name: string }>(pointer: string, name: string, items: readonly Item[]): Item | undefined {
    const found = items.find((item) => item.name === name);
    if (!found) this.#unknown(pointer, name, namesOf(items));
    return found;
  }

  /** Returns whether a name is known. Reports an unknown name. */
  requireKnown(pointer: string, name: string, known: readonly string[]): boolean {
    const isKnown = known.includes(name);
    if (!isKnown) this.#unknown(pointer, name, known);
    return isKnown;
  }

  cluster(pointer: string, name: string, model: StandardClusterModel): ClusterDescription | undefined {
    return this.requireKnown(pointer, name, model.clusterNames) ? model.cluster(name) : undefined;
  }

  /** Returns the schema of a member. Reports a missing member. `path` is a dotted path in any letter case. */
  field(pointer: string, path: string, schema: JsonSchema): JsonSchema | undefined {
    const found = fieldAt(schema, path);
    if (!found) this.#unknown(pointer, path, Object.keys(propertiesOf(schema)));
    return found?.schema;
  }

  #unknown(pointer: string, name: string, known: readonly string[]): void {
    const [near] = nearestTexts(name, known, 1);
    const fix = near === undefined ? `use one of ${known.slice(0, 12).join(', ')}` : `did you mean ${JSON.stringify(near)}?`;
    this.add(pointer, `${JSON.stringify(name)} does not exist`, known.length === 0 ? 'remove it' : fix);
  }
}

/** Returns the names of clusters, attributes, commands or types. */
export function namesOf(items: readonly { readonly name: string }[]): readonly string[] {
  return items.map((item) => item.name);
}

/** Port to the clusters and device types of the Matter model. */
export interface StandardClusterModel {
  readonly clusterNames: readonly string[];
  cluster(name: string, features?: readonly string[]): ClusterDescription | undefined;
  readonly deviceTypes: readonly { readonly name: string; readonly clusters: readonly { readonly name: string }[] }[];
}
