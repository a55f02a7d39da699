import { AtmoError } from '../../core/errors.ts';
import { isWithin } from '../../core/is-within.ts';
import { readSecret } from '../../core/settings/secret-source.ts';
import { realPath } from '../../core/storage/real-path.ts';
import type { ProgramPower } from '../../tools/programs/program-sandbox.ts';
import type { PowerConfig } from './sandbox-config.ts';

/** What several powers give together. */
export interface Granted {
  readonly hasNetwork: boolean;
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The owner's powers, with the values of their variables. */
export class GrantedPowers {
  readonly #powers: ReadonlyMap<string, Granted>;
  readonly #stateDir: string;

  /** CONFIG_INVALID for a folder that holds the hub's own state, and for a variable without a value. */
  constructor(
    powers: Readonly<Record<string, PowerConfig>>,
    { stateDir, env }: { readonly stateDir: string; readonly env: NodeJS.ProcessEnv },
  ) {
    const known = Object.entries(powers).map(([name, { network, read, write, env: sources }]): [string, Granted] => {
      for (const path of [...read, ...write]) requireApart(path, stateDir, name);
      const values = Object.entries(sources).map(([variable, source]) => [variable, readSecret(source, env)]);
      return [name, { hasNetwork: network, read, write, env: Object.fromEntries(values) }];
    });
    this.#powers = new Map(known);
    this.#stateDir = stateDir;
  }

  /** CONFIG_INVALID for code that lies where a program that sees it would see the hub's own state as well. */
  requireCodeApart(paths: readonly string[]): void {
    const around = paths.find((path) => isWithin(realPath(this.#stateDir), realPath(path)));
    if (around === undefined) return;
    throw new AtmoError(
      'CONFIG_INVALID',
      `${around} holds the state directory of the hub; put the code of sandboxed tools into a folder of its own`,
    );
  }

  power(name: string): ProgramPower | undefined {
    const granted = this.#powers.get(name);
    return granted && { isActing: granted.hasNetwork || granted.write.length > 0 };
  }

  /** What these give together. NOT_CONFIGURED for one that the owner has not. */
  together(names: readonly string[]): Granted {
    const all = names.map((name) => this.#granted(name));
    return {
      hasNetwork: all.some(({ hasNetwork }) => hasNetwork),
      read: all.flatMap(({ read }) => read),
      write: all.flatMap(({ write }) => write),
      env: Object.assign({}, ...all.map(({ env }) => env)),
    };
  }

  #granted(name: string): Granted {
    const granted = this.#powers.get(name);
    if (granted) return granted;
    throw new AtmoError('NOT_CONFIGURED', `There is no power ${name}; set connectors.sandbox.powers.${name} in the configuration`);
  }
}

/** Whoever reads the state directory has the keys of the home. */
function requireApart(path: string, stateDir: string, power: string): void {
  const [folder, state] = [realPath(path), realPath(stateDir)];
  if (!isWithin(state, folder) && !isWithin(folder, state)) return;
  throw new AtmoError(
    'CONFIG_INVALID',
    `connectors.sandbox.powers.${power} names ${path}, which is or holds a part of the hub's state directory ${stateDir}; choose another folder`,
  );
}
