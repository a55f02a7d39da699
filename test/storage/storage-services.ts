import { HubProblems } from '../../src/core/health.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { FileAnchor } from '../../src/core/storage/key-value-store.ts';
import { StateAnchors } from '../../src/storage/state-anchors.ts';

/** What the stores of one state directory share beside clock, log and events. */
export function journalParts(directory: string): { readonly problems: HubProblems; readonly fileAnchors: StateAnchors } {
  return { problems: new HubProblems(), fileAnchors: new StateAnchors(directory, silentLogger) };
}

/** For a storage that nothing is known of elsewhere. */
export const NO_ANCHOR: FileAnchor = { least: () => undefined, committed: () => {}, synced: () => {} };
