import { compareText } from '../../core/edit-distance.ts';
import type { AnnouncedTool } from '../../wire/messages/announced-entries.ts';

const PLAIN_VERSION = '@1.0.0';

/** Tools in the order in which they travel: that of their ids without the version 1.0.0, which goes without saying. */
export function inTravelOrder(tools: readonly AnnouncedTool[]): readonly AnnouncedTool[] {
  return tools
    .map((tool) => ({ tool, name: travelName(tool) }))
    .sort((a, b) => compareText(a.name, b.name))
    .map(({ tool }) => tool);
}

function travelName({ id }: AnnouncedTool): string {
  return id.endsWith(PLAIN_VERSION) ? id.slice(0, -PLAIN_VERSION.length) : id;
}
