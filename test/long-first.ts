import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Small files whose tests run for a minute. Vitest starts the smallest last, so that a core would have nothing to do at the end. */
export const LONG = ['test/fuzz/fuzz.test.ts', 'test/simulation/simulation.test.ts'];

/** Starts the long files before the others. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.some((name) => moduleId.endsWith(`/${name}`));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
