import type { CapabilityFile } from '../files/capability-file.ts';
import type { RawProfileFile } from '../files/profile-files.ts';
import { ProfileSchemaCheck, type ProfileSchemas } from '../files/profile-schemas.ts';
import { checkCapability } from './check-capability.ts';
import { checkDevices } from './check-device.ts';
import type { ProfileProblem } from './profile-problem.ts';
import type { StandardModel } from './standard-view.ts';

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
