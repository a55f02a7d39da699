import type { DeviceDirectory } from '../core/device-directory.ts';
import type { CapabilityCatalogue } from '../tools/capability-catalogue.ts';
import { json } from './answer.ts';
import { defineRoute, type Route } from './route.ts';
import type { ToolCatalogue } from './tool-catalogue.ts';

interface CapabilityCollaborators {
  readonly capabilities: CapabilityCatalogue;
  readonly directory: DeviceDirectory;
  readonly catalogue: ToolCatalogue;
}

/** What this hub has, apart from what it can do. */
export function capabilityRoutes({ capabilities, directory, catalogue }: CapabilityCollaborators): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/capabilities',
      summary: 'What this hub has, with the tools that need it and the devices that come with it',
      answers: { 200: 'capabilities' },
      handle: ({ principal }) => json({ capabilities: capabilities.list(directory, catalogue.visibleTo(principal)) }),
    }),
  ];
}
