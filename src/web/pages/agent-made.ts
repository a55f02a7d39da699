import { html, nothing, type TemplateResult } from 'lit';
import type { ToolView } from '../api/hub-types.ts';
import { icon } from '../components/icon.ts';
import { text } from '../texts/text.ts';
import { isAgentMade } from './tool-search.ts';

/** Returns the mark of a tool that an agent made: its title and its description are what the agent wrote. */
export function agentMadeChip({ metadata }: Pick<ToolView, 'metadata'>): TemplateResult | typeof nothing {
  return isAgentMade(metadata) ? html`<span class="chip cool">${icon('agent')}${text('tools.by_agent')}</span>` : nothing;
}
