import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { readSecret } from '../../core/config/config-section.ts';
import { AtmoError } from '../../core/errors.ts';
import { isWithin, realPath } from '../../core/files/file-system.ts';
import type { ProgramPower, ProgramSandbox } from '../../tools/programs/program-sandbox.ts';
import type { PowerConfig } from './sandbox-config.ts';

/** The rights of one power, or of several powers together. */
export interface GrantedAccess {
  readonly hasNetwork: boolean;
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The configured powers, with the values of their environment variables. */
export class GrantedPowers {
  readonly #powers: ReadonlyMap<string, GrantedAccess>;
  readonly #stateDir: string;

  /** Throws CONFIG_INVALID if a power's folder contains the state directory or is inside it, or if a power's variable cannot be read. */
  constructor(
    powers: Readonly<Record<string, PowerConfig>>,
    { stateDir, env }: { readonly stateDir: string; readonly env: NodeJS.ProcessEnv },
  ) {
    const known = Object.entries(powers).map(([name, { network, read, write, env: sources }]): [string, GrantedAccess] => {
      for (const path of [...read, ...write]) requireOutsideState(path, stateDir, name);
      const values = Object.entries(sources).map(([variable, source]) => [variable, readSecret(source, env)]);
      return [name, { hasNetwork: network, read, write, env: Object.fromEntries(values) }];
    });
    this.#powers = new Map(known);
    this.#stateDir = stateDir;
  }

  /** Throws CONFIG_INVALID if a path contains the hub's state directory, since a program could then read the state. */
  requireCodeOutsideState(paths: readonly string[]): void {
    const around = paths.find((path) => isWithin(realPath(this.#stateDir), realPath(path)));
    if (around === undefined) return;
    const message = `${around} holds the state directory of the hub; put the code of sandboxed tools into a folder of its own`;
    throw new AtmoError('CONFIG_INVALID', message);
  }

  power(name: string): ProgramPower | undefined {
    const granted = this.#powers.get(name);
    return granted && { isActing: granted.hasNetwork || granted.write.length > 0 };
  }

  /**
   * Describes the rights of a program with these powers. If the program or an argument names a file in a visible folder, also returns the
   * file's version: other programs may change the file. A version contains the inode and the change time, which no program can set.
   */
  inspect(
    { program, args, powers, visible = [], cwd }: Parameters<ProgramSandbox['inspect']>[0],
    home: string,
  ): ReturnType<ProgramSandbox['inspect']> {
    const known = powers.map((name): [string, GrantedAccess | undefined] => [name, this.#powers.get(name)]);
    const open = [...known.flatMap(([, granted]) => (granted ? [...granted.read, ...granted.write] : [])), ...visible];
    const texts = [program, ...args.flatMap((arg) => [arg, arg.slice(arg.indexOf('=') + 1)])];
    const files = [...new Set(texts.map((text) => resolve(cwd ?? home, text)))].filter((path) =>
      open.some((folder) => isWithin(path, folder)),
    );
    return {
      powers: known.map(([name, granted]) => ({
        name,
        allows: granted ? describeAccess(granted) : ['nothing: the owner has no such power'],
      })),
      versions: files.map(fileVersion),
    };
  }

  /** Returns the combined rights of powers. Throws NOT_CONFIGURED if a power is unknown. */
  combined(names: readonly string[]): GrantedAccess {
    const all = names.map((name) => {
      const granted = this.#powers.get(name);
      if (granted) return granted;
      throw new AtmoError('NOT_CONFIGURED', `There is no power ${name}; set connectors.sandbox.powers.${name} in the configuration`);
    });
    return {
      hasNetwork: all.some(({ hasNetwork }) => hasNetwork),
      read: all.flatMap(({ read }) => read),
      write: all.flatMap(({ write }) => write),
      env: Object.assign({}, ...all.map(({ env }) => env)),
    };
  }
}

function describeAccess({ hasNetwork, read, write, env }: GrantedAccess): readonly string[] {
  return [
    ...(hasNetwork ? ['use the network'] : []),
    ...read.map((path) => `read ${path}`),
    ...write.map((path) => `write ${path}`),
    ...Object.keys(env).map((name) => `know the variable ${name}`),
  ];
}

function fileVersion(path: string): string {
  try {
    const { dev, ino, size, ctimeNs } = statSync(path, { bigint: true });
    return `${path} ${dev}:${ino}:${size}:${ctimeNs}`;
  } catch {
    return `${path} absent`;
  }
}

/** Throws CONFIG_INVALID if a path is inside the state directory or contains it. The state directory has the keys of the home. */
function requireOutsideState(path: string, stateDir: string, power: string): void {
  const [folder, state] = [realPath(path), realPath(stateDir)];
  if (!isWithin(state, folder) && !isWithin(folder, state)) return;
  const problem = `which is or holds a part of the hub's state directory ${stateDir}; choose another folder`;
  throw new AtmoError('CONFIG_INVALID', `connectors.sandbox.powers.${power} names ${path}, ${problem}`);
}
