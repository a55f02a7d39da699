import type { OptionSpec } from '../command.ts';

/** For commands that another hub of the mesh can do as well: the client tells every request. */
export const HUB_OPTION = {
  hub: { value: 'HUB', help: 'on this hub of the mesh, by id or name' },
} as const satisfies Readonly<Record<string, OptionSpec>>;
