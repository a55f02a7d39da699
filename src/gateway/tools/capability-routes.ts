import type { CapabilityCatalogue } from '../../tools/capability-catalogue.ts';
import type { CallerSight } from '../devices/caller-sight.ts';
import { json } from '../door/answer.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { ToolCatalogue } from './tool-catalogue.ts';

interface CapabilityCollaborators {
  readonly capabilities: CapabilityCatalogue;
  readonly sight: CallerSight;
  readonly catalogue: ToolCatalogue;
}

/** What this hub has, apart from what it can do. */
export function capabilityRoutes({ capabilities, sight, catalogue }: CapabilityCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/capabilities',
      isDocument: true,
      summary: 'What this hub has, with the tools that need it and the devices that come with it, as far as the caller may see them',
      answers: { 200: { description: 'capabilities', schema: { $ref: '#/components/schemas/Capabilities' } } },
      handle: ({ principal }) => json({ capabilities: capabilities.list(sight.directory(principal), catalogue.visibleTo(principal)) }),
    }),
  ];
}
