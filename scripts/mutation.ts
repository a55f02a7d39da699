/** A protection and its removal: a text that a file of `src` contains exactly once, and the text that replaces it. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  /** The part of the file in which the text is searched; the whole file when absent. */
  readonly within?: { readonly from: string; readonly to: string };
  readonly text: string;
  readonly instead: string;
  /** The types have to notice it. A test has to notice every other one. */
  readonly breaksTypes?: true;
}

/** Protections in one file: what is taken out, its text, and the text that replaces it. */
export interface Place extends Pick<Mutation, 'file' | 'within'> {
  readonly rows: readonly (readonly [name: string, text: string, instead: string])[];
}

/** Returns the part of a file that a function is. */
export function ofFunction(name: string): NonNullable<Mutation['within']> {
  return { from: `function ${name}`, to: '\n}' };
}

/** Returns the source without the protection. Throws where the text does not stand there exactly once. */
export function mutated({ name, file, within, text, instead }: Mutation, source: string): string {
  const from = within === undefined ? 0 : source.indexOf(within.from);
  const to = within === undefined ? source.length : source.indexOf(within.to, from);
  const parts = source.slice(from, to).split(text);
  if (from < 0 || parts.length !== 2)
    throw new Error(`“${name}”: the text is ${parts.length - 1} times in ${file}, not once: ${text.trim()}`);
  return source.slice(0, from) + parts.join(instead) + source.slice(to);
}

/**
 * Returns the configuration of the compiler for sources with mistakes. What is no longer used is a mistake of the mutation, not of what it takes
 * out.
 */
export function compilerOfMutations(base: string, buildInfo: string): { readonly extends: string; readonly compilerOptions: object } {
  const compilerOptions = { incremental: true, tsBuildInfoFile: buildInfo, noUnusedLocals: false, noUnusedParameters: false };
  return { extends: base, compilerOptions };
}
