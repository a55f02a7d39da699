/** The tag that every list of modes must hold once. */
export const NORMAL = 0x4000;

/** An entry of a Mode cluster's supportedModes. */
export const mode = (number: number, label: string, ...tags: readonly number[]): object => ({
  label,
  mode: number,
  modeTags: tags.map((value) => ({ value })),
});
