import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ReadingStore } from '../../core/devices/reading-store.ts';
import type { EventBus } from '../../core/events.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { CallerSight } from '../devices/caller-sight.ts';
import type { ToolCatalogue } from '../tools/tool-catalogue.ts';
import type { AskingCalls } from './calls/asking-calls.ts';
import { completionFeature } from './completion-feature.ts';
import type { McpFeature, McpNotices } from './mcp-feature.ts';
import { CompanionPrompts } from './prompts/prompt-companions.ts';
import { promptFeature } from './prompts/prompt-feature.ts';
import { HomePrompts } from './prompts/prompt-home.ts';
import { CompanionResources } from './resources/resource-companions.ts';
import { resourceFeature } from './resources/resource-feature.ts';
import { HomeResources } from './resources/resource-home.ts';
import { ResourceNotices } from './resources/resource-notices.ts';

/** Whom the features beside the tools work with. */
export interface HomeFeatureParts {
  readonly sight: CallerSight;
  readonly readings: ReadingStore;
  readonly directory: Pick<DeviceDirectory, 'get'>;
  readonly catalogue: ToolCatalogue;
  readonly events: EventBus;
  readonly clock: Clock;
}

interface Asking {
  readonly asking: AskingCalls;
}

/** Resources, prompts and completion, of the home and of plug-ins. */
export function homeFeatures(parts: HomeFeatureParts & Asking, notices: McpNotices): readonly McpFeature[] {
  const home = new HomeResources(parts);
  const resources = [home, new CompanionResources(parts)];
  const prompts = [new HomePrompts({ sight: parts.sight, resources: home }), new CompanionPrompts(parts)];
  return [
    resourceFeature({
      sources: resources,
      notices: new ResourceNotices({ events: parts.events, directory: parts.directory, sight: parts.sight, clock: parts.clock, notices }),
    }),
    promptFeature({ asking: parts.asking, sources: prompts }),
    completionFeature({ prompts, resources }),
  ];
}
