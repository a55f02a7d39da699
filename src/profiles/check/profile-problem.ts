import type { ClusterDescription } from '../../core/devices/device-model.ts';

/** One mistake in a profile file. */
export interface ProfileProblem {
  readonly file: string;
  /** JSON pointer within the file. */
  readonly pointer: string;
  readonly problem: string;
  readonly fix: string;
}

/** One line for people: file, place, what, and what to do. */
export function formatProblem(problem: ProfileProblem): string {
  return `${problem.file}${problem.pointer === '' ? '' : ` at ${problem.pointer}`}: ${problem.problem}\n    fix: ${problem.fix}`;
}

/** Collects what is wrong in one file. */
export class CheckReport {
  readonly #file: string;
  readonly problems: ProfileProblem[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  add(pointer: string, problem: string, fix: string): void {
    this.problems.push({ file: this.#file, pointer, problem, fix });
  }

  /** Reports a name that is not among those known, with the nearest of them. */
  unknown(pointer: string, name: string, known: readonly string[]): void {
    const near = nearest(name, known);
    const fix = near === undefined ? `use one of ${known.slice(0, 12).join(', ')}` : `did you mean ${JSON.stringify(near)}?`;
    this.add(pointer, `${JSON.stringify(name)} does not exist`, known.length === 0 ? 'remove it' : fix);
  }
}

/** The known name that shares most letter pairs with `name`; undefined when none comes close. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const scored = known.map((other) => ({ other, score: likeness(name.toLowerCase(), other.toLowerCase()) }));
  const [best] = scored.sort((a, b) => b.score - a.score);
  return best && best.score > 0.4 ? best.other : undefined;
}

function likeness(a: string, b: string): number {
  const pairs = (text: string): Set<string> => new Set([...text].slice(1).map((letter, index) => `${text[index]}${letter}`));
  const [left, right] = [pairs(a), pairs(b)];
  const shared = [...left].filter((pair) => right.has(pair)).length;
  return (2 * shared) / Math.max(1, left.size + right.size);
}

/** What the check has to know of the standard; matter/ has it. */
export interface StandardClusterModel {
  readonly clusterNames: readonly string[];
  /** With all its features and elements, or narrowed to some features. */
  cluster(name: string, features?: readonly string[]): ClusterDescription | undefined;
  readonly deviceTypes: readonly { readonly name: string; readonly clusters: readonly { readonly name: string }[] }[];
}
