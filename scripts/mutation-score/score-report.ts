import { whyEquivalent } from './equivalent-mutants.ts';
import type { Mutant } from './mutants.ts';
import { isUnnoticed, type Verdict, type Verdicts } from './verdicts.ts';

/** Returns a mutant in one line: its place, its text and what stands there instead, each cut off after 100 characters. */
export function placeOf({ file, line, text, instead }: Mutant): string {
  const short = (part: string) => (part.length > 100 ? `${part.slice(0, 100)}…` : part).replace(/\s+/g, ' ');
  return `${file}:${line}  ${short(text)}  →  ${short(instead)}`;
}

/** Returns the mutants that nobody noticed, by place, and the score of each folder of `src` and of all, of those mutants that have a verdict. */
export function scoreReport(mutants: readonly Mutant[], verdicts: Pick<Verdicts, 'of'>, folders: readonly string[]): readonly string[] {
  const judged = mutants.flatMap((mutant): readonly Judged[] => {
    const verdict = verdicts.of(mutant);
    return verdict ? [{ mutant, state: isEquivalent(mutant, verdict) ? 'equivalent' : verdict.state }] : [];
  });
  const left = judged.filter(({ state }) => state === 'survived' || state === 'unreached').map(({ mutant }) => mutant);
  const rows = [...folders.map((name) => `src/${name}/`), 'src/'].map((folder) => scoreOf(folder, judged));
  return [...left.toSorted(byPlace).map(placeOf), ...rows];
}

interface Judged {
  readonly mutant: Mutant;
  readonly state: Verdict['state'] | 'equivalent';
}

/** A mutant that a test noticed after all is not equivalent, whatever the list says. */
function isEquivalent(mutant: Mutant, verdict: Verdict): boolean {
  return isUnnoticed(verdict) && whyEquivalent(mutant) !== undefined;
}

function scoreOf(folder: string, judged: readonly Judged[]): string {
  const own = judged.filter(({ mutant }) => mutant.file.startsWith(folder));
  const count = (wanted: Judged['state']) => own.filter(({ state }) => state === wanted).length;
  const [tests, types, equivalent, unreached] = [count('noticed'), count('refused'), count('equivalent'), count('unreached')];
  const counted = own.length - equivalent;
  if (counted === 0) return `${folder}: no score, as no mutant is judged that somebody could notice`;
  const percent = ((100 * (tests + types)) / counted).toFixed(1);
  return `${folder}: ${percent} %: of ${own.length} mutants, tests notice ${tests}, the types ${types}; no test reaches ${unreached}, nobody can notice ${equivalent}`;
}

function byPlace(one: Mutant, other: Mutant): number {
  return one.file.localeCompare(other.file) || one.line - other.line;
}
