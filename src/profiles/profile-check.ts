import type { ClusterDescription } from '../core/device-model.ts';
import type { CapabilityFile } from './capability-file.ts';
import { checkCapability } from './check-capability.ts';
import { checkDevices } from './check-device.ts';
import type { RawProfileFile } from './profile-files.ts';
import { ProfileSchemaCheck, type ProfileSchemas } from './profile-schemas.ts';

/** One mistake in a profile file. */
export interface ProfileProblem {
  readonly file: string;
  /** JSON pointer within the file. */
  readonly pointer: string;
  readonly problem: string;
  readonly fix: string;
}

/** What the check has to know of the standard; matter/ has it. */
export interface StandardModel {
  readonly clusterNames: readonly string[];
  /** With all its features and elements, or narrowed to some features. */
  cluster(name: string, features?: readonly string[]): ClusterDescription | undefined;
  readonly deviceTypes: readonly { readonly name: string; readonly clusters: readonly { readonly name: string }[] }[];
}

/** All mistakes in a set of profile files: form first, and meaning for those whose form is right. Empty when all is well. */
export function checkProfiles(files: readonly RawProfileFile[], schemas: ProfileSchemas, model: StandardModel): readonly ProfileProblem[] {
  const schemaCheck = new ProfileSchemaCheck(schemas);
  const ofForm = files.map((file) => ({ file, problems: schemaCheck.problems(file) }));
  const right = ofForm.filter(({ problems }) => problems.length === 0).map(({ file }) => file);
  return [
    ...ofForm.flatMap(({ problems }) => problems),
    ...capabilitiesOf(right).flatMap((one) => checkCapability(one.file, one.content, model)),
    ...twoUsualOnes(capabilitiesOf(right)),
    ...checkDevices(right, model),
  ];
}

/** One line for people: file, place, what, and what to do. */
export function formatProblem(problem: ProfileProblem): string {
  return `${problem.file}${problem.pointer === '' ? '' : ` at ${problem.pointer}`}: ${problem.problem}\n    fix: ${problem.fix}`;
}

interface CheckedCapability {
  readonly file: RawProfileFile;
  readonly content: CapabilityFile;
}

function capabilitiesOf(files: readonly RawProfileFile[]): readonly CheckedCapability[] {
  return files.filter((file) => file.kind === 'capabilities').map((file) => ({ file, content: file.content as CapabilityFile }));
}

function twoUsualOnes(capabilities: readonly CheckedCapability[]): readonly ProfileProblem[] {
  const usual = Map.groupBy(
    capabilities.filter(({ content }) => !content.variant),
    ({ content }) => content.cluster,
  );
  return [...usual].flatMap(([cluster, [first, ...others]]) =>
    others.map(({ file }) => ({
      file: file.path,
      pointer: '/cluster',
      problem: `${cluster} already has a usual capability in ${first?.file.id ?? ''}.json`,
      fix: 'add "variant": true and name this file in device files',
    })),
  );
}
