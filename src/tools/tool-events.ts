import type { EventBus } from '../core/events.ts';
import type { ToolRegistry } from './tool-registry.ts';

/** Tells the coming and going of tools as the events of source 003; the answer stops it. */
export function tellToolChanges(registry: ToolRegistry, events: EventBus): () => void {
  return registry.onChange(({ kind, tool }) => {
    const { title, createdBy, device } = tool.definition.metadata;
    const added = createdBy === 'agent' ? 'agi.tool.created' : 'agi.tool.discovered';
    const data = { tool: tool.id, title, created_by: createdBy, ...(device !== undefined && { device }) };
    events.emit(kind === 'added' ? added : 'agi.tool.removed', tool.id, data);
  });
}
