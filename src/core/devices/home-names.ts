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
  areaNames(area: string): AreaNames;
}

/** For places where nobody gives names. */
export const NO_HOME_NAMES: HomeNames = { revision: 0, deviceAliases: () => [], areaNames: () => ({ aliases: [] }) };
