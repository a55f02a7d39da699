import { AtmoError } from '../src/core/errors.ts';
import { checkProfileFiles } from '../src/hub/offline/profile-files.ts';
import { formatProblem } from '../src/profiles/check/profile-problem.ts';

/** `profile-check [FILE…]`: checks all profiles of this checkout, with the given files among them. Exit 1 with one line per mistake. */
try {
  const problems = await checkProfileFiles(process.argv.slice(2));
  for (const problem of problems) process.stdout.write(`${formatProblem(problem)}\n`);
  process.stdout.write(problems.length === 0 ? 'all profiles are right\n' : `${problems.length} mistakes\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} catch (error) {
  if (!(error instanceof AtmoError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
