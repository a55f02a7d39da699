import { afterEach } from 'vitest';
import { startedChildren } from './hub-child.ts';

// Without them a test that fails once in many runs says only what was missing, and not which process ended and why.
afterEach(({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`\nProcesses when "${task.name}" failed:\n${startedChildren()}\n`);
});
