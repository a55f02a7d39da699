import { basename, dirname, join } from 'node:path';
import { standardCluster, standardClusterNames, standardDeviceTypes } from '../src/matter/model/standard-model.ts';
import { checkProfiles, formatProblem, type StandardModel } from '../src/profiles/profile-check.ts';
import { readProfileDirectory, readProfileFile } from '../src/profiles/profile-files.ts';
import { readProfileSchemas } from '../src/profiles/profile-schemas.ts';

/** `profile-check [FILE…]`: checks all profiles of this checkout, with the given files among them. Exit 1 with one line per mistake. */
const directory = join(import.meta.dirname, '../device-profiles');
const model: StandardModel = { clusterNames: standardClusterNames(), cluster: standardCluster, deviceTypes: standardDeviceTypes() };

const given = process.argv
  .slice(2)
  .map((path) => readProfileFile(basename(dirname(path)) === 'capabilities' ? 'capabilities' : 'devices', path));
const ours = readProfileDirectory(directory).filter((file) => !given.some((other) => other.kind === file.kind && other.id === file.id));
const problems = checkProfiles([...ours, ...given], readProfileSchemas(directory), model);

for (const problem of problems) process.stdout.write(`${formatProblem(problem)}\n`);
process.stdout.write(problems.length === 0 ? `${ours.length + given.length} profiles are right\n` : `${problems.length} mistakes\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
