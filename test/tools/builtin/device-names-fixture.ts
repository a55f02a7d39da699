import type { NamingPorts } from '../../../src/tools/names/name-references.ts';
import { listAuthorizer } from '../../calls/pipeline-fixture.ts';

/** A hub in which no device has a name that was kept. */
export const NO_NAMING: NamingPorts = {
  register: {
    namesOf: () => undefined,
    all: () => [],
    findHolder: () => undefined,
    holderOfWanted: () => undefined,
    free: () => [],
    wouldFree: () => [],
    merge: () => {},
    successors: () => new Map(),
    lacking: () => ({ tools: [], toolKeys: [], readings: [] }),
  },
  directory: { get: () => undefined, list: () => [] },
  uses: { of: () => [] },
  authorizer: listAuthorizer,
  areaToday: (area) => area,
};
