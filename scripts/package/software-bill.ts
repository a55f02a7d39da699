/** What the package holds of others: CycloneDX for programs, the texts of the licences for people. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../bundle.ts';
import { type DebianArchitecture, isForeign, isNative } from './debian-architecture.ts';
import { machinePackage } from './machine-package.ts';

const execute = promisify(execFile);
const PROJECT = 'atmosphere-edge';
const MAX_SBOM_BYTES = 32 * 1024 * 1024;

/** Licences of packages whose package.json states none, as the LICENSE file of the package has them. */
const UNSTATED_LICENCES: Readonly<Record<string, string>> = { suncalc: 'BSD-2-Clause' };

interface Licence {
  readonly license?: { readonly id?: string; readonly name?: string };
  readonly expression?: string;
}

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly Licence[];
}

/** A CycloneDX document, as far as this reads it; the rest is passed on as npm wrote it. */
export interface SoftwareBill {
  readonly serialNumber?: string;
  readonly metadata: { readonly timestamp?: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * The SBOM of `npm sbom`, of what runs on that machine alone: what the hub's own dependencies reach, without what only
 * developers need and without native parts of other machines. The same for the same lock: no random number, and `time` as its time.
 */
export async function softwareBill(architecture: DebianArchitecture, time: Date): Promise<SoftwareBill> {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
  const { stdout } = await execute('npm', args, { cwd: ROOT, maxBuffer: MAX_SBOM_BYTES });
  const { serialNumber: _random, ...bill } = JSON.parse(stdout) as SoftwareBill;
  const reached = reachable(bill, (name) => !isForeign(name, architecture));
  return {
    ...bill,
    // npm names the project after the folder of the checkout.
    metadata: { ...bill.metadata, timestamp: time.toISOString(), component: { ...bill.metadata.component, name: PROJECT } },
    components: bill.components.filter((component) => reached.has(component['bom-ref'])).map(withLicence),
    dependencies: bill.dependencies.filter(({ ref }) => reached.has(ref) || ref === bill.metadata.component['bom-ref']),
  };
}

/** Returns the component with a licence, also if only the LICENSE file of the package has it. */
function withLicence(component: Component): Component {
  const id = UNSTATED_LICENCES[component.name];
  return licenceOf(component) === 'not stated' && id !== undefined ? { ...component, licenses: [{ license: { id } }] } : component;
}

/** `npm sbom --omit dev` leaves out what a developers' package needs as well, so the way is gone from the hub's own dependencies. */
function reachable(bill: SoftwareBill, isWanted: (name: string) => boolean): ReadonlySet<string> {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'optionalDependencies',
    Record<string, string>
  >;
  const dependsOn = new Map(bill.dependencies.map((entry) => [entry.ref, entry.dependsOn]));
  const names = new Map(bill.components.map((component) => [component['bom-ref'], component.name]));
  const waiting = Object.entries({ ...dependencies, ...optionalDependencies }).map(([name, version]) => `${name}@${version}`);
  const reached = new Set<string>();
  for (let ref = waiting.pop(); ref !== undefined; ref = waiting.pop()) {
    const name = names.get(ref);
    if (name === undefined || reached.has(ref) || !isWanted(name)) continue;
    reached.add(ref);
    waiting.push(...(dependsOn.get(ref) ?? []));
  }
  return reached;
}

/** A line for each package with its version and licence, then the text of each licence, once, with the packages under it. */
export async function licenceTexts({ components }: Pick<SoftwareBill, 'components'>): Promise<string> {
  const lines = components.map((component) => `${component.name} ${component.version}: ${licenceOf(component)}`);
  const holders = new Map<string, string[]>();
  for (const { name } of components) {
    for (const text of await textsOf(name)) holders.set(text, [...(holders.get(text) ?? []), name]);
  }
  const texts = [...holders].map(([text, names]) => `${'='.repeat(78)}\n${[...new Set(names)].join(', ')}\n\n${text}\n`);
  return `${[...new Set(lines)].sort().join('\n')}\n\n${texts.join('\n')}`;
}

/** The licence in SPDX's words. */
export function licenceOf({ licenses = [] }: Component): string {
  const names = licenses.map(({ expression, license }) => expression ?? license?.id ?? license?.name ?? 'not stated');
  return names.length === 0 ? 'not stated' : names.join(', ');
}

/** Licences and notices in the package's folder; a package that came with another one alone has them there. */
async function textsOf(name: string): Promise<readonly string[]> {
  const folder = isNative(name) ? await machinePackage(name) : join(ROOT, 'node_modules', name);
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  return files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim());
}
