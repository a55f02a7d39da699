/** What people call an area beside its name. */
export interface AreaNames {
  /** `Upstairs`, `Ground floor`; absent where nobody said. */
  readonly floor?: string;
  readonly aliases: readonly string[];
}

/** Port: names beside those that devices have themselves. Areas are the same by `areaKey`. */
export interface HomeNames {
  /** Another number after every change: whoever keeps what it made of the names looks again then. */
  readonly revision: number;
  deviceAliases(device: string): readonly string[];
  /** How the names of a device's tools begin, whatever the device is called; undefined for one without such tools. */
  toolPrefix(device: string): string | undefined;
  /** What a device was called before: a name that somebody wrote down means it still. */
  formerNames(device: string): readonly string[];
  areaNames(area: string): AreaNames;
  /** The area that a name means today: one that was renamed or joined to another keeps its names. Others mean themselves. */
  areaToday(area: string): string;
}

/** Port: what changes the names of areas. */
export interface AreaChanges {
  areaToday(area: string): string;
  /** Is called after areas got other names, or former names mean them no more; the answer stops it. */
  onAreaRenamed(listener: () => void): () => void;
}

/** For places where nobody gives names. */
export const NO_HOME_NAMES: HomeNames = {
  revision: 0,
  deviceAliases: () => [],
  toolPrefix: () => undefined,
  formerNames: () => [],
  areaNames: () => ({ aliases: [] }),
  areaToday: (area) => area,
};

/** By this names that people write are compared: case, spaces around them and forms of Unicode make no difference (NFKC, UAX #15). */
export function foldedName(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}
